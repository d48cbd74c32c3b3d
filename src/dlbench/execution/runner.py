"""What runs inside the sandbox: exactly the instance's tests, with an outcome for each.

This file is started by the project's own interpreter and knows nothing of dlbench: only the standard library and, once
it has given up every privilege, pytest. It speaks on one pipe; every line carries a number and a keyed hash, so that a
line which the candidate writes there is seen as such. What it reports is bound to the process it began in: a candidate
that forks and returns twice is heard once.
"""

from __future__ import annotations

import ctypes
import hashlib
import hmac
import json
import os
import random
import resource
import socket
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest


class Channel:
    def __init__(self, descriptor: int, secret: bytes) -> None:
        self._write = os.write
        self._descriptor = descriptor
        self._secret = secret
        self._count = 0
        self._process = os.getpid()

    def send(self, kind: str, **content: Any) -> None:  # noqa: ANN401 - whatever JSON takes
        if os.getpid() != self._process:
            os._exit(0)
        self._count += 1
        body = json.dumps({"n": self._count, "kind": kind, **content})
        mac = hmac.new(self._secret, body.encode(), hashlib.sha256).hexdigest()
        line = (mac + " " + body + "\n").encode()
        while line:
            line = line[self._write(self._descriptor, line) :]


def give_up_privileges(job: dict[str, Any]) -> None:
    """Limits, then the user, then the system calls: nothing here can be taken back."""
    for name, value in job["limits"].items():
        number = getattr(resource, name)
        _, hard = resource.getrlimit(number)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (value, value))
    if job["user"] is not None and os.getuid() == 0:
        os.setgroups([])
        os.setgid(job["user"])
        os.setuid(job["user"])
    libc = ctypes.CDLL(None, use_errno=True)
    PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER = 1, 22, 38, 2
    libc.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs")
    if job["seccomp"]:
        program = bytes.fromhex(job["seccomp"])

        class Program(ctypes.Structure):
            _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))

        filled = Program(len(program) // 8, program)
        if libc.prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(filled), 0, 0):
            raise OSError(ctypes.get_errno(), "seccomp")


def describe_confinement() -> dict[str, Any]:
    """What the sandbox really holds off, tried from inside; the other side refuses to go on without it."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
        network = True
    except OSError:
        network = False
    return {"user": os.getuid(), "network": network}


def seed_everything() -> None:
    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


WORST = ["passed", "skipped", "failed", "error"]


class Judge:
    """A pytest plugin: keeps the wanted tests, gives each a fixed seed, sends what became of it."""

    def __init__(self, channel: Channel, wanted: list[str]) -> None:
        self.channel = channel
        self.wanted = list(wanted)
        self.outcomes: dict[str, str] = {}
        self.messages: dict[str, str] = {}
        self.started: dict[str, float] = {}
        self.shown = 0
        self.errors: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.errors.append(f"{report.nodeid}: {str(report.longrepr)[-3000:]}")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if not self.wanted:
            return
        places = {test: place for place, test in enumerate(self.wanted)}
        items[:] = sorted((item for item in items if item.nodeid in places), key=lambda item: places[item.nodeid])

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.channel.send("collected", tests=[item.nodeid for item in session.items], errors=self.errors[:5])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.started[nodeid] = time.monotonic()
        seed_everything()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        outcome: str | None = report.outcome
        if type(report).__name__ == "SubtestReport":
            outcome = "failed" if report.failed else None
        elif hasattr(report, "wasxfail"):
            outcome = "skipped"  # expected to fail: whatever it did, it did not pass
        elif report.failed and report.when != "call":
            outcome = "error"
        elif report.when != "call" and outcome == "passed":
            outcome = None
        if outcome is None:
            return
        before = self.outcomes.get(report.nodeid, "passed")
        self.outcomes[report.nodeid] = max(before, outcome, key=WORST.index)
        if report.failed and report.nodeid not in self.messages:
            self.messages[report.nodeid] = report.longreprtext[-2000:] if self.shown < 5 else ""
            self.shown += 1

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.channel.send(
            "test",
            id=nodeid,
            outcome=self.outcomes.get(nodeid, "error"),
            seconds=time.monotonic() - self.started.get(nodeid, time.monotonic()),
            message=self.messages.get(nodeid, ""),
        )


def main() -> None:
    job = json.loads(sys.stdin.buffer.read())
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    channel = Channel(int(sys.argv[1]), bytes.fromhex(job["secret"]))
    os.set_inheritable(int(sys.argv[1]), False)
    sys.path[:1] = [job["import_path"]]
    sys.argv = ["pytest"]
    give_up_privileges(job)
    os.chdir(job["tree"])

    import pytest  # only now: nothing is left to lose

    channel.send("ready", **describe_confinement())
    judge = Judge(channel, [] if job["collect_only"] else job["tests"])
    functions = dict.fromkeys(test.partition("[")[0] for test in job["tests"])
    options = ["-p", "no:cacheprovider", "-o", "addopts=", "--tb=short", "--rootdir", job["tree"], *job["args"]]
    if job["collect_only"]:
        options.append("--collect-only")
    pytest.main([*options, *functions], plugins=[judge])
    channel.send("end")
    # threads of a library or of the candidate must not keep the process
    os._exit(0)


if __name__ == "__main__":
    main()
