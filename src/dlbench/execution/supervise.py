"""How is a confined process watched, from outside and to the end?

Its messages are checked, its output is drained and kept short, its time, memory and processes are counted over all its
descendants. Whatever it does, this returns soon after a limit is reached, and nothing of it is left.

Did the judge say this, or somebody else?

What arrives on a judge's channel is taken only with the next number and the right keyed hash; the first line without
ends the listening.
"""

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from dlbench.execution.launch import start
from dlbench.execution.limits import Limits
from dlbench.execution.processes import Group, borrow_group, find_descendants, is_alive, memory_mb, waited_seconds
from dlbench.execution.sandbox import Cell, Sandbox

_MOST_BYTES = 16 << 20


@dataclass
class Messages:
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    taken: list[dict[str, Any]] = field(default_factory=list)
    forged: str = ""
    buffer: bytes = b""
    received: int = 0
    heard: int = 0
    keeps: bool = True
    """Whether what was taken is kept, and so must not be too much."""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The new messages in what arrived; no data is the end of the channel."""
        self.received += len(data)
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        new: list[dict[str, Any]] = []
        for line in lines:
            if not self.forged:
                new += self._take(line)
        if self.keeps:
            self.taken += new
        if (self.keeps and self.received > _MOST_BYTES) or (not data and self.buffer):
            self.forged = self.forged or "the judge's channel was flooded or cut inside a message"
        return new

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.taken if message["kind"] == kind]

    def _take(self, line: bytes) -> list[dict[str, Any]]:
        mac, _, body = line.partition(b" ")
        expected = hmac.new(self.secret, body, hashlib.sha256).hexdigest().encode()
        if not hmac.compare_digest(mac, expected):
            self.forged = "something else than the judge wrote on its channel"
            return []
        message = json.loads(body)
        self.heard += 1
        if message["n"] != self.heard:
            self.forged = "a message of the judge was repeated or left out"
            return []
        return [message]


KEPT_OUTPUT = 8 << 10
LOOK_EVERY = 0.1
PATIENCE = 15.0
_STARVED = 3.0


class Interrupted(BaseException):
    """The user asked to stop; what was running has no verdict."""


class Stoppable(Protocol):
    is_stopped: bool


_lock = threading.Lock()
_under_way: set[Stoppable] = set()


def stop_all() -> None:
    """Ends every execution that this process has under way, for a user who does not want to wait for their limits."""
    with _lock:
        for watch in _under_way:
            watch.is_stopped = True


@contextlib.contextmanager
def under_way(watch: Stoppable) -> Iterator[None]:
    with _lock:
        _under_way.add(watch)
    try:
        yield
    finally:
        with _lock:
            _under_way.discard(watch)


@dataclass
class Observation:
    """What was seen of one process: its messages, how it ended, what it used."""

    messages: Messages = field(default_factory=Messages)
    stopped_for: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    memory_mb: float = 0.0
    output: str = ""
    lost: str = ""
    """Why it cannot be judged at all: whoever served it is gone."""
    mode: str = "fresh"

    def count(self, processes: list[int], limits: Limits, is_full: Callable[[], bool]) -> None:
        """What a family uses now, and whether that is too much."""
        resident = memory_mb(processes, limits.memory_mb)
        self.memory_mb = max(self.memory_mb, resident)
        if resident > limits.memory_mb or is_full():
            self.stopped_for = "memory"
        elif len(processes) > limits.processes:
            self.stopped_for = "processes"


class Clock:
    """The time that a candidate had: what it spent waiting for others to leave the processor is not its own."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.enter(limits.load_seconds, None)

    def enter(self, seconds: float, process: int | None) -> None:
        """A new phase with a limit of its own."""
        self.began, self.seconds, self.process = time.monotonic(), seconds, process
        self.waited = waited_seconds(process) if process else 0.0

    def is_over(self) -> bool:
        passed = time.monotonic() - self.began
        if passed <= self.seconds or self.process is None or passed > _STARVED * self.seconds:
            return passed > self.seconds
        return passed - (waited_seconds(self.process) - self.waited) > self.seconds


Listen = Callable[[dict[str, Any]], bool]
"""What to do with a message as it comes; the answer says whether to go on."""


