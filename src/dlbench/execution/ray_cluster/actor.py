"""What lives on a node: one seat, as the local pool has them, and what it takes to get it ready.

An actor of Ray. Everything that has a say in a verdict is the node's own and chosen by the same code as anywhere: its
sandbox, its copy of the engine, its fixed environment. What Ray does to its processes is undone first.

How does a thread of the driver work at a seat that may be gone at any moment?

It asks and waits. A host that is lost (its node died, its memory was taken) costs the question another try on another
host; a question that loses several is given up, in words. While there is no place for a new host the thread waits for
one, as long as any other seat is at work; when there is none for long, the run ends and can go on later.
"""

import signal
import socket
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, cast

from dlbench import __version__
from dlbench.errors import DLBenchError
from dlbench.execution.engine import Engine
from dlbench.execution.judge import Warm
from dlbench.execution.limits import Limits
from dlbench.execution.processes import remove_groups
from dlbench.execution.ray_cluster.transfer import (
    Part,
    ProjectBundle,
    complete_bundle,
    describe,
    prepare_locally,
    receive_part,
)
from dlbench.execution.sandbox import choose_confinement, remove_leftovers
from dlbench.execution.sandbox.base import inside_key
from dlbench.execution.supervise import Interrupted, under_way
from dlbench.execution.worker_cache import CachePolicy, Held, Item, LocalWorkerCache, NoWorkerAvailable, Result
from dlbench.workspace import Prepared

if TYPE_CHECKING:
    from dlbench.execution.ray_cluster.executor import RayExecutor


@dataclass(frozen=True)
class ActorInfo:
    node: str
    key: str
    refusal: str = ""
    """Why nothing can be judged there."""


@dataclass(frozen=True)
class PrepareReply:
    """Of one project: what must be sent, each with the reason; or why it cannot be had at all."""

    missing: dict[Part, str]
    refusal: str = ""


@dataclass(frozen=True)
class ReceiveReply:
    is_new: bool
    """Whether it was unpacked; another seat of the node may have been faster."""
    refusal: str = ""


@dataclass(frozen=True)
class TaskReply:
    """What came of one question, and how the seat stands after it."""

    result: Any
    projects: tuple[str, ...]
    used_mb: float
    error: str = ""


def make_key() -> str:
    """The same on two machines whose engines judge alike."""
    return f"dlbench {__version__}, engine {inside_key()}"


class WorkerActor:
    def open(self, sandbox: str, limits: Limits, keeping: CachePolicy[Warm]) -> ActorInfo:
        _undo_ray()
        node = socket.gethostname()
        try:
            remove_leftovers()
            engine = Engine(choose_confinement(sandbox), limits)
        except DLBenchError as error:
            return ActorInfo(node, make_key(), str(error))
        self.prepared: dict[str, Prepared] = {}
        self.seat = LocalWorkerCache(engine, self.prepared, keeping, lambda: self.seat.used_mb)
        return ActorInfo(node, make_key())

    def prepare(self, parcel: ProjectBundle) -> PrepareReply:
        try:
            missing = prepare_locally(parcel)
            if not missing:
                self.prepared[parcel.project.name] = complete_bundle(parcel)
            return PrepareReply(missing)
        except DLBenchError as error:
            return PrepareReply({}, str(error))

    def receive(self, parcel: ProjectBundle, part: Part, pieces: list[Any]) -> ReceiveReply:
        try:
            return ReceiveReply(receive_part(parcel, part, lambda: _fetch(pieces)))
        except DLBenchError as error:
            return ReceiveReply(False, str(error))

    def ask(self, project: str, function: Callable[[Any, Any], Any], item: object) -> TaskReply:
        result, told = None, ""
        try:
            result = self.seat.ask(project, function, item)
        except Exception as error:  # its type may not exist where the answer is read
            told = f"{type(error).__name__}: {error}"
        return TaskReply(result, tuple(self.seat.projects), self.seat.used_mb, told)

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


_ATTEMPTS = 3
_LOOK_SECONDS = 0.5
_FAREWELL_SECONDS = 20.0
_NOWHERE = "before it was opened"


class RemoteTaskError(Exception):
    """A question got no answer; the reason is the message."""


