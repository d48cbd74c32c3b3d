"""Search GitHub for repositories with a topic.

The API limits requests and fails now and then: rate limits and temporary failures are waited for, everything else is
reported. The token is sent to GitHub only and never appears in a message or a file.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from dlbench.construction import Row
from dlbench.construction.selection import to_one_line
from dlbench.errors import DLBenchError
from dlbench.workspace.home import Log, quiet

if TYPE_CHECKING:
    import requests

API = "https://api.github.com"
PER_PAGE = 100
MOST = 1000
"""The API returns no more results for a search."""
PATIENCE = 900.0
TRIES = 5
BACK_OFF = 1.0
_DEFAULT_WAIT = 60.0
_TIMEOUT = (15, 60)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")

Sleep = Callable[[float], None]


class GitHubError(Exception):
    """This page cannot be fetched; others may."""


class Stopped(Exception):
    """Nothing more can be fetched now."""


class _Transient(Exception):
    """Worth a retry. `final`: the error to raise after the last try."""

    def __init__(self, reason: str, final: type[GitHubError] | type[Stopped]) -> None:
        super().__init__(reason)
        self.final = final


class GitHub(AbstractContextManager["GitHub"]):
    """`patience`: maximum total wait in seconds for one page when GitHub limits requests."""

    def __init__(
        self, base_url: str, token: str = "", patience: float = PATIENCE, log: Log = quiet, sleep: Sleep = time.sleep
    ) -> None:
        import requests

        _check_url(base_url, token)
        self._url = f"{base_url.rstrip('/')}/search/repositories"
        self._token, self._patience, self._log, self._sleep = token, patience, log, sleep
        self._pending_wait = 0.0
        self._session = requests.Session()

    def find_page(self, topic: str, number: int) -> Row:
        """`partial`: the search timed out at GitHub and may have missed repositories.

        Raises GitHubError, or Stopped if the wait is too long or the connection fails."""
        waited, failures = 0.0, 0
        while True:
            if seconds := self._pending_wait:
                self._pending_wait = 0.0
                waited += seconds
                if waited > self._patience:
                    what = f"GitHub asks to wait {seconds:.0f} s more, above the limit of {self._patience:.0f} s"
                    raise Stopped(f"rate limit reached: {what}")
                self._log(f"GitHub rate limit reached: waiting {seconds:.0f} s")
                self._sleep(seconds)
            try:
                if page := self._fetch(topic, number):
                    return page
            except _Transient as error:
                failures += 1
                if failures == TRIES:
                    raise error.final(f"{error} ({TRIES} tries)") from None
                self._sleep(BACK_OFF * 2 ** (failures - 1))

    def _fetch(self, topic: str, number: int) -> Row | None:
        """None if GitHub limits requests."""
        query = {"q": f"topic:{topic} language:Python", "sort": "stars", "order": "desc"}
        answer = self._get(query | {"per_page": str(PER_PAGE), "page": str(number)})
        status = answer.status_code
        if status == 429 or (status == 403 and _is_limit(answer)):
            self._pending_wait = _seconds_to_wait(answer)
            return None
        if status == 401:
            what, fix = "GitHub rejects the token", "fix GITHUB_TOKEN, or unset it: it is optional"
            raise DLBenchError(what, where=self._url, fix=fix)
        if status >= 500:
            raise _Transient(f"HTTP status {status}", GitHubError)
        if status != 200:
            raise GitHubError(f"HTTP status {status}: {self._redact(answer.text, 200)}")
        page = _read_page(answer, number)
        if answer.headers.get("X-RateLimit-Remaining") == "0":
            self._pending_wait = _seconds_to_wait(answer)
        return page

    def _get(self, query: dict[str, str]) -> "requests.Response":
        import requests

        try:
            headers = {"Accept": "application/vnd.github+json"}
            return self._session.get(self._url, params=query, headers=headers, auth=self._sign, timeout=_TIMEOUT)
        except (requests.exceptions.SSLError, requests.exceptions.TooManyRedirects) as error:
            raise Stopped(self._redact(str(error))) from None
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
            raise _Transient(self._redact(str(error)), Stopped) from None
        except (requests.RequestException, ValueError) as error:
            what = f"the request failed: {self._redact(str(error))}"
            raise DLBenchError(what, where=self._url, fix="fix --github-url or GITHUB_TOKEN") from None

    def _sign(self, request: "requests.PreparedRequest") -> "requests.PreparedRequest":
        # A function instead of a header: requests would override a header with a login from the user's .netrc.
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request

    def _redact(self, text: str, most: int = 500) -> str:
        return to_one_line(text.replace(self._token, "****") if self._token else text, most)

    def __exit__(self, *exception: object) -> None:
        self._session.close()


def _check_url(url: str, token: str) -> None:
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and not parts.query
    except ValueError:
        is_valid = False
    if not is_valid:
        raise DLBenchError("not the URL of a GitHub API", where=url, fix=f"the public one is {API}")
    if token and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        what = "the token would be sent over an unencrypted connection"
        raise DLBenchError(what, where=url, fix="use https, or unset GITHUB_TOKEN")
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise DLBenchError("not a token: it has blanks or unprintable characters", where="GITHUB_TOKEN", fix="fix it")


def _is_limit(answer: "requests.Response") -> bool:
    """Whether a 403 answer is a rate limit and not a real denial."""
    spent = answer.headers.get("X-RateLimit-Remaining") == "0" or "Retry-After" in answer.headers
    return spent or "rate limit" in answer.text.lower()


def _seconds_to_wait(answer: "requests.Response") -> float:
    with suppress(KeyError, ValueError):
        return float(max(int(answer.headers["Retry-After"]), 1))
    try:
        # By GitHub's clock, since this machine's may be wrong.
        now = parsedate_to_datetime(answer.headers["Date"]).timestamp()
        return max(float(int(answer.headers["X-RateLimit-Reset"])) - now, 0.0) + 1.0
    except (KeyError, ValueError, OverflowError):
        return _DEFAULT_WAIT


def _read_page(answer: "requests.Response", number: int) -> Row:
    try:
        content = answer.json()
    except (ValueError, RecursionError):
        raise _Transient("the answer is not JSON", GitHubError) from None
    items = content.get("items") if isinstance(content, dict) else None
    if not isinstance(items, list):
        raise _Transient("the answer is not a list of repositories", GitHubError)
    if "Link" in answer.headers:
        more = "next" in answer.links
    else:
        total = content.get("total_count")
        more = len(items) == PER_PAGE and isinstance(total, int) and number * PER_PAGE < total
    found = [repository for item in items if (repository := _read_repository(item))]
    return {"repositories": found, "more": more, "partial": content.get("incomplete_results") is True}


def _read_repository(item: Any) -> Row | None:  # noqa: ANN401 - any JSON value
    """None for an item without a name, which could not be fetched."""
    name = to_one_line(item.get("full_name")) if isinstance(item, dict) else ""
    if name.count("/") != 1:
        return None
    stars, license = item.get("stargazers_count"), item.get("license")
    return {
        "name": name,
        "url": to_one_line(item.get("html_url")),
        "stars": stars if isinstance(stars, int) else 0,
        "summary": to_one_line(item.get("description")),
        "license": to_one_line(license.get("spdx_id")) if isinstance(license, dict) else "",
    }
