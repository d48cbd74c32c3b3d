"""Which repositories carry a topic, and how many stars has each?

Asked of GitHub's repository search, a hundred a page, the most starred first, a thousand in all. The interface counts
requests, shuts out who does not wait when told to, and breaks now and then: what is worth waiting for is waited for,
what is not is said. The token goes to GitHub alone, never into a message or a file.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from dlbench.construction.selection.topics import to_one_line
from dlbench.errors import DLBenchError
from dlbench.workspace.home import Log, quiet

if TYPE_CHECKING:
    import requests

API = "https://api.github.com"
PER_PAGE = 100
MOST = 1000
"""The interface shows no more of any search."""
PATIENCE = 900.0
TRIES = 5
BACK_OFF = 1.0
_UNTOLD_WAIT = 60.0
_TIMEOUT = (15, 60)
_HERE = ("localhost", "127.0.0.1", "::1")

Sleep = Callable[[float], None]


class GitHubError(Exception):
    """This page cannot be had; others may."""


class Stopped(Exception):
    """Nothing more can be had now."""


class _Wait(Exception):
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class _Broken(Exception):
    """Worth another try. `after` is what to give up with."""

    def __init__(self, reason: str, after: type[GitHubError] | type[Stopped]) -> None:
        super().__init__(reason)
        self.after = after


@dataclass(frozen=True)
class Repository:
    name: str
    url: str
    stars: int
    summary: str
    license: str


@dataclass(frozen=True)
class Page:
    """`partial`: GitHub ran out of its own time and says that it may have left repositories out."""

    repositories: tuple[Repository, ...]
    more: bool
    partial: bool


class GitHub:
    """`patience`: the seconds that are waited for one page, all in all, when GitHub says to wait."""

    def __init__(
        self,
        base_url: str = API,
        token: str = "",
        patience: float = PATIENCE,
        log: Log = quiet,
        sleep: Sleep = time.sleep,
    ) -> None:
        import requests

        _check_url(base_url, token)
        self._url = f"{base_url.rstrip('/')}/search/repositories"
        self._token = token
        self._patience = patience
        self._say = log
        self._sleep = sleep
        self._owed = 0.0
        self._session = requests.Session()

    def find_page(self, topic: str, number: int) -> Page:
        """Raises Refused, or Stopped when patience or the connection is at its end."""
        waited, failures = 0.0, 0
        while True:
            try:
                if self._owed:
                    raise _Wait(self._owed)
                return self._ask(topic, number)
            except _Wait as wait:
                waited += wait.seconds
                if waited > self._patience:
                    longest = f"{wait.seconds:.0f} s more; {self._patience:.0f} s is the most that is waited"
                    raise Stopped(f"GitHub allows no more requests now: it asks to wait {longest}") from None
                self._say(f"GitHub allows no more requests now: waiting {wait.seconds:.0f} s")
                self._owed = 0.0
                self._sleep(wait.seconds)
            except _Broken as broken:
                failures += 1
                if failures == TRIES:
                    raise broken.after(f"{broken} ({TRIES} tries)") from None
                self._sleep(BACK_OFF * 2 ** (failures - 1))

    def _ask(self, topic: str, number: int) -> Page:
        answer = self._get(
            {
                "q": f"topic:{topic} language:Python",
                "sort": "stars",
                "order": "desc",
                "per_page": str(PER_PAGE),
                "page": str(number),
            }
        )
        limits = answer.headers
        if answer.status_code == 429 or (answer.status_code == 403 and _is_limit(answer)):
            raise _Wait(_seconds_to_wait(answer))
        if answer.status_code == 401:
            what, fix = "GitHub does not accept the token", "fix GITHUB_TOKEN, or unset it: it is not needed"
            raise DLBenchError(what, where=self._url, fix=fix)
        if answer.status_code >= 500:
            raise _Broken(f"HTTP status {answer.status_code}", GitHubError)
        if answer.status_code != 200:
            raise GitHubError(self._blot(f"HTTP status {answer.status_code}: {to_one_line(answer.text, 200)}"))
        page = _read_page(answer, number)
        if limits.get("X-RateLimit-Remaining") == "0":
            self._owed = _seconds_to_wait(answer)
        return page

    def _get(self, query: dict[str, str]) -> "requests.Response":
        import requests

        try:
            return self._session.get(
                self._url,
                params=query,
                headers={"Accept": "application/vnd.github+json"},
                auth=self._sign,
                timeout=_TIMEOUT,
            )
        except (requests.exceptions.SSLError, requests.exceptions.TooManyRedirects) as error:
            raise Stopped(self._blot(to_one_line(str(error)))) from None
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
            raise _Broken(self._blot(to_one_line(str(error))), Stopped) from None
        except (requests.RequestException, ValueError) as error:
            what = f"no request can be made: {self._blot(to_one_line(str(error)))}"
            raise DLBenchError(what, where=self._url, fix="fix --github-url or GITHUB_TOKEN") from None

    def _sign(self, request: "requests.PreparedRequest") -> "requests.PreparedRequest":
        # A function, and not a header: requests would put a login from the user's .netrc in a header's place.
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request

    def _blot(self, text: str) -> str:
        return text.replace(self._token, "****") if self._token else text

    def __enter__(self) -> "GitHub":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.close()


def _check_url(url: str, token: str) -> None:
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and not parts.query
    except ValueError:
        sound = False
    if not sound:
        raise DLBenchError("not the URL of a GitHub interface", where=url, fix=f"the public one is {API}")
    if token and parts.scheme == "http" and parts.hostname not in _HERE:
        what = "the token would be sent over a connection that anybody can read"
        raise DLBenchError(what, where=url, fix="use https, or unset GITHUB_TOKEN")
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise DLBenchError("this is no token: it has blanks or unprintable signs", where="GITHUB_TOKEN", fix="fix it")


def _is_limit(answer: "requests.Response") -> bool:
    """403 also says "forbidden", which no waiting fixes."""
    spent = answer.headers.get("X-RateLimit-Remaining") == "0" or "Retry-After" in answer.headers
    return spent or "rate limit" in answer.text.lower()


def _seconds_to_wait(answer: "requests.Response") -> float:
    try:
        return float(max(int(answer.headers["Retry-After"]), 1))
    except (KeyError, ValueError):
        pass
    try:
        # By GitHub's own clock: this machine's may be wrong.
        now = parsedate_to_datetime(answer.headers["Date"]).timestamp()
        return max(float(int(answer.headers["X-RateLimit-Reset"])) - now, 0.0) + 1.0
    except (KeyError, ValueError, OverflowError):
        return _UNTOLD_WAIT


def _read_page(answer: "requests.Response", number: int) -> Page:
    try:
        content = answer.json()
    except (ValueError, RecursionError):
        raise _Broken("the answer is not JSON", GitHubError) from None
    items = content.get("items") if isinstance(content, dict) else None
    if not isinstance(items, list):
        raise _Broken("the answer is no list of repositories", GitHubError)
    if "Link" in answer.headers:
        more = "next" in answer.links
    else:
        total = content.get("total_count")
        more = len(items) == PER_PAGE and isinstance(total, int) and number * PER_PAGE < total
    found = tuple(repository for item in items if (repository := _read_repository(item)))
    return Page(found, more, partial=content.get("incomplete_results") is True)


def _read_repository(item: Any) -> Repository | None:  # noqa: ANN401 - whatever the network brought
    """None for what has no name, which nobody could fetch."""
    name = to_one_line(item.get("full_name")) if isinstance(item, dict) else ""
    if name.count("/") != 1:
        return None
    stars, licence = item.get("stargazers_count"), item.get("license")
    return Repository(
        name=name,
        url=to_one_line(item.get("html_url")),
        stars=stars if isinstance(stars, int) else 0,
        summary=to_one_line(item.get("description")),
        license=to_one_line(licence.get("spdx_id")) if isinstance(licence, dict) else "",
    )
