"""Where is one candidate after the other judged, and who keeps what is warm for the next?

A seat: one thread sends it one piece of work at a time, and it keeps a worker for each project that it has seen. Seats
are on this machine unless the engine has others to offer. Workers that idle, that grew, or that memory has no room for
are stopped; nothing that is asked at a seat may depend on which of them were there.
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
_LOOK_SECONDS = 5.0
_GROWTH_MB = 1024.0

Held = TypeVar("Held", bound=Warm)
Kept = TypeVar("Kept", bound=Warm, covariant=True)
Item = TypeVar("Item")
Result = TypeVar("Result")


class NoWorkerAvailable(DLBenchError):
    """There is nowhere to work, and nobody knows that there will be: a run ends with it, and can go on later."""


@dataclass(frozen=True)
class CachePolicy(Generic[Held]):
    """Which workers a seat keeps."""

    kind: type[Held]
    memory_mb: float = math.inf
    """For all seats of a machine together."""
    most: float = math.inf
    """Projects at once."""


class WorkerCache(Protocol[Kept]):
    @property
    def projects(self) -> Collection[str]:
        """Those that have a worker here."""
        ...

    @property
    def used_mb(self) -> float: ...

    def ask(self, project: str, function: Callable[[Kept, Item], Result], item: Item) -> Result:
        """What the function makes of the project's worker and the item. It may run elsewhere, and must have a name."""
        ...

    def close(self) -> None:
        """Lets go of all workers; who asks again gets new ones."""
        ...


class Executor(Protocol):
    """Seats that are not on this machine."""

    def count(self, engine: Engine, wanted: int) -> int:
        """How many there are, where this machine would have so many."""
        ...

    def open(
        self, engine: Engine, prepared: Mapping[str, Prepared], keeping: CachePolicy[Held]
    ) -> WorkerCache[Held]: ...


def count_workers(engine: Engine, wanted: int) -> int:
    return wanted if engine.seats is None else engine.seats.count(engine, wanted)


def open_cache(
    engine: Engine,
    prepared: Mapping[str, Prepared],
    keeping: CachePolicy[Held],
    used_mb: Callable[[], float] = lambda: 0.0,
) -> WorkerCache[Held]:
    """`used_mb`: what all seats of this machine use together."""
    if engine.seats is not None:
        return engine.seats.open(engine, prepared, keeping)
    return LocalWorkerCache(engine, prepared, keeping, used_mb)


class LocalWorkerCache(Generic[Held]):
    """On this machine; the least recently used worker is the first of them."""

    def __init__(
        self, engine: Engine, prepared: Mapping[str, Prepared], keeping: CachePolicy[Held], used_mb: Callable[[], float]
    ) -> None:
        self.engine, self.prepared, self.keeping, self.used_by_all = engine, prepared, keeping, used_mb
        self.warm: dict[str, Held] = {}
        self.used_mb = 0.0
        self._used_at: dict[str, float] = {}
        self._began_mb: dict[str, float] = {}
        self._looked = 0.0

    @property
    def projects(self) -> Collection[str]:
        return self.warm

    def ask(self, project: str, function: Callable[[Held, Item], Result], item: Item) -> Result:
        held = self._hold(project)
        try:
            return function(held, item)
        finally:
            self._look(project)

    def close(self) -> None:
        for project in list(self.warm):
            self._stop(project)

    def _hold(self, project: str) -> Held:
        held = self.warm.pop(project, None)
        if held is None:
            while len(self.warm) >= self.keeping.most:
                self._stop(next(iter(self.warm)))
            held = self.keeping.kind(self.engine, self.prepared[project])
        self.warm[project] = held
        self._used_at[project] = time.monotonic()
        return held

    def _look(self, current: str) -> None:
        """Stops what idles, what grew, and what memory has no room for; the one in use last of all."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        sizes = {project: warm.memory_mb() for project, warm in self.warm.items()}
        self.used_mb = sum(sizes.values())
        for project, size in sizes.items():
            began = self._began_mb.setdefault(project, size)
            idles = project != current and now - self._used_at[project] > IDLE_SECONDS
            is_short = self.used_by_all() > self.keeping.memory_mb and project != current
            if idles or is_short or size > began + _GROWTH_MB:
                self._stop(project)
                self.used_mb -= size

    def _stop(self, project: str) -> None:
        self._began_mb.pop(project, None)
        warm = self.warm.pop(project, None)
        if warm is not None:
            warm.close()