class RemoteWorkerCache(Generic[Held]):
    def __init__(
        self, seats: "RayExecutor", engine: Engine, prepared: Mapping[str, Prepared], keeping: CachePolicy[Held]
    ) -> None:
        self.seats, self.engine, self.prepared, self.keeping = seats, engine, prepared, keeping
        self.projects: Collection[str] = ()
        self.used_mb = 0.0
        self.node = ""
        self.is_stopped = False
        self._host: Any = None
        self._ready: set[str] = set()

    def ask(self, project: str, function: Callable[[Held, Item], Result], item: Item) -> Result:
        from ray.exceptions import RayError, RayTaskError

        losses: list[str] = []
        with under_way(self):
            while len(losses) < _ATTEMPTS:
                try:
                    self._get_ready(project)
                    answer = cast(TaskReply, self._wait(self._host.ask.remote(project, function, item)))
                except RayTaskError as error:  # a fault of ours, and no loss
                    self._drop()
                    raise RemoteTaskError(f"{type(error.cause).__name__}: {error.cause}") from None
                except RayError as error:
                    losses.append(self._tell_loss(error, losses))
                    self._drop()
                    continue
                except BaseException:
                    self._drop()
                    raise
                self.projects, self.used_mb = answer.projects, answer.used_mb
                if answer.error:
                    raise RemoteTaskError(answer.error)
                return cast(Result, answer.result)
        raise RemoteTaskError(f"every seat that it was tried at was lost: {', '.join(losses)}")

    def _tell_loss(self, error: Exception, before: list[str]) -> str:
        """Ends the run where no host can so much as begin: no candidate has anything to do with that."""
        if not self.node and before == [_NOWHERE] * (_ATTEMPTS - 1):
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            fix = "is the same release of dlbench installed on every node? `ray logs` has more"
            raise NoWorkerAvailable(f"no seat can be opened on the cluster: {lines[-1] if lines else error!r}", fix=fix)
        loss = f"{type(error).__name__} on {self.node}" if self.node else _NOWHERE
        self.seats.log(f"lost a seat ({loss}); what it was at is tried again")
        return loss

    def close(self) -> None:
        """Its workers first, so that nothing of them is left on the node."""
        import ray
        from ray.exceptions import RayError

        if self._host is not None:
            try:
                ray.get(self._host.close.remote(), timeout=_FAREWELL_SECONDS)
            except RayError:
                pass
            self._drop()

    def _get_ready(self, project: str) -> None:
        if self._host is None:
            self._sit_down()
        if project in self._ready:
            return
        parcel = describe(self.prepared[project])
        found = cast(PrepareReply, self._wait(self._host.prepare.remote(parcel)))
        for part, why in found.missing.items():
            self.seats.log(f"sending the {part} of {project} to {self.node} ({why.splitlines()[0]})")
            pieces = self.seats.ship(self.prepared[project], part, self._check_stop)
            receipt = cast(ReceiveReply, self._wait(self._host.receive.remote(parcel, part, pieces)))
            if receipt.refusal:
                raise NoWorkerAvailable(f"the node {self.node} cannot take in {project}: {receipt.refusal}")
        if found.missing:
            found = cast(PrepareReply, self._wait(self._host.prepare.remote(parcel)))
        if found.missing or found.refusal:
            why = found.refusal or "; ".join(found.missing.values())
            raise NoWorkerAvailable(f"the node {self.node} cannot prepare {project}: {why}")
        self._ready.add(project)

    def _sit_down(self) -> None:
        """Waits for a place, where there is none."""
        self._host = self.seats.hire(self.engine)
        share = self.seats.share(self.engine, self.keeping)
        opening = self._host.open.remote(self.seats.sandbox, self.engine.limits, share)
        greeting = cast(ActorInfo, self._wait(opening, self.seats.check_patience(time.monotonic())))
        self.node = greeting.node
        self.seats.check_greeting(greeting)
        self.seats.seated.add(self)

    def _wait(self, asked: object, check: Callable[[], None] = lambda: None) -> object:
        import ray

        while not ray.wait([asked], timeout=_LOOK_SECONDS)[0]:
            self._check_stop()
            check()
        return ray.get(asked)

    def _check_stop(self) -> None:
        if self.is_stopped:
            raise Interrupted

    def _drop(self) -> None:
        """What runs there ends at once, with everything under it."""
        import ray

        host, self._host = self._host, None
        self._ready.clear()
        self.projects, self.used_mb, self.node = (), 0.0, ""
        self.seats.leave(self)
        if host is not None:
            ray.kill(host)
