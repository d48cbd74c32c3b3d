"""What did the endpoint answer, and did all of it arrive?

A body is one JSON object or a stream of events. A stream that stops before it says that it is done, half an object, an
error sent with status 200, an answer without a choice: none of these is an answer, and taken for one it would be a zero
that the model did not earn. An empty answer from a model that thought until its limit, or refused, is its own.
"""

import json
from collections.abc import Iterator
from typing import Any

from dlbench.generation.models import Answer
from dlbench.runs.samples import is_at_limit

# OpenRouter ends what its provider broke off with this; the text before it is a part.
_BROKEN = "error"
# Models that learnt to use tools call one now and then that nobody offered them, and say nothing beside it.
_ENDED = ("stop", "tool_calls", "function_call")


class Nonsense(Exception):
    """What came is no answer; the text says why. `silence`: the empty answer that it is, if every try gives it."""

    def __init__(self, why: str, silence: Answer | None = None) -> None:
        super().__init__(why)
        self.silence = silence


def read_reply(text: str, seconds: float) -> Answer:
    reply = _join(text) if is_stream(text) else _load(text)
    if not isinstance(reply, dict):
        raise Nonsense("not a chat completion")
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Nonsense("an error" if reply.get("error") else "no choice in it")
    choice = choices[0]
    message, reason = choice.get("message"), choice.get("finish_reason")
    if reason == _BROKEN or choice.get("error"):
        raise Nonsense("broken off by the endpoint")
    if not isinstance(message, dict):
        raise Nonsense("no message in it")
    said, thought = _split(message.get("content"))
    thought = _text(message.get("reasoning_content")) or _text(message.get("reasoning")) or thought
    is_told = said is not None or reason == "content_filter" or is_at_limit(reason)
    said = said or _text(message.get("refusal"))
    usage = reply.get("usage")
    answer = Answer(said, usage if isinstance(usage, dict) else {}, str(reason or ""), seconds, thought)
    if not said and not thought and not is_told:
        raise Nonsense("no text in it", answer if _ended_by_itself(answer) else None)
    return answer


def _ended_by_itself(answer: Answer) -> bool:
    """After tokens that the endpoint counted. A busy one may say so, too, but not at every try."""
    match answer.usage:
        case {"completion_tokens": int(tokens)} if tokens > 0:
            return answer.finish_reason in _ENDED
    return False


def is_stream(text: str) -> bool:
    """By what it holds: servers stream without being asked to, and name the type wrongly."""
    return text.lstrip("\ufeff \r\n").startswith(("data:", "event:", "id:", ":"))


def _load(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Nonsense("not JSON, or cut off") from None


def _join(text: str) -> dict[str, Any]:
    """The one completion that the events of a stream tell in pieces."""
    said: dict[str, str] = {}
    reason, usage, done = None, None, False
    for event in _events(text):
        if event == "[DONE]":
            done = True
            continue
        piece = _load(event)
        if not isinstance(piece, dict) or piece.get("error"):
            raise Nonsense("an error in the stream")
        usage = piece.get("usage") or usage
        match piece.get("choices"):
            case [dict() as choice, *_]:
                reason = choice.get("finish_reason") or reason
                _add(said, choice.get("delta"))
            case [] | None:
                pass
            case _:
                raise Nonsense("a stream of something else")
    if reason is None and not done:
        raise Nonsense("a stream that was cut off")
    return {"choices": [{"message": said, "finish_reason": reason}], "usage": usage}


def _add(said: dict[str, str], delta: object) -> None:
    if not isinstance(delta, dict):
        return
    content, thought = _split(delta.get("content"))
    pieces = {"content": content, "reasoning": thought or delta.get("reasoning")}
    pieces |= {name: delta.get(name) for name in ("reasoning_content", "refusal")}
    for name, piece in pieces.items():
        if isinstance(piece, str):
            said[name] = said.get(name, "") + piece


def _events(text: str) -> Iterator[str]:
    # Not splitlines: a JSON string may hold a line separator that is no line's end here.
    for block in text.replace("\r\n", "\n").split("\n\n"):
        data = [line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:")]
        if data:
            yield "\n".join(data)


def _split(content: object) -> tuple[str | None, str]:
    """What was said and what was thought: some endpoints tell both as one list of parts."""
    if content is None or isinstance(content, str):
        return content, ""
    if not isinstance(content, list):
        raise Nonsense("a content that is no text")
    said, thought = "", ""
    for part in content:
        match part:
            case {"type": "text", "text": str(words)}:
                said += words
            case {"type": "thinking", "thinking": inner}:
                thought += inner if isinstance(inner, str) else (_split(inner)[0] or "")
            case _:
                raise Nonsense("a part of the content that is no text")
    return said, thought


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
