"""How is a warm worker kept, and how is one candidate watched in it?

A worker is a sandbox for one project that has imported what is heavy. It forks a server for an instance, and the server
a child for each candidate; all of them are inside, and only this side counts their time, memory and processes. One
candidate runs at a time. A worker that does not answer, or whose server died, is ended whole, with everything in it.
"""

import array
import contextlib
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from dlbench.execution.engine import Engine
from dlbench.execution.launch import describe_limits, start
from dlbench.execution.limits import Limits
from dlbench.execution.processes import borrow_group, find_descendants, is_alive, memory_mb
from dlbench.execution.sandbox import open_cell
from dlbench.execution.supervise import (
    KEPT_OUTPUT,
    LOOK_EVERY,
    PATIENCE,
    Clock,
    Interrupted,
    Observation,
    prepare_group,
    under_way,
    wait_until,
)
from dlbench.workspace import Prepared

_CREDENTIALS = struct.Struct("3i")


class WorkerLost(Exception):
    """The worker, or a server of it, is gone or does not answer."""


class Control:
    """Our end of a conversation with a process inside: objects go in, lines come out, each with who spoke."""

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.buffers: dict[int, bytes] = {}
        self.is_stopped = False

    def fileno(self) -> int:
        return self.ours.fileno()

    def send(self, content: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
        body = json.dumps(content).encode()
        header = struct.pack("=Q", len(body))
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        try:
            self.ours.sendmsg([header], rights)
            self.ours.sendall(body)
        except OSError as error:
            raise WorkerLost(f"it does not listen ({error})") from None

    def interrupt(self) -> None:
        """The candidate that runs has had its time; one that has just ended does not mind."""
        with contextlib.suppress(WorkerLost):
            self.send({"stop": True})

    def receive(self) -> list[dict[str, Any]]:
        """What has arrived, each message with its sender's process id as we see it; empty at the end."""
        try:
            data, extra, _, _ = self.ours.recvmsg(1 << 16, socket.CMSG_SPACE(_CREDENTIALS.size) + 64)
        except OSError as error:
            raise WorkerLost(f"it cannot be heard ({error})") from None
        if not data:
            raise WorkerLost("it ended")
        pid = 0
        for _, kind, content in extra:
            if kind == socket.SCM_CREDENTIALS:
                pid = _CREDENTIALS.unpack(content[: _CREDENTIALS.size])[0]
        *lines, rest = (self.buffers.get(pid, b"") + data).split(b"\n")
        self.buffers[pid] = rest
        return [json.loads(line) | {"pid": pid} for line in lines]

    def wait_for(self, kinds: set[str], seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        with under_way(self), selectors.DefaultSelector() as selector:
            selector.register(self.ours, selectors.EVENT_READ)
            while time.monotonic() < deadline:
                for _ in selector.select(timeout=LOOK_EVERY):
                    for message in self.receive():
                        if message["kind"] in kinds:
                            return message
                if self.is_stopped:
                    raise Interrupted
        raise WorkerLost(f"it did not answer within {seconds:.0f} s")

    def close(self) -> None:
        self.ours.close()
        self.theirs.close()


class Worker:
    """One sandbox of one project."""

    def __init__(self, engine: Engine, prepared: Prepared, preload: list[str], work: str = "candidates") -> None:
        self.engine = engine
        self.prepared = prepared
        self.servers: dict[str, Server] = {}
        self.is_lost = False
        self._exits = ExitStack()
        self.control = Control()
        self.project: Control | None = None
        self.group = self._exits.enter_context(borrow_group())
        cell = self._exits.enter_context(open_cell(prepared, None, None, engine.limits))
        job = {"mode": "warm", "work": work, "preload": preload}
        # a file: nobody reads a worker's output while it works, and a full pipe would stop it
        self._output = self._exits.enter_context((cell.folder / "output").open("w+b"))
        self.process: subprocess.Popen[bytes] = start(
            engine.confinement, cell, self.control.theirs.fileno(), job, output=self._output.fileno()
        )
        self.control.theirs.close()
        self.family = {self.process.pid}
        try:
            self.ready = self.control.wait_for({"ready"}, engine.limits.load_seconds)
        except WorkerLost as error:
            output = self._last_words()
            self.close()
            raise WorkerLost(f"{error}: {output}") from None
        except Interrupted:
            self.close()
            raise
        if engine.confinement.confines and (self.ready["network"] or self.ready["user"] == 0):
            self.close()
            raise WorkerLost(f"the sandbox {engine.confinement.name} does not confine: {self.ready}")

    def open(self, name: str, job: dict[str, Any], above: Control | None = None) -> "Server":
        """The server of this name, started if it is not there; raises Refused when the instance cannot be served.

        `above`: who forks it, if not the worker itself.
        """
        if name not in self.servers:
            control, pid = self._ask(self.control if above is None else above, job)
            self.servers[name] = Server(self, control, pid)
            if self.group is not None:  # its children are counted from their birth
                self.group.add(pid)
        return self.servers[name]

    def open_project(self, own: tuple[str, ...]) -> Control:
        """The process that has imported these modules of the project, from which servers can be opened."""
        if self.project is None:
            self.project, _ = self._ask(self.control, {"serve": "project", "own": list(own)})
        return self.project

    def _ask(self, above: Control, job: dict[str, Any]) -> tuple[Control, int]:
        control = Control()
        try:
            above.send(job, (control.theirs.fileno(),))
            control.theirs.close()
            answer = control.wait_for({"open", "failed"}, self.engine.limits.load_seconds)
        except WorkerLost as error:
            control.close()
            self.is_lost = True
            raise WorkerLost(f"{error}: {self._last_words()}") from None
        if answer["kind"] == "failed":
            control.close()
            raise CannotServe(answer["why"])
        return control, answer["pid"]

    def close_server(self, name: str) -> None:
        server = self.servers.pop(name, None)
        if server is not None:
            server.control.close()

    def memory_mb(self) -> float:
        return memory_mb(find_descendants(self.process.pid), 0.0)

    def _last_words(self) -> str:
        self._output.seek(0)
        return self._output.read().decode(errors="replace")[-2000:]

    def close(self) -> None:
        self.is_lost = True
        for server in self.servers.values():
            server.control.close()
        self.servers.clear()
        for control in (self.control, self.project):
            if control is not None:
                control.close()
        self.family |= set(find_descendants(self.process.pid))
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGTERM)
            wait_until(lambda: self.process.poll() is not None)
            for pid in self.family if self.process.poll() is None else ():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        wait_until(lambda: self.process.poll() is not None and not any(map(is_alive, self.family)))
        self._exits.close()


class CannotServe(Exception):
    """The instance cannot be served in this way; the reason is the message."""


@dataclass
class Server:
    """The process that holds an instance's tests, or nothing of the project, and forks for each candidate."""

    worker: Worker
    control: Control
    pid: int

    def run(self, job: dict[str, Any], limits: Limits, *, imports: bool) -> Observation:
        """One candidate. `imports`: its child imports the project first, under that limit."""
        seen = Observation(mode="imported" if imports else "in_place")
        reading, writing = os.pipe()
        output_reading, output_writing = os.pipe()
        is_full = prepare_group(self.worker.group, limits)
        watch = _Watch(self, seen, reading, output_reading, limits, is_full, imports=imports)
        content = job | {"secret": seen.messages.secret.hex(), "limits": describe_limits(limits)}
        try:
            try:
                self.control.send(content, (writing, output_writing))
            finally:
                for descriptor in (writing, output_writing):
                    os.close(descriptor)
            with under_way(watch):
                watch.run()
        except WorkerLost as error:
            self.worker.is_lost = True
            seen.lost = str(error)
        finally:
            for descriptor in (reading, output_reading):
                os.close(descriptor)
        if is_full():
            # while the kernel ends a process for want of memory, it may end its server too: that is no fault of ours
            seen.stopped_for, seen.lost = "memory", ""
        return seen


class _Watch:
    def __init__(
        self,
        server: Server,
        seen: Observation,
        channel: int,
        output: int,
        limits: Limits,
        is_full: Callable[[], bool],
        *,
        imports: bool,
    ) -> None:
        self.is_full = is_full
        self.server, self.seen, self.limits = server, seen, limits
        self.channel, self.output = channel, output
        self.kept = b""
        self.is_stopped = False
        self.is_done = False
        self.stopped_at = 0.0
        self.clock = Clock(limits)
        if not imports:
            self.clock.enter(limits.test_seconds, None)
        seen.messages.taken.append(server.worker.ready)

    def run(self) -> None:
        began = looked = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self.server.control.ours, selectors.EVENT_READ, self._take_control)
            selector.register(self.channel, selectors.EVENT_READ, self._take_messages)
            selector.register(self.output, selectors.EVENT_READ, self._take_output)
            while True:
                for key, _ in selector.select(timeout=LOOK_EVERY):
                    if not key.data():
                        selector.unregister(key.fileobj)
                # its pipes end with the last process that could write on them
                if self.is_done and len(selector.get_map()) == 1:
                    break
                now = time.monotonic()
                if now - looked > LOOK_EVERY and not self.is_done:
                    looked = now
                    self._look(now)
        if self.is_stopped:
            raise Interrupted
        self.seen.seconds = time.monotonic() - began
        self.seen.output = self.kept[-KEPT_OUTPUT:].decode(errors="replace")

    def _take_control(self) -> bool:
        for message in self.server.control.receive():
            if message["kind"] == "child":
                self.clock.process = message["pid"]
            elif message["kind"] == "failed":
                raise WorkerLost(message["why"])
            elif message["kind"] == "done":
                self.is_done = True
                self.seen.exit_code = message["exit_code"]
                self.seen.memory_mb = max(self.seen.memory_mb, message["peak_kb"] / 1024)
        return True

    def _take_messages(self) -> bool:
        data = os.read(self.channel, 1 << 16)
        for message in self.seen.messages.feed(data):
            if message["kind"] == "collected":
                self.clock.enter(self.limits.test_seconds, self.clock.process)
        if self.seen.messages.forged:
            self._stop()
        return bool(data)

    def _take_output(self) -> bool:
        data = os.read(self.output, 1 << 16)
        self.kept = (self.kept + data)[-4 * KEPT_OUTPUT :]
        return bool(data)

    def _look(self, now: float) -> None:
        if self.stopped_at:
            if now - self.stopped_at > PATIENCE / 3:
                raise WorkerLost("what a candidate left does not end")
            return
        if self.is_stopped:
            self._stop()
            return
        if self.clock.is_over():
            self.seen.stopped_for = "timeout"
        processes = [pid for pid in find_descendants(self.server.pid) if pid != self.server.pid]
        self.seen.count(processes, self.limits, self.is_full)
        if self.seen.stopped_for:
            self._stop()

    def _stop(self) -> None:
        if not self.stopped_at:
            self.stopped_at = time.monotonic()
            self.server.control.interrupt()
