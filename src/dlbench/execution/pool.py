"""How do many candidates keep every core busy, each with a verdict that does not depend on the others?

A thread for each core; each has a worker for the project at hand and stays with an instance while there is work for it,
so that imports and collections are paid once. Long instances go first, and when little is left several threads share
one. Workers that idle are stopped when memory is short. Whatever dies, its candidate is judged again elsewhere; the
verdicts do not depend on how many threads there are.
"""

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

from dlbench.dataset import Instance
from dlbench.execution.engine import Engine
from dlbench.execution.fresh import reject
from dlbench.execution.judge import Warm, judge
from dlbench.execution.limits import DEFAULT, JudgeOptions
from dlbench.execution.processes import remove_groups
from dlbench.execution.reference_profile import load_profile
from dlbench.execution.supervise import stop_all
from dlbench.execution.worker_cache import (
    IDLE_SECONDS,
    CachePolicy,
    NoWorkerAvailable,
    WorkerCache,
    count_workers,
    open_cache,
)
from dlbench.runs.verdict import Status, Verdict
from dlbench.workspace import Prepared

MODES = ("auto", "fresh")


@dataclass(frozen=True)
class Task:
    instance: Instance
    code: str | None
    """None is the reference where it stands, unspliced."""
    sample: int = 0
    name: str = ""
    terms: JudgeOptions = DEFAULT


class HasInstance(Protocol):
    @property
    def instance(self) -> Instance: ...


Item = TypeVar("Item", bound=HasInstance)


class Pool:
    def __init__(
        self,
        engine: Engine,
        prepared: dict[str, Prepared],
        *,
        workers: int = 1,
        mode: str = "auto",
        memory_mb: float = 6144.0,
    ) -> None:
        self.engine, self.prepared = engine, prepared
        self.workers, self.mode, self.memory_mb = workers, mode, memory_mb
        self.keepers: list[PoolThread] = []

    def run(self, tasks: Iterable[Task], on_verdict: Callable[[Task, Verdict], None]) -> None:
        """Every task once; `on_verdict` is called before its thread takes the next."""
        work = TaskQueue(tasks, self.estimate)
        if not work.left:
            return
        count = min(count_workers(self.engine, self.workers), work.left)
        self.keepers = [PoolThread(self, work) for _ in range(count)]
        run_threads(work, [partial(keeper.run, on_verdict) for keeper in self.keepers])

    def used_mb(self) -> float:
        return sum(keeper.seat.used_mb for keeper in self.keepers)

    def estimate(self, instance: Instance) -> tuple[float, float]:
        """What a candidate takes, and what the start of a worker does."""
        facts = load_profile(self.prepared[instance.project], instance)
        if facts is None:
            return instance.measures.seconds or 1.0, 0.0
        return facts.seconds, facts.load_seconds if self.mode == "auto" else 0.0


