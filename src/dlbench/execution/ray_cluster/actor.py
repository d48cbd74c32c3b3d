"""Run workers in a Ray actor on a node, and send tasks to it from a thread of the driver.

The node chooses everything that affects a verdict with the same code as any machine. A task whose actor is lost is
tried again on another actor, and given up after several losses. A thread without an actor waits for one while any other
actor works; if none has worked for long, the run ends and can be resumed later.
"""

import signal
import socket
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, cast

from dlbench import __version__
from dlbench.dataset.plus import PlusRecord
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
from dlbench.execution.sandbox import choose_sandbox, remove_leftovers
from dlbench.execution.sandbox.base import inside_key
from dlbench.execution.supervise import check_stop
from dlbench.execution.worker_cache import CachePolicy, Held, Item, LocalWorkerCache, NoWorkerAvailable, Result
from dlbench.runs.verdict import Confirm
from dlbench.workspace import Prepared

if TYPE_CHECKING:
    from dlbench.execution.ray_cluster.executor import RayExecutor


@dataclass(frozen=True)
class Reply:
    """What an actor returns; an exception's type may not exist on the driver, so its message is sent."""

    value: Any = None
    error: str = ""
    """Why the node cannot do it."""
    projects: tuple[str, ...] = ()
    used_mb: float = 0.0
    node: str = field(default_factory=socket.gethostname)


def make_key() -> str:
    """Equal on two machines whose engines judge alike."""
    return f"dlbench {__version__}, engine {inside_key()}"


class WorkerActor:
    def open(
        self,
        sandbox: str,
        limits: Limits,
        policy: CachePolicy[Warm],
        confirm: Confirm = Confirm.UNUSUAL,
        plus: Mapping[str, PlusRecord] | None = None,
    ) -> Reply:
        """The value is the key of the engine."""
        # Ray blocks SIGINT in its processes; the tests of a candidate would inherit that
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        try:
            remove_leftovers()
            engine = Engine(choose_sandbox(sandbox), limits, confirm=confirm, plus=plus or {})
        except DLBenchError as error:
            return Reply(make_key(), str(error))
        self.prepared: dict[str, Prepared] = {}
        self.cache = LocalWorkerCache(engine, self.prepared, policy, lambda: self.cache.used_mb)
        return Reply(make_key())

    def prepare(self, bundle: ProjectBundle) -> Reply:
        """The value is the parts that must be sent, each with the reason."""
        try:
            missing = prepare_locally(bundle)
            if not missing:
                self.prepared[bundle.project.name] = complete_bundle(bundle)
            return Reply(missing)
        except DLBenchError as error:
            return Reply({}, str(error))

    def receive(self, bundle: ProjectBundle, part: Part, pieces: list[Any]) -> Reply:
        """The value is whether it was unpacked; another actor of the node may have been faster."""
        import ray

        try:
            return Reply(receive_part(bundle, part, lambda: map(ray.get, pieces)))
        except DLBenchError as error:
            return Reply(False, str(error))

    def run(self, project: str, function: Callable[[Any, Any], Any], item: object) -> Reply:
        """The value is the result of the task."""
        result, error = None, ""
        try:
            result = self.cache.run(project, function, item)
        except Exception as fault:
            error = f"{type(fault).__name__}: {fault}"
        return Reply(result, error, tuple(self.cache.projects), self.cache.used_mb)

    def close(self) -> None:
        self.cache.close()
        remove_groups()


_ATTEMPTS = 3
_POLL_SECONDS = 0.5
_CLOSE_SECONDS = 20.0
_NOT_STARTED = "before it started"


class RemoteTaskError(Exception):
    """A task got no result; the message is the reason."""


