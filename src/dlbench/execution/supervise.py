"""Run one confined process, watch it from outside, and leave nothing of it behind.

Its output is drained and truncated, and its time, memory and processes are counted over all its descendants. Whatever
it does, `supervise` returns soon after a limit is reached. A message on the judge's channel is accepted only with the
next number and the right keyed hash; the first line that lacks either ends the reading.
"""

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import selectors
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from dlbench.execution.launch import start
from dlbench.execution.limits import Limits
from dlbench.execution.processes import Group, borrow_group, end_tree, find_descendants, memory_mb, waited_seconds
from dlbench.execution.sandbox import Cell, Sandbox

_MOST_BYTES = 16 << 20


@dataclass
class Messages:
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    taken: list[dict[str, Any]] = field(default_factory=list)
    forged: str = ""
    buffer: bytes = b""
    received: int = 0
    count: int = 0
    keeps: bool = True
    """Whether messages are kept, and so limited in size."""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The new messages in the data; no data is the end of the channel."""
        self.received += len(data)
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        new = [message for line in lines if (message := self._authenticate(line)) is not None]
        if self.keeps:
            self.taken += new
        if (self.keeps and self.received > _MOST_BYTES) or (not data and self.buffer):
            self.forged = self.forged or "the judge's channel was flooded or cut inside a message"
        return new

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.taken if message["kind"] == kind]

    def _authenticate(self, line: bytes) -> dict[str, Any] | None:
        """None for a forged message and all that follow it."""
        if self.forged:
            return None
        mac, _, body = line.partition(b" ")
        expected = hmac.new(self.secret, body, hashlib.sha256).hexdigest().encode()
        if not hmac.compare_digest(mac, expected):
            self.forged = "something else than the judge wrote on its channel"
            return None
        message: dict[str, Any] = json.loads(body)
        self.count += 1
        if message["n"] != self.count:
            self.forged = "a message of the judge was repeated or left out"
        return None if self.forged else message


_KEPT_OUTPUT = 8 << 10
POLL_SECONDS = 0.1
_MOST_STARVED = 3.0

stop_event: ContextVar[threading.Event | None] = ContextVar("stop_event", default=None)
"""Set when the executions of this thread must end. It is bound before a thread takes its first task: an execution that
has not started yet ends as soon as one under way."""


class Interrupted(BaseException):
    """The user asked to stop. The execution under way has no verdict."""


def is_stopping() -> bool:
    event = stop_event.get()
    return event is not None and event.is_set()


def check_stop() -> None:
    if is_stopping():
        raise Interrupted


@dataclass
class Observation:
    """What was observed of one execution: its messages, how it ended, what it used."""

    messages: Messages = field(default_factory=Messages)
    stopped_for: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    memory_mb: float = 0.0
    output: str = ""
    mode: str = "fresh"


class _Clock:
    """The time of a candidate, without the time it waited for a processor."""

    def __init__(self, seconds: float) -> None:
        self.enter(seconds, None)

    def enter(self, seconds: float, process: int | None) -> None:
        """Begin a phase with its own limit."""
        self.began, self.seconds, self.process = time.monotonic(), seconds, process
        self.waited = waited_seconds(process) if process else 0.0

    def is_over(self) -> bool:
        passed = time.monotonic() - self.began
        if passed <= self.seconds or self.process is None or passed > _MOST_STARVED * self.seconds:
            return passed > self.seconds
        return passed - (waited_seconds(self.process) - self.waited) > self.seconds


def prepare_group(group: Group | None, limits: Limits) -> Callable[[], bool]:
    """Set the group's limits. Returns a function: has the kernel killed a process for lack of memory since?"""
    if group is None:
        return lambda: False
    # the group also counts threads and the sandbox's own processes
    group.limit(limits.memory_mb, limits.processes + 16)
    before = group.count_kills()
    return lambda: group.count_kills() > before


