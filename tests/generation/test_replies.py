"""Only what arrived whole is an answer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.generation.openai_client import InvalidReply, read_reply

from .endpoint import completion, stream


def body(message: object, reason: str | None = "stop", **more: object) -> str:
    return json.dumps({"choices": [{"message": message, "finish_reason": reason}], **more})


def test_a_stream_says_the_same_as_one_object() -> None:
    whole = read_reply(completion("def f(): pass", reasoning_content="hm")[2], 1.5)
    pieces = read_reply(stream("def f()", ": pass", reasoning_content="hm")[2], 1.5)
    assert pieces == whole
    assert (pieces.text, pieces.reasoning, pieces.finish_reason) == ("def f(): pass", "hm", "stop")
    assert pieces.usage == {"prompt_tokens": 3, "completion_tokens": 2}


@given(st.lists(st.text(), min_size=1, max_size=4), st.data())
def test_a_stream_cut_off_before_its_end_is_no_answer(pieces: list[str], data: st.DataObject) -> None:
    text = stream(*pieces)[2]
    ends = text.index('"finish_reason": "stop"')
    cut = data.draw(st.integers(0, ends))
    with pytest.raises(InvalidReply):
        read_reply(text[:cut], 0)


@given(st.text(), st.data())
def test_a_body_cut_off_is_no_answer(said: str, data: st.DataObject) -> None:
    text = completion(said)[2]
    with pytest.raises(InvalidReply):
        read_reply(text[: data.draw(st.integers(0, len(text) - 1))], 0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "usage", "delta", "error", "type", "text", "finish_reason", "refusal"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON, st.sampled_from(["{}", "data: {}\n\n", "data: {}\n\ndata: [DONE]\n\n"]))
def test_any_nonsense_is_called_so(reply: object, shape: str) -> None:
    try:
        answer = read_reply(shape.replace("{}", json.dumps(reply)), 0)
    except InvalidReply:
        return
    assert isinstance(answer.text, str)
    assert isinstance(answer.usage, dict)


@pytest.mark.parametrize(
    "text", ["", "  ", "null", "[]", "[[[" * 100_000, "data:", "data: x\n\n", ": ping\n\n", "\x00"]
)
def test_what_is_no_reply_at_all(text: str) -> None:
    with pytest.raises(InvalidReply):
        read_reply(text, 0)


def test_an_error_with_a_good_status_is_no_answer() -> None:
    for text in (
        '{"error": {"message": "overloaded", "code": 529}}',
        body({"content": "def f("}, "error"),
        'data: {"choices": [{"delta": {"content": "def"}}]}\n\ndata: {"error": {"message": "gone"}}\n\n',
    ):
        with pytest.raises(InvalidReply):
            read_reply(text, 0)


def test_thinking_in_parts_is_kept_apart() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "def f(): pass"},
    ]
    answer = read_reply(body({"content": parts}), 0)
    assert (answer.text, answer.reasoning) == ("def f(): pass", "hm")
    streamed = "".join(
        f"data: {json.dumps({'choices': [{'delta': {'content': [part]}, 'finish_reason': 'stop'}]})}\n\n"
        for part in parts
    )
    answer = read_reply(streamed, 0)
    assert (answer.text, answer.reasoning) == ("def f(): pass", "hm")


@pytest.mark.parametrize(
    ("message", "reason", "text"),
    [
        ({"content": None, "refusal": "I will not."}, "stop", "I will not."),
        ({"content": None}, "content_filter", ""),
        ({"content": None}, "length", ""),
        ({"content": None}, "model_length", ""),
        ({"content": ""}, "stop", ""),
    ],
)
def test_a_model_that_says_nothing_has_answered(message: dict[str, object], reason: str, text: str) -> None:
    answer = read_reply(body(message, reason), 0)
    assert (answer.text, answer.finish_reason) == (text, reason)


def test_silence_may_be_an_answer_only_after_tokens_that_were_counted() -> None:
    silent = json.loads(body({"content": None}, "stop"))
    for usage in (None, {}, {"completion_tokens": 0}, {"completion_tokens": 1}):
        with pytest.raises(InvalidReply, match="no text") as caught:
            read_reply(json.dumps(silent | {"usage": usage}), 0)
        assert (caught.value.silence is not None) == (usage == {"completion_tokens": 1})


@pytest.mark.parametrize("reason", ["tool_calls", "function_call"])
def test_a_call_of_a_tool_that_was_not_offered_is_silence_that_may_be_the_answer(reason: str) -> None:
    message = {"content": None, "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{}"}}]}
    with pytest.raises(InvalidReply, match="no text") as caught:
        read_reply(body(message, reason, usage={"completion_tokens": 9}), 0)
    assert caught.value.silence is not None
    assert (caught.value.silence.text, caught.value.silence.finish_reason) == ("", reason)


def test_a_line_separator_inside_a_piece_is_text() -> None:
    event = json.dumps({"choices": [{"delta": {"content": "a\u2028b"}, "finish_reason": "stop"}]}, ensure_ascii=False)
    assert read_reply(f": ping\r\n\r\nevent: x\r\ndata:{event}\r\n\r\n", 0).text == "a\u2028b"
