"""How is a model behind an OpenAI-compatible endpoint asked?

Endpoints are busy, restarted, misnamed and rate-limited. Each try ends with an answer, with trouble that may pass, or
with an error that is said at once and by name. A refusal taken for an answer would be a zero that the model did not
earn. The HTTP client is aiohttp: it takes a fifth of the time of the processor that others take for a request, and what
the client takes is missing where many requests are kept in flight.

What did the endpoint answer, and did all of it arrive?

A body is one JSON object or a stream of events. A stream that stops before it says that it is done, half an object, an
error sent with status 200, an answer without a choice: none of these is an answer, and taken for one it would be a zero
that the model did not earn. An empty answer from a model that thought until its limit, or refused, is its own.

What does an endpoint's refusal mean, and is it worth another try?

A busy endpoint is waited for as long as it says; an account without money stays without money, and a wrong key stays
wrong: tried again, it would only take longer to say so.
"""

import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from dlbench.errors import DLBenchError
from dlbench.generation.model import Answer, Model, Request, TransientError
from dlbench.generation.providers import Secrets, find_endpoint, find_proxy, shorten, shown_url
from dlbench.runs.samples import is_truncated

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession


# OpenRouter ends what its provider broke off with this; the text before it is a part.
_BROKEN = "error"
# Models that learnt to use tools call one now and then that nobody offered them, and say nothing beside it.
_ENDED = ("stop", "tool_calls", "function_call")


class InvalidReply(Exception):
    """What came is no answer; the text says why. `silence`: the empty answer that it is, if every try gives it."""

    def __init__(self, why: str, silence: Answer | None = None) -> None:
        super().__init__(why)
        self.silence = silence


def read_reply(text: str, seconds: float) -> Answer:
    reply = _join(text) if is_stream(text) else _load(text)
    if not isinstance(reply, dict):
        raise InvalidReply("not a chat completion")
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise InvalidReply("an error" if reply.get("error") else "no choice in it")
    choice = choices[0]
    message, reason = choice.get("message"), choice.get("finish_reason")
    if reason == _BROKEN or choice.get("error"):
        raise InvalidReply("broken off by the endpoint")
    if not isinstance(message, dict):
        raise InvalidReply("no message in it")
    said, thought = _split(message.get("content"))
    thought = _text(message.get("reasoning_content")) or _text(message.get("reasoning")) or thought
    is_told = said is not None or reason == "content_filter" or is_truncated(reason)
    said = said or _text(message.get("refusal"))
    usage = reply.get("usage")
    answer = Answer(said, usage if isinstance(usage, dict) else {}, str(reason or ""), seconds, thought)
    if not said and not thought and not is_told:
        raise InvalidReply("no text in it", answer if _ended_by_itself(answer) else None)
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
        raise InvalidReply("not JSON, or cut off") from None


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
            raise InvalidReply("an error in the stream")
        usage = piece.get("usage") or usage
        match piece.get("choices"):
            case [dict() as choice, *_]:
                reason = choice.get("finish_reason") or reason
                _add(said, choice.get("delta"))
            case [] | None:
                pass
            case _:
                raise InvalidReply("a stream of something else")
    if reason is None and not done:
        raise InvalidReply("a stream that was cut off")
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
        raise InvalidReply("a content that is no text")
    said, thought = "", ""
    for part in content:
        match part:
            case {"type": "text", "text": str(words)}:
                said += words
            case {"type": "thinking", "thinking": inner}:
                thought += inner if isinstance(inner, str) else (_split(inner)[0] or "")
            case _:
                raise InvalidReply("a part of the content that is no text")
    return said, thought


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_CONTEXT = ("context_length", "context length", "context size", "exceed_context", "maximum context", "context window")
_PASSING = (408, 409, 425, 429)


@dataclass(frozen=True)
class Refusal:
    status: int
    retry_after: str | None
    text: str

    def as_error(self, said: str, where: str) -> DLBenchError:
        """`said` is what may be shown of the text."""
        what, fix = self._explain(said)
        if self._passes():
            # told to come back at once, or at a time that has passed: our own waits are the better guess
            return TransientError(what, where=where, fix=fix, after=read_retry_after(self.retry_after) or None)
        return DLBenchError(what, where=where, fix=fix)

    def _passes(self) -> bool:
        return "insufficient_quota" not in self.text and (self.status in _PASSING or self.status >= 500)

    def _explain(self, said: str) -> tuple[str, str]:
        status = self.status
        if status in (401, 403):
            fix = "set the endpoint's variable (docs/models.md) or DLBENCH_API_KEY to a key that is valid for it"
            return f"the endpoint refused the API key (HTTP {status}): {said}", fix
        if status == 404:
            fix = "check the name of the model, and the base URL (it mostly ends in /v1)"
            return f"the endpoint does not know the model or the path (HTTP 404): {said}", fix
        if 300 <= status < 400:
            return (
                f"the endpoint is elsewhere (HTTP {status}): {said}",
                "check the base URL: http or https, and its path",
            )
        if status == 429:
            fix = "wait, ask with a lower --concurrency, or look after the account's quota"
            return f"the endpoint answers no more requests for now (HTTP 429): {said}", fix
        if status >= 500:
            return f"the endpoint fails (HTTP {status}): {said}", "wait until it works again"
        fix = "change what it names (seed, max tokens, the model); --reasoning asks without a temperature"
        return f"the endpoint refused the request (HTTP {status}): {said}", fix