def supervise(confinement: Sandbox, cell: Cell, job: dict[str, Any], listen: Listen | None = None) -> Observation:
    """One candidate in a sandbox of its own, from its start to its end.

    `listen`: who takes its messages, which are not kept. Then every message begins a new limit: that of the tests is
    for one test, and all that comes between two of them has the limit of loading.
    """
    seen = Observation()
    if listen is not None:
        seen.messages.keeps = False
    reading, writing = os.pipe()
    with borrow_group() as group:
        is_full = prepare_group(group, cell.limits)
        try:
            content = {"mode": "fresh", "secret": seen.messages.secret.hex()} | job
            process = start(confinement, cell, writing, content, group=group)
        finally:
            os.close(writing)
        watch = _Watch(process, reading, seen, cell.limits, is_full, listen)
        with under_way(watch):
            try:
                watch.run()
            finally:
                watch.close()
        if is_full():
            seen.stopped_for = "memory"
    return seen


def prepare_group(group: Group | None, limits: Limits) -> Callable[[], bool]:
    """A question: did the kernel end anything here, from now on, for want of memory?"""
    if group is None:
        return lambda: False
    # threads are counted there too, and those of the sandbox itself
    group.limit(limits.memory_mb, limits.processes + 16)
    before = group.count_kills()
    return lambda: group.count_kills() > before


class _Watch:
    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        channel: int,
        seen: Observation,
        limits: Limits,
        is_full: Callable[[], bool],
        listen: Listen | None,
    ) -> None:
        self.process = process
        self.is_full, self.listen = is_full, listen
        self.channel = channel
        self.seen = seen
        self.limits = limits
        self.clock = Clock(limits)
        self.output = b""
        self.is_stopped = False
        self.family: set[int] = set()

    def run(self) -> None:
        assert self.process.stdout is not None
        began = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self.channel, selectors.EVENT_READ, self._take_messages)
            selector.register(self.process.stdout, selectors.EVENT_READ, self._take_output)
            looked = 0.0
            ended_at: float | None = None
            while True:
                for key, _ in selector.select(timeout=0.02):
                    if not key.data():
                        selector.unregister(key.fileobj)
                now = time.monotonic()
                if ended_at is None and self._has_ended():
                    ended_at = now
                # a descendant that kept the pipes open is killed below; its last words are not waited for
                if ended_at is not None and (not selector.get_map() or now - ended_at > 0.2):
                    break
                if ended_at is None and now - looked > LOOK_EVERY:
                    looked = now
                    self._look()
                if self.seen.stopped_for or self.seen.messages.forged or self.is_stopped:
                    break
        self._kill()
        if self.is_stopped:
            raise Interrupted
        self.seen.seconds = time.monotonic() - began
        self.seen.output = self.output[-KEPT_OUTPUT:].decode(errors="replace")

    def _take_output(self) -> bool:
        assert self.process.stdout is not None
        data = os.read(self.process.stdout.fileno(), 1 << 16)
        self.output = (self.output + data)[-4 * KEPT_OUTPUT :]
        return bool(data)

    def _take_messages(self) -> bool:
        data = os.read(self.channel, 1 << 16)
        for message in self.seen.messages.feed(data):
            if message["kind"] == "ready":
                found = find_descendants(self.process.pid)
                self.family = set(found) - {self.process.pid}
                self.clock.enter(self.limits.load_seconds, found[-1])
            if message["kind"] in {"collected", "begins"}:
                self.clock.enter(self.limits.test_seconds, self.clock.process)
            if self.listen is None:
                continue
            if message["kind"] not in {"ready", "begins"}:
                self.clock.enter(self.limits.load_seconds, self.clock.process)
            if not self.listen(message):
                self.seen.stopped_for = "enough"
        return bool(data)

    def _has_ended(self) -> bool:
        if self.seen.exit_code is not None:
            return True
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if pid == 0:
            return False
        self.seen.exit_code = self.process.returncode = os.waitstatus_to_exitcode(status)
        self.seen.memory_mb = max(self.seen.memory_mb, usage.ru_maxrss / 1024)
        return True

    def _look(self) -> None:
        if self.clock.is_over():
            self.seen.stopped_for = "timeout"
            return
        self.seen.count(find_descendants(self.process.pid), self.limits, self.is_full)

    def _kill(self) -> None:
        """Ends what still runs and waits until it is gone: a verdict is given over an empty room."""
        if self.seen.exit_code is None:
            self.family |= set(find_descendants(self.process.pid))
            # a warden ends its family before itself. Not by Popen: that would wait for it behind our back
            os.kill(self.process.pid, signal.SIGTERM)
            wait_until(self._has_ended)
            for pid in self.family if self.seen.exit_code is None else ():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        # the first process of a namespace goes last, when the kernel has taken all others from it
        wait_until(lambda: self._has_ended() and not any(map(is_alive, self.family)))

    def close(self) -> None:
        if self.seen.exit_code is None:
            self._kill()
        os.close(self.channel)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.002)
