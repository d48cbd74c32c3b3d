"""Run many tasks in parallel on warm workers.

A thread, one per worker, stays with an instance, then with its project, so that imports and collections are paid once.
Long instances go first; near the end several threads share one. In an open queue, which may never be empty, a thread
turns to the instance that has waited longest after a while. Results do not depend on the number of threads.
"""

import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
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
from dlbench.execution.supervise import stop_event
from dlbench.execution.worker_cache import (
    IDLE_SECONDS,
    CachePolicy,
    Held,
    NoWorkerAvailable,
    Result,
    WorkerCache,
    count_workers,
    open_cache,
)
from dlbench.runs.verdict import Status, Verdict
from dlbench.workspace import Prepared

MODES = ("auto", "fresh")
_TURN_SECONDS = 20.0
"""A thread of an open queue stays with an instance this long while others wait."""


@dataclass(frozen=True)
class Task:
    instance: Instance
    code: str | None
    """None is the unspliced reference."""
    sample: int = 0
    name: str = ""
    options: JudgeOptions = DEFAULT


class HasInstance(Protocol):
    @property
    def instance(self) -> Instance: ...


Item = TypeVar("Item", bound=HasInstance)


class TaskQueue(Generic[Item]):
    """Waiting tasks by instance, and how many threads work on each. An open queue waits for more tasks."""

    def __init__(
        self, tasks: Iterable[Item], estimate: Callable[[Instance], tuple[float, float]], *, is_open: bool = False
    ) -> None:
        self.waiting: defaultdict[str, deque[Item]] = defaultdict(deque)
        self.seconds: dict[str, float] = {}
        self.starts: dict[str, float] = {}
        self.projects: dict[str, str] = {}
        self.running: Counter[str] = Counter()
        self.served: dict[str, float] = {}
        """When a thread last took a task of an instance, or its first one came."""
        self.turns: dict[int, tuple[str, float]] = {}
        """The instance of each thread, and since when."""
        self.is_open = is_open
        self.stop = threading.Event()
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
            if key not in self.waiting:
                self.served[key] = time.monotonic()
            self.waiting[key].append(task)
            self.lock.notify_all()

    @property
    def left(self) -> int:
        return sum(map(len, self.waiting.values()))

    def cancel(self) -> None:
        """Drop the waiting tasks and stop the running ones."""
        with self.lock:
            self.is_open = False
            self.stop.set()
            self.waiting.clear()
            self.lock.notify_all()

    def next(self, current: Item | None, started: Collection[str] = ()) -> Item | None:
        """The next task of a thread; None if other threads do the rest, or if an open queue stayed empty for long.
        `started`: projects that have a worker in this thread."""
        with self.lock:
            if current is not None:
                self.running[current.instance.id] -= 1
            is_notified = True
            while (key := self._choose(current, started)) is None and self.is_open and is_notified:
                is_notified = self.lock.wait(IDLE_SECONDS)
            if key is None:
                return None
            self.running[key] += 1
            now = self.served[key] = time.monotonic()
            if current is None or key != current.instance.id:
                self.turns[threading.get_ident()] = key, now
            task = self.waiting[key].popleft()
            if not self.waiting[key]:
                del self.waiting[key]
            return task

    def _choose(self, current: Item | None, started: Collection[str]) -> str | None:
        """The same instance, else a free one of the same project, else of a project without threads; longest first."""
        if current is not None and current.instance.id in self.waiting:
            return self._find_starved() or current.instance.id
        busy = {self.projects[key] for key, count in self.running.items() if count}

        def rank(key: str) -> tuple[bool, bool, bool, float]:
            is_free = not self.running[key]
            is_near = current is not None and self.projects[key] == current.instance.project
            is_apart = self.projects[key] not in busy  # a second worker of a project imports it a second time
            return is_free, is_near, is_apart, len(self.waiting[key]) * self.seconds[key]

        worth = [key for key in self.waiting if self._is_worth_a_start(key, busy, started)]
        return max(worth, key=rank, default=None)

    def _find_starved(self) -> str | None:
        """The instance that has waited longest, if this thread has had its turn."""
        name, since = self.turns[threading.get_ident()]
        if not self.is_open or time.monotonic() - since < _TURN_SECONDS:
            return None
        return min(self.waiting, key=lambda key: (key == name, self.served[key]))

    def _is_worth_a_start(self, key: str, busy: set[str], started: Collection[str]) -> bool:
        """False if the project's threads will finish before another worker could have started."""
        project = self.projects[key]
        if project not in busy or project in started:
            return True
        same = [other for other in self.waiting if self.projects[other] == project]
        return sum(len(self.waiting[other]) * self.seconds[other] for other in same) > self.starts[key]