def is_context_refusal(status: int, text: str) -> bool:
    said = text.lower()
    return status in (400, 413, 422) and any(words in said for words in _CONTEXT)


def is_filtered(status: int, text: str) -> bool:
    """A content filter refuses the prompt (Azure's does so by a status); asked again, it would refuse again."""
    return status == 400 and '"content_filter"' in text


def renames_limit(status: int, text: str) -> bool:
    """Newer endpoints know the longest answer by another name only."""
    return status == 400 and "max_completion_tokens" in text


def read_retry_after(value: str | None) -> float | None:
    """Seconds, or a date of HTTP."""
    if value is None:
        return None
    try:
        seconds = float(value)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


_CONNECT = 30.0
# A stream says something all the time; that it never ends is another matter.
_WHOLE_STREAM = 10


class OpenAIModel(Model):
    """`timeout` bounds a whole try; of a stream, the silence between two pieces."""

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 300,
        stream: bool = False,
        reasoning: bool = False,
    ) -> None:
        self._name = model
        self.endpoint = find_endpoint(model, base_url, api_key, reasoning=reasoning)
        self._secrets = Secrets(*self.endpoint.secrets)
        self._limit = self.endpoint.limit
        self._proxy = find_proxy(self.endpoint.base_url)
        self._timeout = timeout
        self._stream = stream
        self._where = f"model {model} at {shown_url(self.endpoint.base_url)}"
        self._session: ClientSession | None = None

    @property
    def name(self) -> str:
        return self._name

    def form(self, request: Request) -> dict[str, Any]:
        return {"url": shown_url(self.endpoint.url), "body": self._body(request)}

    async def answer(self, request: Request) -> Answer:
        import aiohttp

        body = self._body(request)
        began = time.monotonic()
        try:
            # Not followed: an address that sends the key elsewhere is the user's to change.
            async with self._open().post(
                self.endpoint.url, data=json.dumps(body).encode(), allow_redirects=False, proxy=self._proxy
            ) as response:
                text = (await response.read()).decode("utf-8", "replace")
        except TimeoutError as error:
            what = "connection" if isinstance(error, aiohttp.ConnectionTimeoutError) else "answer"
            limit = _CONNECT if what == "connection" else self._timeout
            raise TransientError(
                f"the endpoint gave no {what} within {limit:g} s",
                where=self._where,
                fix="give it more time with --request-timeout, or fewer requests with --concurrency",
            ) from None
        except (aiohttp.InvalidURL, UnicodeError):
            raise DLBenchError("the base URL cannot be used", where=self._where, fix="check --base-url") from None
        except (aiohttp.ClientError, OSError) as error:
            what = self._safe(str(error) or type(error).__name__)
            raise TransientError(
                f"the endpoint cannot be reached, or broke off: {what}",
                where=self._where,
                fix="check the base URL and the connection",
            ) from None
        seconds = time.monotonic() - began
        if response.status != 200:
            return self._refused(response, text, seconds, body)
        try:
            return self._without_key(read_reply(text, seconds))
        except InvalidReply as problem:
            raise TransientError(
                f"the endpoint answered, but not with a chat completion ({problem}): "
                f"{self._safe(text) or 'nothing at all'}",
                where=self._where,
                fix="check that the base URL is the endpoint's OpenAI-compatible address (it mostly ends in /v1)",
                settles=problem.silence,
            ) from None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> "ClientSession":
        import aiohttp

        if self._session is None:
            whole = self._timeout * (_WHOLE_STREAM if self._stream else 1)
            self._session = aiohttp.ClientSession(
                headers={"Content-Type": "application/json", **self.endpoint.authorization},
                timeout=aiohttp.ClientTimeout(total=whole, sock_connect=_CONNECT, sock_read=self._timeout),
                # How many are asked at once is the caller's word.
                connector=aiohttp.TCPConnector(limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    def _body(self, request: Request) -> dict[str, Any]:
        endpoint = self.endpoint
        body: dict[str, Any] = {"model": endpoint.model, "messages": request.messages, self._limit: request.max_tokens}
        if not endpoint.reasoning:
            body["temperature"] = request.temperature
        if endpoint.seed and request.seed is not None:
            body[endpoint.seed] = request.seed
        if self._stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return body | dict(endpoint.body)

    def _refused(self, response: "ClientResponse", text: str, seconds: float, body: dict[str, Any]) -> Answer:
        if is_context_refusal(response.status, text):
            return Answer("", finish_reason="context_length", seconds=seconds, refusal=self._safe(text))
        if is_filtered(response.status, text):
            return Answer("", finish_reason="content_filter", seconds=seconds)
        if renames_limit(response.status, text) and "max_tokens" in body:
            self._limit = "max_completion_tokens"
            raise TransientError("the endpoint has another name for max_tokens", where=self._where, after=0)
        raise Refusal(response.status, response.headers.get("Retry-After"), text).as_error(
            self._safe(text), self._where
        )

    def _without_key(self, answer: Answer) -> Answer:
        said, thought = (self._secrets.hide(text) for text in (answer.text, answer.reasoning))
        return replace(answer, text=said, reasoning=thought)

    def _safe(self, text: str) -> str:
        """Short, on one line, and without the key, which some endpoints repeat in what they say."""
        return shorten(self._secrets.hide(text))