class TaskQueue(Generic[Item]):
    """What is left to do, by instance, and who is at it. While it is open, more may come, and who asks waits."""

    def __init__(
        self, tasks: Iterable[Item], estimate: Callable[[Instance], tuple[float, float]], *, is_open: bool = False
    ) -> None:
        self.waiting: dict[str, deque[Item]] = {}
        self.seconds: dict[str, float] = {}
        self.starts: dict[str, float] = {}
        self.projects: dict[str, str] = {}
        self.taken: dict[str, int] = {}
        self.is_open = is_open
        self.lock = threading.Condition()
        self._estimate = estimate
        for task in tasks:
            self.add(task)

    def add(self, task: Item) -> None:
        key = task.instance.id
        with self.lock:
            if key not in self.seconds:
                seconds, self.starts[key] = self._estimate(task.instance)
                self.seconds[key] = seconds + 0.1
                self.projects[key] = task.instance.project
            self.waiting.setdefault(key, deque()).append(task)
            self.lock.notify_all()

    @property
    def left(self) -> int:
        return sum(map(len, self.waiting.values()))

    def cancel(self) -> None:
        with self.lock:
            self.is_open = False
            self.waiting.clear()
            self.lock.notify_all()

    def take(self, current: Item | None, started: Collection[str] = ()) -> Item | None:
        """`started`: projects of which the thread that asks has a worker. None: what is left is done by others, or
        nothing has come for long."""
        with self.lock:
            if current is not None:
                self.taken[current.instance.id] -= 1
            key = self._choose(current, started)
            while key is None and self.is_open:
                has_come = self.lock.wait(IDLE_SECONDS)
                key = self._choose(current, started)
                if not has_come:
                    break
            if key is None:
                return None
            self.taken[key] = self.taken.get(key, 0) + 1
            task = self.waiting[key].popleft()
            if not self.waiting[key]:
                del self.waiting[key]
            return task

    def _choose(self, current: Item | None, started: Collection[str]) -> str | None:
        """The same instance, else a free one of the same project, else of a project nobody has; the longest first."""
        if not self.waiting:
            return None
        if current is not None and current.instance.id in self.waiting:
            return current.instance.id

        busy = {self.projects[key] for key, count in self.taken.items() if count}

        def rank(key: str) -> tuple[bool, bool, bool, float]:
            is_free = not self.taken.get(key)
            is_near = current is not None and self.projects[key] == current.instance.project
            is_apart = self.projects[key] not in busy  # a second worker of a project imports it a second time
            return is_free, is_near, is_apart, len(self.waiting[key]) * self.seconds[key]

        worth = [key for key in self.waiting if self._is_worth_a_start(key, busy, started)]
        return max(worth, key=rank, default=None)

    def _is_worth_a_start(self, key: str, busy: set[str], started: Collection[str]) -> bool:
        """Not when those who are at the project will be done before another could have begun."""
        project = self.projects[key]
        if project not in busy or project in started:
            return True
        left = sum(
            len(queue) * self.seconds[other] for other, queue in self.waiting.items() if self.projects[other] == project
        )
        return left > self.starts[key]


def run_threads(work: "TaskQueue[Item]", keepers: Sequence[Callable[[], None]]) -> None:
    """A thread for each; what ends one of them ends all."""
    with ThreadPoolExecutor(len(keepers)) as threads:
        futures = [threads.submit(keeper) for keeper in keepers]
        try:
            for future in futures:
                future.result()
        except BaseException:
            work.cancel()
            stop_all()
            raise
    remove_groups()


class PoolThread:
    """One thread, and the seat that it brings its work to."""

    def __init__(self, pool: Pool, work: "TaskQueue[Task]") -> None:
        self.work = work
        self.judge = _judge_fresh if pool.mode == "fresh" else _judge_warm
        keeping = CachePolicy(Warm, pool.memory_mb)
        self.seat: WorkerCache[Warm] = open_cache(pool.engine, pool.prepared, keeping, pool.used_mb)

    def run(self, on_verdict: Callable[[Task, Verdict], None]) -> None:
        task = self.work.take(None)
        try:
            while task is not None:
                on_verdict(task, self._judge(task))
                task = self.work.take(task, self.seat.projects)
        finally:
            self.seat.close()

    def _judge(self, task: Task) -> Verdict:
        try:
            return self.seat.ask(task.instance.project, self.judge, task)
        except NoWorkerAvailable:
            raise
        except Exception as error:  # whatever it is, it is our fault, and one candidate must not end a run
            return reject(task.instance, task.sample, Status.HARNESS_ERROR, f"{type(error).__name__}: {error}")


def _judge_warm(warm: Warm, task: Task) -> Verdict:
    return warm.judge(task.instance, task.code, task.sample, task.terms)


def _judge_fresh(warm: Warm, task: Task) -> Verdict:
    """The worker is never started: it only knows where everything is."""
    return judge(warm.engine, warm.prepared, task.instance, task.code, task.sample, task.terms)
