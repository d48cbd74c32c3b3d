"""Keep warm workers between tasks, on this machine or through an executor on others.

A cache keeps a worker for each project it has seen. It stops workers that idle, that grew, or that do not fit into
memory. No result may depend on which workers were there.
"""

import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from dlbench.errors import DLBenchError
from dlbench.execution.engine import Engine
from dlbench.execution.judge import Warm
from dlbench.workspace import Prepared

IDLE_SECONDS = 120.0
_CHECK_SECONDS = 5.0
_GROWTH_MB = 1024.0

Held = TypeVar("Held", bound=Warm)
Kept = TypeVar("Kept", bound=Warm, covariant=True)
Item = TypeVar("Item")
Result = TypeVar("Result")


class NoWorkerAvailable(DLBenchError):
    """No worker can be started, and none is expected. It ends the run, which can be resumed later."""


@dataclass(frozen=True)
class CachePolicy(Generic[Held]):
    """Which workers a cache keeps."""

    kind: type[Held]
    memory_mb: float = math.inf
    """For all caches of a machine together."""
    most: float = math.inf
    """Projects at once."""


class WorkerCache(Protocol[Kept]):
    @property
    def projects(self) -> Collection[str]:
        """The projects that have a worker here."""
        ...

    @property
    def used_mb(self) -> float: ...

    def run(self, project: str, function: Callable[[Kept, Item], Result], item: Item) -> Result:
        """Call the function with the project's worker and the item, maybe on another machine: it must be picklable."""
        ...

    def close(self) -> None:
        """Stop all workers. The next task starts new ones."""
        ...


class Executor(Protocol):
    """Runs workers on other machines."""

    def count(self, engine: Engine, requested: int) -> int:
        """How many workers it can run; `requested`: what this machine would run."""
        ...

    def open(
        self, engine: Engine, prepared: Mapping[str, Prepared], policy: CachePolicy[Held]
    ) -> WorkerCache[Held]: ...


def count_workers(engine: Engine, requested: int) -> int:
    return requested if engine.executor is None else engine.executor.count(engine, requested)


def open_cache(
    engine: Engine,
    prepared: Mapping[str, Prepared],
    policy: CachePolicy[Held],
    used_mb: Callable[[], float] = lambda: 0.0,
) -> WorkerCache[Held]:
    """`used_mb`: the memory of all caches of this machine together."""
    if engine.executor is not None:
        return engine.executor.open(engine, prepared, policy)
    return LocalWorkerCache(engine, prepared, policy, used_mb)


class LocalWorkerCache(Generic[Held]):
    """Workers on this machine, the least recently used first."""

    def __init__(
        self, engine: Engine, prepared: Mapping[str, Prepared], policy: CachePolicy[Held], used_mb: Callable[[], float]
    ) -> None:
        self.engine, self.prepared, self.policy, self.used_by_all = engine, prepared, policy, used_mb
        self.warm: dict[str, Held] = {}
        self.used_mb = 0.0
        self._used_at: dict[str, float] = {}
        self._began_mb: dict[str, float] = {}
        self._checked_at = 0.0

    @property
    def projects(self) -> Collection[str]:
        return self.warm

    def run(self, project: str, function: Callable[[Held, Item], Result], item: Item) -> Result:
        held = self.warm.pop(project, None)
        if held is None:
            while len(self.warm) >= self.policy.most:
                self._stop(next(iter(self.warm)))
            held = self.policy.kind(self.engine, self.prepared[project])
        self.warm[project] = held
        self._used_at[project] = time.monotonic()
        try:
            return function(held, item)
        finally:
            self._stop_surplus(project)

    def close(self) -> None:
        for project in list(self.warm):
            self._stop(project)

    def _stop_surplus(self, current: str) -> None:
        """Stop workers that idle, grew, or exceed the memory; the current one only if it grew."""
        now = time.monotonic()
        if now - self._checked_at < _CHECK_SECONDS:
            return
        self._checked_at = now
        sizes = {project: warm.memory_mb() for project, warm in self.warm.items()}
        self.used_mb = sum(sizes.values())
        for project, size in sizes.items():
            began = self._began_mb.setdefault(project, size)
            is_idle = project != current and now - self._used_at[project] > IDLE_SECONDS
            is_over = project != current and self.used_by_all() > self.policy.memory_mb
            if is_idle or is_over or size > began + _GROWTH_MB:
                self._stop(project)
                self.used_mb -= size

    def _stop(self, project: str) -> None:
        self._began_mb.pop(project, None)
        self.warm.pop(project).close()
