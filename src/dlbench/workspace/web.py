"""How do bytes come over the network, on a day when it is flaky?

Every request is tried three times, honours the owner's certificates and trusted hosts, and ends in `Unreachable` with
a reason that a person can read. A password for one host is never sent to another.
"""

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, TypeVar
from urllib.parse import urlsplit

from dlbench.workspace.pip_config import PipConfig, redacted

if TYPE_CHECKING:
    import requests

TRIES = 3
BACK_OFF = 0.5
_TRANSIENT = (408, 429, 500, 502, 503, 504)
_TIMEOUT = (15, 60)
_CHUNK = 1 << 20

Result = TypeVar("Result")


class Unreachable(Exception):
    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{redacted(url)}: {redacted(reason)}")


class Web:
    def __init__(self, config: PipConfig) -> None:
        import requests

        self._config = config
        self._session = requests.Session()

    def page(self, url: str, accept: str) -> "requests.Response | None":
        """The page, or None where the server says that there is none."""

        def get() -> "requests.Response | None":
            answer = self._get(url, url, {"Accept": accept})
            if answer.status_code == 404:
                return None
            answer.raise_for_status()
            _ = answer.content  # Read here, where a connection that breaks halfway is tried again.
            return answer

        return self._patiently(url, get)

    def save(self, url: str, listed_on: str, file: BinaryIO) -> None:
        def get() -> None:
            file.seek(0)
            file.truncate()
            # Identity: a server that labels a .tar.gz as gzip-encoded would have it unpacked on the way.
            with self._get(url, listed_on, {"Accept-Encoding": "identity"}) as answer:
                answer.raise_for_status()
                for chunk in answer.iter_content(_CHUNK):
                    file.write(chunk)

        self._patiently(url, get)

    def _get(self, url: str, listed_on: str, headers: dict[str, str]) -> "requests.Response":
        here, page = urlsplit(url), urlsplit(listed_on)
        login = None
        if page.username and (here.hostname, here.port) == (page.hostname, page.port) and not here.username:
            login = (page.username, page.password or "")
        return self._session.get(
            url, headers=headers, auth=login, stream=True, timeout=_TIMEOUT, verify=self._verify(here.netloc)
        )

    def _verify(self, netloc: str) -> bool | str | None:
        host = netloc.rpartition("@")[2]
        if host in self._config.trusted_hosts or host.partition(":")[0] in self._config.trusted_hosts:
            return False
        return self._config.cert

    def _patiently(self, url: str, action: Callable[[], Result]) -> Result:
        import requests

        reason = ""
        for attempt in range(TRIES):
            if attempt:
                time.sleep(BACK_OFF * 2**attempt)
            try:
                return action()
            except requests.exceptions.SSLError as error:
                raise Unreachable(url, f"its certificate is not trusted here (PIP_CERT names one): {error}") from None
            except requests.HTTPError as error:
                status = error.response.status_code if error.response is not None else 0
                reason = f"HTTP status {status}"
                if status not in _TRANSIENT:
                    break
            except requests.RequestException as error:
                reason = str(error)
        raise Unreachable(url, reason)

    def __enter__(self) -> "Web":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.close()
