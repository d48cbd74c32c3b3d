"""How is a model behind an OpenAI-compatible endpoint asked?

Endpoints are busy, restarted, misnamed and rate-limited. What passes is tried again, for a bounded time; what does not
is said at once and by name. A refusal taken for an answer would be a zero that the model did not earn.
"""

import json
import os
import random
import time
from email.utils import parsedate_to_datetime
from threading import Event
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from dlbench.errors import DLBenchError
from dlbench.generation.models import Answer, Request

if TYPE_CHECKING:
    from openai import APIConnectionError, APIStatusError

_LONGEST_WAIT = 120.0
_SHOWN = 300
_GOES_ON = "what was done is kept; start the same command again and it goes on from there"
_CONTEXT = ("context_length", "context length", "context size", "exceed_context", "maximum context", "context window")


class OpenAIModel:
    """`retries` counts the tries after the first. After `stop`, no request is tried again."""

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120,
        retries: int = 5,
    ) -> None:
        import openai

        self.name = model
        self._retries = retries
        self._timeout = timeout
        base_url = base_url or os.environ.get("DLBENCH_BASE_URL") or os.environ.get("OPENAI_BASE_URL")
        key = api_key or os.environ.get("DLBENCH_API_KEY") or os.environ.get("OPENAI_API_KEY")
        if not key and not base_url:
            raise DLBenchError(
                "no API key is given",
                where=f"model {model}",
                mend="set DLBENCH_API_KEY (or OPENAI_API_KEY), or give --base-url of an endpoint that needs none",
            )
        if base_url and urlsplit(base_url).scheme not in ("http", "https"):
            raise DLBenchError(
                "the base URL is not an http or https address",
                where=_shown_url(base_url),
                mend="give it as http://host:port/v1",
            )
        self._key = key or "none"
        # A proxy of the environment cannot reach this machine's own loopback address.
        local = base_url is not None and _is_loopback(base_url)
        self._client = openai.OpenAI(
            api_key=self._key,
            base_url=base_url,
            timeout=timeout,
            max_retries=0,
            http_client=openai.DefaultHttpxClient(trust_env=False) if local else None,
        )
        self._where = f"model {model} at {_shown_url(str(self._client.base_url))}"
        self._limit_name = "max_tokens"
        self._stopped = Event()

    def stop(self) -> None:
        self._stopped.set()

    def close(self) -> None:
        self.stop()
        self._client.close()

    def answer(self, request: Request) -> Answer:
        from openai import APIConnectionError, APIStatusError

        tries = 0
        while True:
            began = time.monotonic()
            try:
                text = self._post(request)
            except APIStatusError as error:
                if self._renames_limit(error):
                    continue
                if _is_context_refusal(error):
                    return Answer("", finish_reason="context_length", seconds=time.monotonic() - began)
                problem = self._problem(error)
                wait = _retry_after(error)
                if not _passes(error):
                    raise problem from None
            except APIConnectionError as error:
                wait = None
                problem = self._unreachable(error)
            else:
                return self._read(text, time.monotonic() - began)
            tries += 1
            if tries > self._retries or (wait or 0) > _LONGEST_WAIT:
                raise problem from None
            backoff = min(0.5 * 2.0**tries, 30.0) * random.uniform(0.75, 1.0)
            if self._stopped.wait(wait if wait is not None else backoff):
                raise problem from None

    def _post(self, request: Request) -> str:
        options: dict[str, Any] = {self._limit_name: request.max_tokens}
        if request.seed is not None:
            options["seed"] = request.seed
        messages: Any = request.messages
        raw = self._client.chat.completions.with_raw_response.create(
            model=self.name, messages=messages, temperature=request.temperature, **options
        )
        return raw.http_response.text

    def _renames_limit(self, error: "APIStatusError") -> bool:
        """Newer endpoints know the same limit by another name only."""
        if error.status_code != 400 or self._limit_name != "max_tokens":
            return False
        if "max_completion_tokens" not in str(error):
            return False
        self._limit_name = "max_completion_tokens"
        return True

    def _read(self, text: str, seconds: float) -> Answer:
        try:
            reply = json.loads(text)
            choice = reply["choices"][0]
            message = choice["message"]
            content = message["content"]
        except (ValueError, KeyError, IndexError, TypeError):
            raise self._nonsense(text) from None
        reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
        if content is None and reasoning:
            content = ""
        if not isinstance(content, str) or not isinstance(reasoning, str):
            raise self._nonsense(text)
        usage = reply.get("usage")
        return Answer(
            text=content,
            usage=usage if isinstance(usage, dict) else {},
            finish_reason=str(choice.get("finish_reason") or ""),
            seconds=seconds,
            reasoning=reasoning,
        )

    def _nonsense(self, text: str) -> DLBenchError:
        return DLBenchError(
            f"the endpoint answered, but not with a chat completion: {self._safe(text) or 'nothing at all'}",
            where=self._where,
            mend="check that the base URL is the endpoint's OpenAI-compatible address (it mostly ends in /v1)",
        )

    def _problem(self, error: "APIStatusError") -> DLBenchError:
        status: int = error.status_code
        said = self._safe(error.response.text)
        if status in (401, 403):
            what = f"the endpoint refused the API key (HTTP {status}): {said}"
            mend = "set DLBENCH_API_KEY (or OPENAI_API_KEY) to a key that is valid for this endpoint and model"
        elif status == 404:
            what = f"the endpoint does not know the model or the path (HTTP 404): {said}"
            mend = "check the name of the model, and the base URL (it mostly ends in /v1)"
        elif status == 429:
            what = f"the endpoint answers no more requests for now (HTTP 429): {said}"
            mend = f"wait, ask with fewer --workers, or look after the account's quota; {_GOES_ON}"
        elif status >= 500:
            what = f"the endpoint fails (HTTP {status}): {said}"
            mend = f"wait until it works again; {_GOES_ON}"
        else:
            what = f"the endpoint refused the request (HTTP {status}): {said}"
            mend = "change what it names (temperature, seed, max tokens), or the model"
        return DLBenchError(what, where=self._where, mend=mend)

    def _unreachable(self, error: "APIConnectionError") -> DLBenchError:
        from openai import APITimeoutError

        if isinstance(error, APITimeoutError):
            what = f"the endpoint gave no answer within {self._timeout:g} s"
            mend = f"give it more time with --timeout, or fewer --workers; {_GOES_ON}"
        else:
            what = f"the endpoint cannot be reached: {self._safe(str(error.__cause__ or error))}"
            mend = f"check the base URL and the connection; {_GOES_ON}"
        return DLBenchError(what, where=self._where, mend=mend)

    def _safe(self, text: str) -> str:
        """Short, on one line, and without the key, which some endpoints repeat in what they say."""
        line = " ".join(text.replace(self._key, "***").split()) if self._key != "none" else " ".join(text.split())
        return line if len(line) <= _SHOWN else line[:_SHOWN] + "…"


def _passes(error: "APIStatusError") -> bool:
    """Whether waiting helps: an account without money stays without money."""
    if "insufficient_quota" in error.response.text:
        return False
    return error.status_code in (408, 409, 425, 429) or error.status_code >= 500


def _is_context_refusal(error: "APIStatusError") -> bool:
    said = error.response.text.lower()
    return error.status_code in (400, 413, 422) and any(words in said for words in _CONTEXT)


def _retry_after(error: "APIStatusError") -> float | None:
    value = error.response.headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def _is_loopback(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _shown_url(base_url: str) -> str:
    """Without a user, a password or a query, where some endpoints want their key."""
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
