"""Run the reference and a candidate in children of one server, and read their processor time from outside.

The kernel tells who wrote each message of the handshake, and the clock of that process: what the candidate does to
clocks inside does not matter. A child ends before the next one starts.
"""

import ast
import contextlib
import os
import secrets
import select
import signal
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from dlbench.dataset import Instance
from dlbench.execution.engine import Candidate, Engine
from dlbench.execution.inside.extra.timed import (
    CANDIDATE,
    PROFILE_CANDIDATE,
    PROFILE_REFERENCE,
    REFERENCE,
    TOKEN,
    WARM_UP,
)
from dlbench.execution.inside.remote import Peer
from dlbench.execution.launch import describe_candidate, describe_instance
from dlbench.execution.limits import Limits
from dlbench.execution.plus.compare import Answer
from dlbench.execution.plus.nodes import Data, Node
from dlbench.execution.plus.session import connect
from dlbench.execution.processes import is_alive, is_running
from dlbench.execution.sandbox import open_cell
from dlbench.execution.supervise import Observation, supervise
from dlbench.workspace import Prepared

_SESSION_SECONDS = 1200.0
_CALL_SECONDS, _START_SECONDS, _WARM_UP_SECONDS, _PAUSE_SECONDS = 60.0, 240.0, 60.0, 30.0
_CREDENTIALS = struct.Struct("3i")


@dataclass(frozen=True)
class Run:
    """One call, or several that were measured together."""

    answer: Answer
    seconds: float
    """Processor time of all threads during the call."""
    besides: float
    """The same of the rest of the process's life: importing the module, reading the arguments, writing the answer."""


class _Ended(Exception):
    """The process did not do what it should."""


@contextlib.contextmanager
def open_family(engine: Engine, prepared: Prepared, instance: Instance, candidate: Candidate) -> Iterator["Family"]:
    """A server for the reference and one candidate."""
    reference = engine.target(prepared, instance).reference
    job = describe_instance(prepared, instance, hides=True, shows_module=True) | describe_candidate()
    job |= {"mode": "timed", "sources": [one.spliced.source for one in (reference, candidate)]}
    job |= {"ranges": [one.spliced.ranges for one in (reference, candidate)], "imports": _list_imports(candidate)}
    job["lines"] = engine.target(prepared, instance).lines
    limits = engine.limits.within(_SESSION_SECONDS)
    with connect(partial(_serve, engine, prepared, job, limits)) as peer:
        family = Family(peer)
        with family.socket:
            yield family


def _list_imports(candidate: Candidate) -> list[str]:
    """The modules that an answer imports, and what could be one."""
    nodes = [node for piece in candidate.pieces for node in ast.walk(piece.tree)]
    plain = [one.name for node in nodes if isinstance(node, ast.Import) for one in node.names]
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return [
        *plain,
        *(str(node.module) for node in froms),
        *(f"{node.module}.{one.name}" for node in froms for one in node.names),
    ]


def _serve(
    engine: Engine, prepared: Prepared, job: dict[str, object], limits: Limits, connection: socket.socket
) -> Observation:
    with open_cell(prepared, None, None, limits) as cell:
        return supervise(engine.confinement, cell, job | {"calls": connection.fileno()}, connection=connection)


class Family:
    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.socket = socket.socket(fileno=os.dup(peer.descriptor))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.patience = _START_SECONDS
        self.has_failed = False
        """Whether a process did something else than answer; what follows may be disturbed."""

    def warm_up(self, message: Data) -> None:
        """Let the reference run in the server. It may fail there, which costs only a slower first call."""
        with contextlib.suppress(_Ended):
            token = self._request(WARM_UP, message)
            self._expect(token)
        self.patience = _WARM_UP_SECONDS

    def run(self, message: Data, *, is_candidate: bool) -> Run:
        """What one side answers. Whatever its process does, nothing fails here."""
        process = 0
        try:
            token = self._request(CANDIDATE if is_candidate else REFERENCE, message)
            process = self._expect(token)
            began = _read_clock(process)
            self.socket.sendall(b"g")
            self.patience = _CALL_SECONDS
            if self._expect(token) != process:
                raise _Ended("another process answers")
            ended = _read_clock(process)
            self.socket.sendall(b"g")
            node, changed, blobs = self._receive(token)
            total = _read_clock(process)
            answer = Answer(Data(node, blobs), changed)
            return Run(answer, ended - began, total - (ended - began))
        except Exception as error:  # a candidate chooses what it sends
            self.has_failed = True
            return Run(Answer.none(str(error) or type(error).__name__), 1.0, 0.0)
        finally:
            _end(process)

    def profile(self, message: Data, *, is_candidate: bool) -> dict[str, int] | None:
        """Memory in bytes, and counts of torch's operators; None if the process does not tell."""
        try:
            token = self._request(PROFILE_CANDIDATE if is_candidate else PROFILE_REFERENCE, message)
            match self._receive(token)[0]:
                case ["new", _, ["dict", _, _, list(pairs)]]:
                    self.socket.sendall(b"g")
                    return {str(name): int(count) for name, count in pairs}
        except Exception:  # a candidate chooses what it sends
            self.has_failed = True
        return None

    def _request(self, kind: bytes, message: Data) -> bytes:
        token = secrets.token_bytes(TOKEN)
        try:
            self.socket.sendall(kind + token)
            self.peer.send("call", (message.node, [], message.blobs))
        except OSError:
            raise _Ended("the process has ended") from None
        return token

    def _expect(self, token: bytes) -> int:
        """The process that wrote the token."""
        data, process = b"", 0
        while len(data) < TOKEN:
            self._wait()
            part, ancillary, _, _ = self.socket.recvmsg(TOKEN - len(data), socket.CMSG_SPACE(_CREDENTIALS.size))
            if not part:
                raise _Ended("the process has ended")
            data += part
            for level, kind, content in ancillary:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                    process = _CREDENTIALS.unpack(content)[0]
        if data != token:
            raise _Ended("a message of another form")
        return process

    def _receive(self, token: bytes) -> tuple[Node, list[Node], list[bytes]]:
        self._wait()
        kind, (node, changed, blobs) = self.peer.receive()
        if kind != token.hex():
            raise _Ended("a message of another form")
        return node, changed, blobs

    def _wait(self) -> None:
        if not select.select([self.socket], [], [], self.patience)[0]:
            raise _Ended(f"no answer within {self.patience:.0f} s")


def _read_clock(process: int) -> float:
    """Processor time of a process that waits for us, with all its threads, also those that have ended. The kernel adds
    to it when a process is taken off its core: until then, what it did last is missing."""
    last = time.monotonic() + _PAUSE_SECONDS
    while is_running(process):
        if time.monotonic() > last:
            raise _Ended("it does not wait for the signal")
        time.sleep(0.0002)
    return time.clock_gettime((~process << 3) | 2)


def _end(process: int) -> None:
    if process > 1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        while is_alive(process):
            time.sleep(0.0005)
