"""Ask a model behind an OpenAI-compatible endpoint.

Each attempt ends in an answer, a `TransientError`, or an error that names the cause: a failure recorded as an answer
would be a zero that the model did not earn. An empty answer of a model that reasoned until its limit, or refused, is
its own. The HTTP client is aiohttp: it uses a fifth of the CPU time of others.
"""

import json
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from dlbench.errors import DLBenchError
from dlbench.generation.model import Answer, Model, ModelClient, ModelOptions, Request, TransientError, add_client
from dlbench.generation.providers import Secrets, find_endpoint, find_proxy, find_secrets, presets, shorten, shown_url
from dlbench.runs.samples import is_truncated

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

# Models trained to use tools sometimes call one that was not offered, and return no text.
_COMPLETED = ("stop", "tool_calls", "function_call")
_CONTEXT = ("context_length", "context length", "context size", "exceed_context", "maximum context", "context window")
_RETRYABLE = (408, 409, 425, 429)
_CONNECT_TIMEOUT = 30.0
# With --stream the timeout bounds the silence between two events; the whole may take this many times as long.
_STREAM_FACTOR = 10
_REASONING_TOKENS = 32768


class InvalidReply(Exception):
    """The reply is not an answer; the text is the reason. `empty_answer`: to record if every attempt gives it."""

    def __init__(self, reason: str, empty_answer: Answer | None = None) -> None:
        super().__init__(reason)
        self.empty_answer = empty_answer


def read_reply(text: str, seconds: float) -> Answer:
    # By content: some servers stream unasked and declare the wrong type.
    is_stream = text.lstrip("\ufeff \r\n").startswith(("data:", "event:", "id:", ":"))
    reply = _join(text) if is_stream else _load(text)
    if not isinstance(reply, dict):
        raise InvalidReply("not a chat completion")
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise InvalidReply("an error" if reply.get("error") else "no choice")
    message, reason = choices[0].get("message"), choices[0].get("finish_reason")
    if reason == "error" or choices[0].get("error"):  # OpenRouter, if its provider broke off
        raise InvalidReply("interrupted by the endpoint")
    if not isinstance(message, dict):
        raise InvalidReply("no message")
    content, reasoning = _split(message.get("content"))
    reasoning = _text(message.get("reasoning_content")) or _text(message.get("reasoning")) or reasoning
    is_explained = content is not None or reason == "content_filter" or is_truncated(reason)
    content = content or _text(message.get("refusal"))
    usage = reply.get("usage")
    answer = Answer(content, usage if isinstance(usage, dict) else {}, str(reason or ""), seconds, reasoning)
    if not content and not reasoning and not is_explained:
        # The model ended by itself after counted tokens. A busy endpoint may claim so too, but not every time.
        tokens = answer.usage.get("completion_tokens")
        is_complete = isinstance(tokens, int) and tokens > 0 and answer.finish_reason in _COMPLETED
        raise InvalidReply("no text", answer if is_complete else None)
    return answer