@dataclass
class Watch:
    """Read the channel and the output of one execution, and measure it until it ends."""

    observation: Observation
    channel: int
    output: int
    limits: Limits
    is_full: Callable[[], bool]
    _tail: bytes = field(default=b"", init=False)

    def __post_init__(self) -> None:
        self.clock = _Clock(self.limits.load_seconds)

    def open_selector(self) -> selectors.BaseSelector:
        """Of the channel and the output, each with the function that reads it and says whether it goes on."""
        selector = selectors.DefaultSelector()
        selector.register(self.channel, selectors.EVENT_READ, self._read_messages)
        selector.register(self.output, selectors.EVENT_READ, self._read_output)
        return selector

    def _read_output(self) -> bool:
        data = os.read(self.output, 1 << 16)
        self._tail = (self._tail + data)[-4 * _KEPT_OUTPUT :]
        return bool(data)

    def _read_messages(self) -> bool:
        data = os.read(self.channel, 1 << 16)
        for message in self.observation.messages.feed(data):
            self.on_message(message)
        return bool(data)

    def on_message(self, message: dict[str, Any]) -> None:
        if message["kind"] == "collected":
            self.clock.enter(self.limits.test_seconds, self.clock.process)

    def measure(self, processes: list[int]) -> None:
        """Record the use of a process tree and whether it exceeds a limit."""
        seen, limits = self.observation, self.limits
        if len(processes) > limits.processes:  # first, since the memory of a fork bomb takes long to read
            seen.stopped_for = "processes"
            return
        resident = memory_mb(processes, limits.memory_mb)
        seen.memory_mb = max(seen.memory_mb, resident)
        if resident > limits.memory_mb or self.is_full():
            seen.stopped_for = "memory"
        elif self.clock.is_over():
            seen.stopped_for = "timeout"

    def finish(self, began: float) -> None:
        check_stop()
        self.observation.seconds = time.monotonic() - began
        self.observation.output = self._tail[-_KEPT_OUTPUT:].decode(errors="replace")


def read_ready(selector: selectors.BaseSelector, seconds: float) -> None:
    """Read what is ready, and forget what has ended."""
    for key, _ in selector.select(seconds):
        if not key.data():
            selector.unregister(key.fileobj)


Listen = Callable[[dict[str, Any]], bool]
"""Receives each message as it comes; the result says whether to go on."""


def supervise(
    confinement: Sandbox,
    cell: Cell,
    job: dict[str, Any],
    listen: Listen | None = None,
    connection: socket.socket | None = None,
) -> Observation:
    """Run one candidate in its own sandbox, from start to end.

    `listen`: receives the messages, which are not kept. Every message then begins a new limit: the limit of tests
    applies to one test, and the limit of loading to all that comes between two of them. `connection`: to another
    sandbox.
    """
    observation = Observation()
    observation.messages.keeps = listen is None
    reading, writing = os.pipe()
    with borrow_group() as group:
        is_full = prepare_group(group, cell.limits)
        try:
            content = {"mode": "fresh", "secret": observation.messages.secret.hex()} | job
            process = start(confinement, cell, writing, content, group=group, connection=connection)
        finally:
            os.close(writing)
        assert process.stdout is not None
        watch = _ProcessWatch(observation, reading, process.stdout.fileno(), cell.limits, is_full, process, listen)
        try:
            watch.run()
        finally:
            watch.close()
        if is_full():
            observation.stopped_for = "memory"
    return observation


@dataclass
class _ProcessWatch(Watch):
    process: "subprocess.Popen[bytes]"
    listen: Listen | None
    family: set[int] = field(default_factory=set)

    def run(self) -> None:
        began = time.monotonic()
        with self.open_selector() as selector:
            measured = 0.0
            ended_at: float | None = None
            while True:
                read_ready(selector, 0.02)
                now = time.monotonic()
                if ended_at is None and self._has_ended():
                    ended_at = now
                # a descendant that keeps the pipes open is killed below; its last output is not awaited
                if ended_at is not None and (not selector.get_map() or now - ended_at > 0.2):
                    break
                if ended_at is None and now - measured > POLL_SECONDS:
                    measured = now
                    self.measure(find_descendants(self.process.pid, self.limits.processes))
                if self.observation.stopped_for or self.observation.messages.forged or is_stopping():
                    break
        self._end()
        self.finish(began)

    def on_message(self, message: dict[str, Any]) -> None:
        kind = message["kind"]
        if kind == "ready":
            found = find_descendants(self.process.pid)
            self.family = set(found) - {self.process.pid}
            self.clock.enter(self.limits.load_seconds, found[-1])
        if kind in {"collected", "begins"}:
            self.clock.enter(self.limits.test_seconds, self.clock.process)
        if self.listen is None:
            return
        if kind not in {"ready", "begins"}:
            self.clock.enter(self.limits.load_seconds, self.clock.process)
        if not self.listen(message):
            self.observation.stopped_for = "enough"

    def _has_ended(self) -> bool:
        if self.observation.exit_code is not None:
            return True
        # not Popen.poll, which would discard the memory usage
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if pid == 0:
            return False
        self.observation.exit_code = self.process.returncode = os.waitstatus_to_exitcode(status)
        self.observation.memory_mb = max(self.observation.memory_mb, usage.ru_maxrss / 1024)
        return True

    def _end(self) -> None:
        """No verdict is given while anything of the candidate still runs."""
        end_tree(self.process.pid, self.family, self._has_ended)

    def close(self) -> None:
        if self.observation.exit_code is None:
            self._end()
        os.close(self.channel)
        for pipe in filter(None, (self.process.stdin, self.process.stdout)):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
