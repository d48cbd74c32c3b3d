"""Keep a warm worker of one project, and watch one candidate at a time in it.

A worker is a sandbox that has imported the heavy modules. It forks a server for each instance, and the server forks a
child for each candidate. Only this side measures time, memory and processes. A worker that does not answer, or whose
server died, is ended with everything in it.
"""

import array
import contextlib
import json
import os
import selectors
import socket
import struct
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from dlbench.execution.engine import Engine
from dlbench.execution.launch import describe_limits, start
from dlbench.execution.limits import Limits
from dlbench.execution.processes import PATIENCE, borrow_group, end_tree, find_descendants, memory_mb
from dlbench.execution.sandbox import open_cell
from dlbench.execution.supervise import (
    POLL_SECONDS,
    Interrupted,
    Observation,
    Watch,
    check_stop,
    is_stopping,
    prepare_group,
    read_ready,
)
from dlbench.workspace import Prepared

_CREDENTIALS = struct.Struct("3i")


class WorkerLost(Exception):
    """The worker or one of its servers is gone or does not answer."""


class Control:
    """The control channel to a process inside: it sends objects, and receives lines with the id of their sender."""

    def __init__(self) -> None:
        self.parent_socket, self.child_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.parent_socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.buffers: dict[int, bytes] = {}

    def send(self, content: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
        body = json.dumps(content).encode()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        try:
            self.parent_socket.sendmsg([struct.pack("=Q", len(body))], rights)
            self.parent_socket.sendall(body)
        except OSError as error:
            raise WorkerLost(f"the worker cannot be written to ({error})") from None

    def receive(self) -> list[dict[str, Any]]:
        """The messages that arrived, each with the process id of its sender as seen from this side."""
        try:
            data, extra, _, _ = self.parent_socket.recvmsg(1 << 16, socket.CMSG_SPACE(_CREDENTIALS.size) + 64)
        except OSError as error:
            raise WorkerLost(f"the worker cannot be read from ({error})") from None
        if not data:
            raise WorkerLost("the worker ended")
        sent = (content for _, kind, content in extra if kind == socket.SCM_CREDENTIALS)
        pid, _, _ = _CREDENTIALS.unpack(next(sent, bytes(_CREDENTIALS.size))[: _CREDENTIALS.size])
        *lines, rest = (self.buffers.get(pid, b"") + data).split(b"\n")
        self.buffers[pid] = rest
        return [json.loads(line) | {"pid": pid} for line in lines]

    def wait_for(self, kinds: set[str], seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.parent_socket, selectors.EVENT_READ)
            while time.monotonic() < deadline:
                for _ in selector.select(timeout=POLL_SECONDS):
                    for message in self.receive():
                        if message["kind"] in kinds:
                            return message
                check_stop()
        raise WorkerLost(f"the worker did not answer within {seconds:.0f} s")

    def close(self) -> None:
        self.parent_socket.close()
        self.child_socket.close()


class Worker:
    """One sandbox of one project."""

    def __init__(self, engine: Engine, prepared: Prepared, preload: list[str], work: str = "candidates") -> None:
        self.engine = engine
        self.servers: dict[str, Server] = {}
        self.is_lost = False
        self._exits = ExitStack()
        self.control = Control()
        self.project: Control | None = None
        self.group = self._exits.enter_context(borrow_group())
        cell = self._exits.enter_context(open_cell(prepared, None, None, engine.limits))
        job = {"mode": "warm", "work": work, "preload": preload}
        # a file: nobody reads the output while the worker runs, and a full pipe would block it
        self._output = self._exits.enter_context((cell.folder / "output").open("w+b"))
        self.process: subprocess.Popen[bytes] = start(
            engine.confinement, cell, self.control.child_socket.fileno(), job, output=self._output.fileno()
        )
        self.control.child_socket.close()
        try:
            self.ready = self.control.wait_for({"ready"}, engine.limits.load_seconds)
        except WorkerLost as error:
            output = self._read_output()
            self.close()
            raise WorkerLost(f"{error}: {output}") from None
        except Interrupted:
            self.close()
            raise
        if engine.confinement.confines and (self.ready["network"] or self.ready["user"] == 0):
            self.close()
            raise WorkerLost(f"the sandbox {engine.confinement.name} does not confine: {self.ready}")

    def open(self, name: str, job: dict[str, Any], above: Control | None = None) -> "Server":
        """The server of this name, started on first use by `above`, or by the worker itself; raises CannotServe if the
        instance cannot be served."""
        if name not in self.servers:
            control, pid = self._open_channel(self.control if above is None else above, job)
            self.servers[name] = Server(self, control, pid)
            if self.group is not None:  # its children are counted from their start
                self.group.add(pid)
        return self.servers[name]

    def preload(self, modules: tuple[str, ...]) -> None:
        """Import more modules in the worker itself; its servers of earlier are not affected."""
        self._open_channel(self.control, {"serve": "preload", "modules": list(modules)})[0].close()

    def open_project(self, own: tuple[str, ...]) -> Control:
        """The process that has imported these modules of the project and can fork servers."""
        if self.project is None:
            self.project, _ = self._open_channel(self.control, {"serve": "project", "own": list(own)})
        return self.project

    def _open_channel(self, above: Control, job: dict[str, Any]) -> tuple[Control, int]:
        control = Control()
        try:
            above.send(job, (control.child_socket.fileno(),))
            control.child_socket.close()
            answer = control.wait_for({"open", "failed"}, self.engine.limits.load_seconds)
        except WorkerLost as error:
            control.close()
            self.is_lost = True
            raise WorkerLost(f"{error}: {self._read_output()}") from None
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

    def _read_output(self) -> str:
        self._output.seek(0)
        return self._output.read().decode(errors="replace")[-2000:]

    def close(self) -> None:
        self.is_lost = True
        for control in (*(server.control for server in self.servers.values()), self.control, self.project):
            if control is not None:
                control.close()
        self.servers.clear()
        end_tree(self.process.pid, {self.process.pid}, lambda: self.process.poll() is not None)
        self._exits.close()


class CannotServe(Exception):
    """The instance cannot be served by this route; the message is the reason."""


@dataclass
class Server:
    """The process that holds an instance's collected tests, or nothing of the project, and forks for each candidate."""

    worker: Worker
    control: Control
    pid: int

    def run(
        self, job: dict[str, Any], limits: Limits, *, imports: bool, connection: socket.socket | None = None
    ) -> Observation:
        """Run one candidate; raises WorkerLost if the server is gone. `imports`: its child imports the project first,
        within the limit of loading. `connection`: to another worker."""
        observation = Observation(mode="imported" if imports else "in_place")
        reading, writing = os.pipe()
        output_reading, output_writing = os.pipe()
        is_full = prepare_group(self.worker.group, limits)
        watch = _ChildWatch(observation, reading, output_reading, limits, is_full, self)
        if not imports:
            watch.clock.enter(limits.test_seconds, None)
        observation.messages.taken.append(self.worker.ready)
        content = job | {"secret": observation.messages.secret.hex(), "limits": describe_limits(limits)}
        try:
            try:
                others = (connection.fileno(),) if connection is not None else ()
                self.control.send(content, (writing, output_writing, *others))
            finally:
                os.close(writing)
                os.close(output_writing)
            watch.run()
        except WorkerLost:
            self.worker.is_lost = True
            if not is_full():  # when the kernel kills a process for lack of memory, it may kill the server too
                raise
        finally:
            os.close(reading)
            os.close(output_reading)
        if is_full():
            observation.stopped_for = "memory"
        return observation


@dataclass
class _ChildWatch(Watch):
    server: Server
    is_done: bool = False
    stopped_at: float = 0.0

    def run(self) -> None:
        began = measured = time.monotonic()
        with self.open_selector() as selector:
            selector.register(self.server.control.parent_socket, selectors.EVENT_READ, self._read_control)
            while True:
                read_ready(selector, POLL_SECONDS)
                # the pipes end with the last process that holds them
                if self.is_done and len(selector.get_map()) == 1:
                    break
                if self.observation.messages.forged:
                    self._stop()
                now = time.monotonic()
                if now - measured > POLL_SECONDS and not self.is_done:
                    measured = now
                    self._check_limits(now)
        self.finish(began)

    def _read_control(self) -> bool:
        for message in self.server.control.receive():
            if message["kind"] == "child":
                self.clock.process = message["pid"]
            elif message["kind"] == "failed":
                raise WorkerLost(message["why"])
            elif message["kind"] == "done":
                self.is_done = True
                self.observation.exit_code = message["exit_code"]
                self.observation.memory_mb = max(self.observation.memory_mb, message["peak_kb"] / 1024)
        return True

    def _check_limits(self, now: float) -> None:
        if self.stopped_at:
            if now - self.stopped_at > PATIENCE / 3:
                raise WorkerLost("processes of a candidate do not end")
            return
        if not is_stopping():
            family = find_descendants(self.server.pid, self.limits.processes + 1)
            self.measure([pid for pid in family if pid != self.server.pid])
        if self.observation.stopped_for or is_stopping():
            self._stop()

    def _stop(self) -> None:
        if not self.stopped_at:
            self.stopped_at = time.monotonic()
            with contextlib.suppress(WorkerLost):
                self.server.control.send({"stop": True})  # without effect if it has just ended
