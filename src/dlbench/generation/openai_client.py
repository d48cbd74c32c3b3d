"""How is a model behind an OpenAI-compatible endpoint asked?

Endpoints are busy, restarted, misnamed and rate-limited. Each try ends with an answer, with trouble that may pass, or
with an error that is said at once and by name. A refusal taken for an answer would be a zero that the model did not
earn. The HTTP client is aiohttp: it takes a fifth of the time of the processor that others take for a request, and what
the client takes is missing where many requests are kept in flight.
"""

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dlbench.errors import DLBenchError
from dlbench.generation.keys import Secrets, shorten
from dlbench.generation.models import Answer, Model, Passing, Request
from dlbench.generation.presets import find_endpoint, find_proxy, shown_url
from dlbench.generation.refusals import Refusal, is_context_refusal, is_filtered, renames_limit
from dlbench.generation.replies import Nonsense, read_reply

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

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
            raise Passing(
                f"the endpoint gave no {what} within {limit:g} s",
                where=self._where,
                mend="give it more time with --request-timeout, or fewer requests with --concurrency",
            ) from None
        except (aiohttp.InvalidURL, UnicodeError):
            raise DLBenchError("the base URL cannot be used", where=self._where, mend="check --base-url") from None
        except (aiohttp.ClientError, OSError) as error:
            what = self._safe(str(error) or type(error).__name__)
            raise Passing(
                f"the endpoint cannot be reached, or broke off: {what}",
                where=self._where,
                mend="check the base URL and the connection",
            ) from None
        seconds = time.monotonic() - began
        if response.status != 200:
            return self._refused(response, text, seconds, body)
        try:
            return self._without_key(read_reply(text, seconds))
        except Nonsense as problem:
            raise Passing(
                f"the endpoint answered, but not with a chat completion ({problem}): "
                f"{self._safe(text) or 'nothing at all'}",
                where=self._where,
                mend="check that the base URL is the endpoint's OpenAI-compatible address (it mostly ends in /v1)",
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
            raise Passing("the endpoint has another name for max_tokens", where=self._where, after=0)
        raise Refusal(response.status, response.headers.get("Retry-After"), text).as_error(
            self._safe(text), self._where
        )

    def _without_key(self, answer: Answer) -> Answer:
        said, thought = (self._secrets.hide(text) for text in (answer.text, answer.reasoning))
        return replace(answer, text=said, reasoning=thought)

    def _safe(self, text: str) -> str:
        """Short, on one line, and without the key, which some endpoints repeat in what they say."""
        return shorten(self._secrets.hide(text))
