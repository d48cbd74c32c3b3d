"""Only a complete reply is an answer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.generation.openai_client import InvalidReply, read_reply

from .endpoint import completion, stream


def body(message: object, reason: str | None = "stop", **more: object) -> str:
    return json.dumps({"choices": [{"message": message, "finish_reason": reason}], **more})


def test_stream_equals_single_object() -> None:
    whole = read_reply(completion("def f(): pass", reasoning_content="hm")[2], 1.5)
    pieces = read_reply(stream("def f()", ": pass", reasoning_content="hm")[2], 1.5)
    assert pieces == whole
    assert (pieces.text, pieces.reasoning, pieces.finish_reason) == ("def f(): pass", "hm", "stop")
    assert pieces.usage == {"prompt_tokens": 3, "completion_tokens": 2}


@given(st.lists(st.text(), min_size=1, max_size=4), st.data())
def test_truncated_stream_is_not_an_answer(pieces: list[str], data: st.DataObject) -> None:
    text = stream(*pieces)[2]
    ends = text.index('"finish_reason": "stop"')
    cut = data.draw(st.integers(0, ends))
    with pytest.raises(InvalidReply):
        read_reply(text[:cut], 0)


@given(st.text(), st.data())
def test_truncated_body_is_not_an_answer(content: str, data: st.DataObject) -> None:
    text = completion(content)[2]
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
def test_arbitrary_json_is_an_answer_or_invalid(reply: object, shape: str) -> None:
    try:
        answer = read_reply(shape.replace("{}", json.dumps(reply)), 0)
    except InvalidReply:
        return
    assert isinstance(answer.text, str)
    assert isinstance(answer.usage, dict)


@pytest.mark.parametrize(
    "text", ["", "  ", "null", "[]", "[[[" * 100_000, "data:", "data: x\n\n", ": ping\n\n", "\x00"]
)
def test_invalid_body_is_not_an_answer(text: str) -> None:
    with pytest.raises(InvalidReply):
        read_reply(text, 0)


def test_error_with_status_200_is_not_an_answer() -> None:
    for text in (
        '{"error": {"message": "overloaded", "code": 529}}',
        body({"content": "def f("}, "error"),
        'data: {"choices": [{"delta": {"content": "def"}}]}\n\ndata: {"error": {"message": "gone"}}\n\n',
    ):
        with pytest.raises(InvalidReply):
            read_reply(text, 0)


def test_reasoning_parts_are_separated() -> None:
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
def test_explained_empty_answer_is_an_answer(message: dict[str, object], reason: str, text: str) -> None:
    answer = read_reply(body(message, reason), 0)
    assert (answer.text, answer.finish_reason) == (text, reason)


def test_empty_answer_is_a_fallback_only_after_counted_tokens() -> None:
    empty = json.loads(body({"content": None}, "stop"))
    for usage in (None, {}, {"completion_tokens": 0}, {"completion_tokens": 1}):
        with pytest.raises(InvalidReply, match="no text") as caught:
            read_reply(json.dumps(empty | {"usage": usage}), 0)
        assert (caught.value.empty_answer is not None) == (usage == {"completion_tokens": 1})


@pytest.mark.parametrize("reason", ["tool_calls", "function_call"])
def test_unoffered_tool_call_is_an_empty_fallback(reason: str) -> None:
    message = {"content": None, "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{}"}}]}
    with pytest.raises(InvalidReply, match="no text") as caught:
        read_reply(body(message, reason, usage={"completion_tokens": 9}), 0)
    assert caught.value.empty_answer is not None
    assert (caught.value.empty_answer.text, caught.value.empty_answer.finish_reason) == ("", reason)


def test_unicode_line_separator_inside_an_event_is_text() -> None:
    event = json.dumps({"choices": [{"delta": {"content": "a\u2028b"}, "finish_reason": "stop"}]}, ensure_ascii=False)
    assert read_reply(f": ping\r\n\r\nevent: x\r\ndata:{event}\r\n\r\n", 0).text == "a\u2028b"
