"""What lives on a node: one seat, as the local pool has them, and what it takes to get it ready.

An actor of Ray. Everything that has a say in a verdict is the node's own and chosen by the same code as anywhere: its
sandbox, its copy of the engine, its fixed environment. What Ray does to its processes is undone first.
"""

import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dlbench import __version__
from dlbench.errors import DLBenchError
from dlbench.execution.candidate import Engine
from dlbench.execution.cgroups import remove_groups
from dlbench.execution.cluster.parcel import Parcel, Part, finish, settle, take_in
from dlbench.execution.confinement import choose_confinement, remove_leftovers
from dlbench.execution.confinement.cell import inside_key
from dlbench.execution.limits import Limits
from dlbench.execution.seat import Keeping, LocalSeat
from dlbench.execution.warm import Warm
from dlbench.workspace import Prepared


@dataclass(frozen=True)
class Greeting:
    node: str
    key: str
    refusal: str = ""
    """Why nothing can be judged there."""


@dataclass(frozen=True)
class Readiness:
    """Of one project: what must be sent, each with the reason; or why it cannot be had at all."""

    missing: dict[Part, str]
    refusal: str = ""


@dataclass(frozen=True)
class Receipt:
    is_new: bool
    """Whether it was unpacked; another seat of the node may have been faster."""
    refusal: str = ""


@dataclass(frozen=True)
class Answer:
    """What came of one question, and how the seat stands after it."""

    result: Any
    projects: tuple[str, ...]
    used_mb: float
    error: str = ""


def make_key() -> str:
    """The same on two machines whose engines judge alike."""
    return f"dlbench {__version__}, engine {inside_key()}"


class Host:
    def open(self, sandbox: str, limits: Limits, keeping: Keeping[Warm]) -> Greeting:
        _undo_ray()
        node = socket.gethostname()
        try:
            remove_leftovers()
            engine = Engine(choose_confinement(sandbox), limits)
        except DLBenchError as error:
            return Greeting(node, make_key(), str(error))
        self.prepared: dict[str, Prepared] = {}
        self.seat = LocalSeat(engine, self.prepared, keeping, lambda: self.seat.used_mb)
        return Greeting(node, make_key())

    def prepare(self, parcel: Parcel) -> Readiness:
        try:
            missing = settle(parcel)
            if not missing:
                self.prepared[parcel.project.name] = finish(parcel)
            return Readiness(missing)
        except DLBenchError as error:
            return Readiness({}, str(error))

    def receive(self, parcel: Parcel, part: Part, pieces: list[Any]) -> Receipt:
        try:
            return Receipt(take_in(parcel, part, lambda: _fetch(pieces)))
        except DLBenchError as error:
            return Receipt(False, str(error))

    def ask(self, project: str, function: Callable[[Any, Any], Any], item: object) -> Answer:
        result, told = None, ""
        try:
            result = self.seat.ask(project, function, item)
        except Exception as error:  # its type may not exist where the answer is read
            told = f"{type(error).__name__}: {error}"
        return Answer(result, tuple(self.seat.projects), self.seat.used_mb, told)

    def close(self) -> None:
        self.seat.close()
        remove_groups()


def _fetch(pieces: list[Any]) -> Iterator[bytes]:
    import ray

    for piece in pieces:
        yield ray.get(piece)


def _undo_ray() -> None:
    """Ray's processes never see Ctrl-C; a candidate's tests may well want to, and would inherit it."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