def run_threads(queue: TaskQueue[Item], targets: Sequence[Callable[[], None]]) -> None:
    """Run each target in a thread. The first error ends all of them."""

    def run(target: Callable[[], None]) -> None:
        stop_event.set(queue.stop)
        target()

    with ThreadPoolExecutor(len(targets)) as threads:
        futures = [threads.submit(run, target) for target in targets]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            queue.cancel()
            raise
    remove_groups()


class TaskPool(Generic[Item, Held, Result]):
    """Runs each task once, by a function of a warm worker and the task."""

    def __init__(
        self,
        engine: Engine,
        prepared: dict[str, Prepared],
        workers: int,
        policy: CachePolicy[Held],
        function: Callable[[Held, Item], Result],
        on_fault: Callable[[Item, str], Result],
    ) -> None:
        """`function`: may run on another machine. `on_fault`: the result of a task that could not be run."""
        self.engine, self.prepared, self.workers, self.policy = engine, prepared, workers, policy
        self.function, self.on_fault = function, on_fault
        self.caches: list[WorkerCache[Held]] = []

    def run(self, tasks: Iterable[Item], on_result: Callable[[Item, Result], None]) -> None:
        """`on_result` is called before its thread takes the next task."""
        queue = TaskQueue(tasks, self.estimate)
        if queue.left:
            self.open_caches(min(count_workers(self.engine, self.workers), queue.left))
            run_threads(queue, [partial(self.run_thread, queue, cache, on_result) for cache in self.caches])

    def open_caches(self, count: int) -> None:
        def used_mb() -> float:
            return sum(cache.used_mb for cache in self.caches)

        self.caches = [open_cache(self.engine, self.prepared, self.policy, used_mb) for _ in range(count)]

    def run_thread(
        self, queue: TaskQueue[Item], cache: WorkerCache[Held], on_result: Callable[[Item, Result], None]
    ) -> None:
        task = queue.next(None)
        try:
            while task is not None:
                on_result(task, self._run_task(cache, task))
                task = queue.next(task, cache.projects)
        finally:
            cache.close()

    def _run_task(self, cache: WorkerCache[Held], task: Item) -> Result:
        try:
            return cache.run(task.instance.project, self.function, task)
        except NoWorkerAvailable:
            raise
        except Exception as error:  # a fault of the harness, which must not end the run
            return self.on_fault(task, f"{type(error).__name__}: {error}")

    def estimate(self, instance: Instance) -> tuple[float, float]:
        """Seconds of a task, and of the start of a worker."""
        profile = load_profile(self.engine, self.prepared[instance.project], instance)
        if profile is None:
            return instance.measures.seconds or 1.0, 0.0
        return profile.seconds, profile.load_seconds


class Pool(TaskPool[Task, Warm, Verdict]):
    """Judges candidates."""

    def __init__(
        self,
        engine: Engine,
        prepared: dict[str, Prepared],
        *,
        workers: int = 1,
        mode: str = "auto",
        memory_mb: float = 6144.0,
        function: Callable[[Warm, Task], Verdict] | None = None,
    ) -> None:
        """`function`: judges a task, in place of the function of the mode."""
        function = function or (judge_fresh if mode == "fresh" else judge_warm)
        super().__init__(engine, prepared, workers, CachePolicy(Warm, memory_mb), function, _report_fault)
        self.mode = mode

    def estimate(self, instance: Instance) -> tuple[float, float]:
        seconds, start = super().estimate(instance)
        return seconds, start if self.mode == "auto" else 0.0


def judge_warm(warm: Warm, task: Task) -> Verdict:
    return warm.judge(task.instance, task.code, task.sample, task.options)


def judge_fresh(warm: Warm, task: Task) -> Verdict:
    """Uses the engine and the project of the warm worker, which is never started."""
    return judge(warm.engine, warm.prepared, task.instance, task.code, task.sample, task.options)


def _report_fault(task: Task, fault: str) -> Verdict:
    return reject(task.instance, task.sample, Status.HARNESS_ERROR, fault)