class RemoteWorkerCache(Generic[Held]):
    def __init__(
        self, executor: "RayExecutor", engine: Engine, prepared: Mapping[str, Prepared], policy: CachePolicy[Held]
    ) -> None:
        self.executor, self.engine, self.prepared, self.policy = executor, engine, prepared, policy
        self.projects: Collection[str] = ()
        self.used_mb = 0.0
        self.node = ""
        self._actor: Any = None
        self._ready: set[str] = set()

    def run(self, project: str, function: Callable[[Held, Item], Result], item: Item) -> Result:
        from ray.exceptions import RayError, RayTaskError

        losses: list[str] = []
        while len(losses) < _ATTEMPTS:
            try:
                self._prepare(project)
                reply = self._wait(self._actor.run.remote(project, function, item))
            except RayTaskError as error:  # a fault of the harness, and no loss
                self._drop()
                raise RemoteTaskError(f"{type(error.cause).__name__}: {error.cause}") from None
            except RayError as error:
                losses.append(self._describe_loss(error, losses))
                self._drop()
                continue
            except BaseException:
                self._drop()
                raise
            self.projects, self.used_mb = reply.projects, reply.used_mb
            if reply.error:
                raise RemoteTaskError(reply.error)
            return cast(Result, reply.value)
        raise RemoteTaskError(f"every worker that ran the task was lost: {', '.join(losses)}")

    def _describe_loss(self, error: Exception, before: list[str]) -> str:
        """Raises NoWorkerAvailable if no actor even starts, which no candidate can cause."""
        if not self.node and before == [_NOT_STARTED] * (_ATTEMPTS - 1):
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            fix = "is the same release of dlbench installed on every node? `ray logs` has more"
            raise NoWorkerAvailable(f"no worker starts on the cluster: {lines[-1] if lines else error!r}", fix=fix)
        loss = f"{type(error).__name__} on {self.node}" if self.node else _NOT_STARTED
        self.executor.log(f"lost a worker ({loss}); its task is tried again")
        return loss

    def close(self) -> None:
        """Close the actor's workers first, so that nothing of them stays on the node."""
        import ray
        from ray.exceptions import RayError

        if self._actor is not None:
            with suppress(RayError):
                ray.get(self._actor.close.remote(), timeout=_CLOSE_SECONDS)
            self._drop()

    def _prepare(self, project: str) -> None:
        if self._actor is None:
            self._start_actor()
        if project in self._ready:
            return
        bundle = describe(self.prepared[project])
        reply = self._wait(self._actor.prepare.remote(bundle))
        for part, why in reply.value.items():
            self.executor.log(f"sending the {part} of {project} to {self.node} ({why.splitlines()[0]})")
            pieces = self.executor.ship(self.prepared[project], part, check_stop)
            received = self._wait(self._actor.receive.remote(bundle, part, pieces))
            if received.error:
                raise NoWorkerAvailable(f"the node {self.node} cannot receive {project}: {received.error}")
        if reply.value:
            reply = self._wait(self._actor.prepare.remote(bundle))
        if reply.value or reply.error:
            why = reply.error or "; ".join(reply.value.values())
            raise NoWorkerAvailable(f"the node {self.node} cannot prepare {project}: {why}")
        self._ready.add(project)

    def _start_actor(self) -> None:
        """Waits until Ray finds a node with a free slot."""
        import ray

        resources = {"num_cpus": 1, "memory": self.engine.limits.memory_mb << 20, "scheduling_strategy": "SPREAD"}
        self._actor = ray.remote(WorkerActor).options(**resources).remote()
        policy = self.executor.divide(self.engine, self.policy)
        engine = self.engine
        opening = self._actor.open.remote(self.executor.sandbox, engine.limits, policy, engine.confirm, engine.plus)
        reply = self._wait(opening, partial(self.executor.check_patience, time.monotonic()))
        self.node = reply.node
        self.executor.check_actor(reply)
        self.executor.active.add(self)

    def _wait(self, reference: object, check: Callable[[], None] = lambda: None) -> Reply:
        import ray

        while not ray.wait([reference], timeout=_POLL_SECONDS)[0]:
            check_stop()
            check()
        return cast(Reply, ray.get(reference))

    def _drop(self) -> None:
        """Kill the actor with everything under it."""
        import ray

        actor, self._actor = self._actor, None
        self._ready.clear()
        self.projects, self.used_mb, self.node = (), 0.0, ""
        self.executor.active.discard(self)
        self.executor.left_at = time.monotonic()
        if actor is not None:
            ray.kill(actor)