def _load(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidReply("not JSON, or truncated") from None


def _join(text: str) -> dict[str, Any]:
    """The completion that a stream of events adds up to."""
    message: dict[str, str] = {}
    reason, usage, done = None, None, False
    for event in _events(text):
        if event == "[DONE]":
            done = True
            continue
        chunk = _load(event)
        if not isinstance(chunk, dict) or chunk.get("error"):
            raise InvalidReply("an error in the stream")
        usage = chunk.get("usage") or usage
        match chunk.get("choices"):
            case [dict() as choice, *_]:
                reason = choice.get("finish_reason") or reason
                _add(message, choice.get("delta"))
            case [] | None:
                pass
            case _:
                raise InvalidReply("a stream of another format")
    if reason is None and not done:
        raise InvalidReply("a truncated stream")
    return {"choices": [{"message": message, "finish_reason": reason}], "usage": usage}


def _add(message: dict[str, str], delta: object) -> None:
    if not isinstance(delta, dict):
        return
    content, reasoning = _split(delta.get("content"))
    parts = {"content": content, "reasoning": reasoning or delta.get("reasoning")}
    parts |= {name: delta.get(name) for name in ("reasoning_content", "refusal")}
    for name, part in parts.items():
        if isinstance(part, str):
            message[name] = message.get(name, "") + part


def _events(text: str) -> Iterator[str]:
    # Not splitlines: a JSON string may contain other Unicode line separators.
    for block in text.replace("\r\n", "\n").split("\n\n"):
        data = [line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:")]
        if data:
            yield "\n".join(data)


def _split(content: object) -> tuple[str | None, str]:
    """Text and reasoning: some endpoints send both as one list of parts."""
    if content is None or isinstance(content, str):
        return content, ""
    if not isinstance(content, list):
        raise InvalidReply("content that is not text")
    text, reasoning = "", ""
    for part in content:
        match part:
            case {"type": "text", "text": str(piece)}:
                text += piece
            case {"type": "thinking", "thinking": inner}:
                reasoning += inner if isinstance(inner, str) else (_split(inner)[0] or "")
            case _:
                raise InvalidReply("a part of the content that is not text")
    return text, reasoning


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def explain_refusal(status: int, retry_after: str | None, text: str, shown: str, where: str) -> DLBenchError:
    """The error for a status other than 200. A busy endpoint is retried; an empty account or a wrong key is not.
    `shown`: the part of the text that may be shown."""
    if status in (401, 403):
        what = "the endpoint refused the API key"
        fix = "set the endpoint's variable (docs/models.md) or DLBENCH_API_KEY to a valid key"
    elif status == 404:
        what = "the endpoint does not know the model or the path"
        fix = "check the model's name and the base URL (it usually ends in /v1)"
    elif 300 <= status < 400:
        what, fix = "the endpoint redirects elsewhere", "check the base URL: http or https, and its path"
    elif status == 429:
        what, fix = "the endpoint's rate limit is reached", "wait, lower --concurrency, or check the account's quota"
    elif status >= 500:
        what, fix = "the endpoint failed", "wait until it works again"
    else:
        what = "the endpoint refused the request"
        fix = "change the parameter that it names (seed, max tokens, model); --reasoning omits the temperature"
    what = f"{what} (HTTP {status}): {shown}"
    if "insufficient_quota" not in text and (status in _RETRYABLE or status >= 500):
        # "Retry at once", or at a time in the past: our own back-off is the better guess.
        return TransientError(what, where=where, fix=fix, after=read_retry_after(retry_after) or None)
    return DLBenchError(what, where=where, fix=fix)


def read_retry_after(value: str | None) -> float | None:
    """Seconds; the header holds seconds or an HTTP date."""
    with suppress(ValueError, TypeError):
        seconds = float(value or "")
        return max(0.0, seconds) if math.isfinite(seconds) else None
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(value or "").timestamp() - time.time())
    return None


class OpenAIModel(Model):
    """`timeout` bounds an attempt, with `stream` the silence between events; every request has `body` and `headers`."""

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 300,
        stream: bool = False,
        reasoning: bool = False,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.name = model
        self.endpoint = find_endpoint(model, base_url, api_key, reasoning=reasoning)
        self.address = shown_url(self.endpoint.base_url)
        self._extra_body, self._headers = body or {}, headers or {}
        if self.endpoint.reasoning or "reasoning_effort" in self._extra_body:
            self.max_tokens = _REASONING_TOKENS
        self._secrets = Secrets(*self.endpoint.secrets, *find_secrets(self._headers))
        self._limit = self.endpoint.limit
        self._proxy = find_proxy(self.endpoint.base_url)
        self._timeout = timeout
        self._stream = stream
        self._where = f"model {model} at {self.address}"
        self._session: ClientSession | None = None

    def payload(self, request: Request) -> dict[str, Any]:
        return {"url": shown_url(self.endpoint.url), "body": self._body(request)}

    def describe_sampling(self, temperature: float, max_tokens: int) -> dict[str, float | int | None]:
        return {"temperature": None if self.endpoint.reasoning else temperature, "max_tokens": max_tokens}

    async def answer(self, request: Request) -> Answer:
        import aiohttp

        body = self._body(request)
        start = time.monotonic()
        try:
            # Redirects are not followed: they would send the key elsewhere.
            async with self._open().post(
                self.endpoint.url, data=json.dumps(body).encode(), allow_redirects=False, proxy=self._proxy
            ) as response:
                text = (await response.read()).decode("utf-8", "replace")
        except TimeoutError as error:
            what, fix = f"no answer within {self._timeout:g} s", "raise --request-timeout or lower --concurrency"
            if isinstance(error, aiohttp.ConnectionTimeoutError):
                what = f"no connection within {_CONNECT_TIMEOUT:g} s"
            raise TransientError(what, where=self._where, fix=fix) from None
        except (aiohttp.InvalidURL, UnicodeError):
            raise DLBenchError("the base URL cannot be used", where=self._where, fix="check --base-url") from None
        except (aiohttp.ClientError, OSError) as error:
            what = self._safe(str(error) or type(error).__name__)
            fix = "check the base URL and the connection"
            raise TransientError(f"the connection failed: {what}", where=self._where, fix=fix) from None
        seconds = time.monotonic() - start
        if response.status != 200:
            return self._refused(response, text, seconds, body)
        try:
            answer = read_reply(text, seconds)
        except InvalidReply as problem:
            what = f"the reply is not a chat completion ({problem}): {self._safe(text) or 'an empty body'}"
            fix = "check that the base URL is OpenAI-compatible (it usually ends in /v1)"
            raise TransientError(what, where=self._where, fix=fix, fallback_answer=problem.empty_answer) from None
        return replace(answer, text=self._secrets.hide(answer.text), reasoning=self._secrets.hide(answer.reasoning))

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> "ClientSession":
        import aiohttp
        from multidict import CIMultiDict

        if self._session is None:
            # A key in a header of the user's replaces the default one; two would contradict each other.
            is_keyless = not self.endpoint.key and find_secrets(self._headers)
            headers = CIMultiDict({} if is_keyless else self.endpoint.authorization)
            headers.update({"Content-Type": "application/json"} | dict(self._headers))
            total = self._timeout * (_STREAM_FACTOR if self._stream else 1)
            self._session = aiohttp.ClientSession(
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=total, sock_connect=_CONNECT_TIMEOUT, sock_read=self._timeout),
                connector=aiohttp.TCPConnector(limit=0),  # the caller limits concurrency
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
        return body | dict(endpoint.body) | dict(self._extra_body)

    def _refused(self, response: "ClientResponse", text: str, seconds: float, body: dict[str, Any]) -> Answer:
        status, shown = response.status, self._safe(text)
        if status in (400, 413, 422) and any(words in text.lower() for words in _CONTEXT):
            return Answer("", finish_reason="context_length", seconds=seconds, refusal=shown)
        # Azure's content filter refuses a prompt by status; it would refuse a retry as well.
        if status == 400 and '"content_filter"' in text:
            return Answer("", finish_reason="content_filter", seconds=seconds)
        # Newer endpoints accept the limit under another name only.
        if status == 400 and "max_completion_tokens" in text and "max_tokens" in body:
            self._limit = "max_completion_tokens"
            raise TransientError("the endpoint renamed max_tokens", where=self._where, after=0)
        raise explain_refusal(status, response.headers.get("Retry-After"), text, shown, self._where)

    def _safe(self, text: str) -> str:
        """Short, on one line, and without the key, which some endpoints repeat."""
        return shorten(self._secrets.hide(text))


def _open(name: str, options: ModelOptions) -> Model:
    body = {"top_p": options.top_p, "reasoning_effort": options.reasoning_effort, **options.extra_body}
    model = OpenAIModel(
        name,
        options.base_url,
        options.api_key,
        timeout=options.timeout,
        stream=options.stream,
        reasoning=options.reasoning,
        body={field: value for field, value in body.items() if value is not None},
        headers=options.headers,
    )
    options.log(f"sending the requests for {name} to {shown_url(model.endpoint.base_url)}")
    return model


_OPTIONS: tuple[str, ...] = ("--base-url", "--api-key", "--stream", "--reasoning")
_OPTIONS += ("--top-p", "--reasoning-effort", "--extra-body", "--header")
for _prefix, _preset in presets().items():
    _is_local = _preset.get("local", False)
    _summary = "a server on this machine, or at --base-url" if _is_local else f"its endpoint; key in {_preset['key']}"
    add_client(f"{_prefix}/*", ModelClient(f"{_prefix}/NAME", _summary, _open, _OPTIONS), order=10)
_summary = "any OpenAI-compatible endpoint; OpenAI without --base-url"
add_client("*", ModelClient("NAME with --base-url", _summary, _open, _OPTIONS), order=1000)
