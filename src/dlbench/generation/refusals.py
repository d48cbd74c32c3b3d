"""What does an endpoint's refusal mean, and is it worth another try?

A busy endpoint is waited for as long as it says; an account without money stays without money, and a wrong key stays
wrong: tried again, it would only take longer to say so.
"""

import math
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from dlbench.errors import DLBenchError
from dlbench.generation.models import Passing

_CONTEXT = ("context_length", "context length", "context size", "exceed_context", "maximum context", "context window")
_PASSING = (408, 409, 425, 429)


@dataclass(frozen=True)
class Refusal:
    status: int
    retry_after: str | None
    text: str

    def as_error(self, said: str, where: str) -> DLBenchError:
        """`said` is what may be shown of the text."""
        what, mend = self._explain(said)
        if self._passes():
            # told to come back at once, or at a time that has passed: our own waits are the better guess
            return Passing(what, where=where, mend=mend, after=read_retry_after(self.retry_after) or None)
        return DLBenchError(what, where=where, mend=mend)

    def _passes(self) -> bool:
        return "insufficient_quota" not in self.text and (self.status in _PASSING or self.status >= 500)

    def _explain(self, said: str) -> tuple[str, str]:
        status = self.status
        if status in (401, 403):
            mend = "set the endpoint's variable (docs/models.md) or DLBENCH_API_KEY to a key that is valid for it"
            return f"the endpoint refused the API key (HTTP {status}): {said}", mend
        if status == 404:
            mend = "check the name of the model, and the base URL (it mostly ends in /v1)"
            return f"the endpoint does not know the model or the path (HTTP 404): {said}", mend
        if 300 <= status < 400:
            return (
                f"the endpoint is elsewhere (HTTP {status}): {said}",
                "check the base URL: http or https, and its path",
            )
        if status == 429:
            mend = "wait, ask with a lower --concurrency, or look after the account's quota"
            return f"the endpoint answers no more requests for now (HTTP 429): {said}", mend
        if status >= 500:
            return f"the endpoint fails (HTTP {status}): {said}", "wait until it works again"
        mend = "change what it names (seed, max tokens, the model); --reasoning asks without a temperature"
        return f"the endpoint refused the request (HTTP {status}): {said}", mend


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
