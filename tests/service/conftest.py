"""A real `dlbench serve` on the toy benchmark."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

TOKEN = "a-token-of-the-tests"
AUTH = {"Authorization": f"Bearer {TOKEN}"}


def wait_until(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.02)


class Service:
    """A server process that can be killed and started again on the same port."""

    def __init__(self, root: Path, *options: str, token: str = TOKEN) -> None:
        self._root, self._options, self._token, self.port = root, options, token, 0
        with tempfile.NamedTemporaryFile(prefix="serve-", suffix=".log", delete=False) as file:
            self._log = Path(file.name)
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "dlbench", "serve", "--benchmark", str(self._root), "--port", str(self.port)]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, *self._options], stderr=log, env=os.environ | {"DLBENCH_TOKEN": self._token}
            )
        wait_until(lambda: "listening on" in self.log or self.process.poll() is not None)
        found = re.search(r"listening on http://127.0.0.1:(\d+)", self.log)
        assert found, self.log
        self.port = int(found[1])

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def post(self, body: object, **options: object) -> requests.Response:
        return requests.post(f"{self.url}/v1/judge", json=body, headers=AUTH, timeout=300, **options)

    def get(self, path: str, headers: dict[str, str] = AUTH) -> requests.Response:
        return requests.get(self.url + path, headers=headers, timeout=300)

    def wait_until_waiting(self, count: int) -> None:
        wait_until(lambda: self.get("/healthz").json()["waiting"] == count)

    def wait_for_log(self, text: str) -> None:
        """A line is written after the reply."""
        wait_until(lambda: text in self.log)

    def kill(self, number: int = signal.SIGKILL) -> int:
        """Its exit status."""
        self.process.send_signal(number)
        return self.process.wait(120)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.kill()
        self._log.unlink()


@pytest.fixture(scope="package")
def service(toy) -> Iterator[Service]:
    with contextlib.closing(Service(toy.root, "--client-timeout", "3")) as started:
        yield started


@pytest.fixture
def serve(toy) -> Iterator:
    """Start a server with options."""
    with contextlib.ExitStack() as stack:
        yield lambda *options, **more: stack.enter_context(contextlib.closing(Service(toy.root, *options, **more)))
