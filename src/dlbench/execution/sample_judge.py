"""Judge samples of any number of threads, with workers that stay warm between samples.

Rollouts of one group repeat themselves: with a cache, equal code is judged once. Two codes are equal if their texts
are: comments and layout can decide what is spliced. A verdict that depends on the load of the machine is not kept.
"""

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from dlbench.dataset import Instance
from dlbench.errors import DLBenchError
from dlbench.execution.fresh import reject
from dlbench.execution.judge import Warm
from dlbench.execution.pool import Pool, Task, TaskQueue
from dlbench.execution.processes import remove_groups
from dlbench.execution.supervise import Interrupted, stop_event
from dlbench.execution.worker_cache import WorkerCache, count_workers
from dlbench.extraction import Extraction, extract
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Status, Verdict

OnVerdict = Callable[[Verdict], None]
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_FENCED = "it contains a Markdown fence: pass is_answer=True, or `answer` instead of `code`"
_UNREADABLE = {Status.NO_CODE, Status.SYNTAX_ERROR, Status.MISSING_TARGET}
_MACHINE = {Status.TIMEOUT, Status.OUT_OF_MEMORY, Status.UNCONFIRMED, Status.HARNESS_ERROR}
"""Statuses that another moment may change."""


def find_code(sample: Sample, qualname: str) -> Extraction:
    """The code in an answer, or why there is none. An answer is also cut off if the endpoint reports it."""
    if sample.is_code:
        code, reason = (sample.text, "the code as given") if sample.text.strip() else (None, "the code is empty")
        return Extraction(code, reason, sample.is_truncated)
    found = extract(sample.text, qualname)
    return replace(found, truncated=found.truncated or sample.is_truncated)


def annotate_extraction(verdict: Verdict, found: Extraction) -> Verdict:
    """Note truncation and other names in the verdict; in the message if they explain why no code ran."""
    notes: dict[str, Any] = {"truncated": True} if found.truncated else {}
    message = verdict.message
    if verdict.status is Status.MISSING_TARGET and found.other_names:
        notes["others"] = list(found.other_names)
    if found.truncated and verdict.status in _UNREADABLE:
        message = f"{message}; the answer is cut off" if message else "the answer is cut off"
    return replace(verdict, message=message, extra=verdict.extra | notes)


class SampleJudge:
    """Judges samples of any number of threads. Its owner must close it."""

    def __init__(self, pool: Pool, cached: int = 0) -> None:
        """`cached`: how many verdicts are kept for equal code."""
        self.pool = pool
        self.hits = 0
        """Samples that needed no run of their own."""
        self._cached = cached
        self._verdicts: OrderedDict[str, Verdict] = OrderedDict()
        self._tasks: dict[str, Task] = {}
        """Waiting and running tasks by the digest of their code."""
        self._pending: dict[int, list[_Pending]] = {}
        self._lock = threading.Lock()
        self._queue: TaskQueue[Task] = TaskQueue((), pool.estimate, is_open=True)
        self._error: BaseException = DLBenchError(
            "the judge was stopped", fix="open another, or start the same command again"
        )
        pool.open_caches(count_workers(pool.engine, pool.workers))
        # daemons, so that a program that does not close the judge can still end
        self._threads = [threading.Thread(target=self._serve, args=[cache], daemon=True) for cache in pool.caches]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """Samples without a verdict."""
        with self._lock:
            return sum(map(len, self._pending.values()))

    def judge(self, sample: Sample, instance: Instance) -> Verdict:
        """The verdict that `evaluate` gives. Blocks until it is there."""
        return self.submit(sample, instance).result()

    def submit(self, sample: Sample, instance: Instance, keep: OnVerdict = lambda verdict: None) -> "Future[Verdict]":
        """As `judge`, without blocking. `keep` is called before the worker takes the next sample; an error in it ends
        the judge."""
        pending = _Pending(sample, find_code(sample, instance.qualname), keep)
        if pending.found.code is None:
            pending.resolve(reject(instance, sample.sample, Status.NO_CODE, pending.found.reason))
            return pending.future
        key = _digest(instance, pending.found.code) if self._cached else ""
        with self._lock:
            known = self._verdicts.get(key)
            task = self._tasks.get(key)
            self.hits += known is not None or task is not None
            if known is not None:
                self._verdicts.move_to_end(key)
            elif task is not None:
                self._pending[id(task)].append(pending)
            else:
                task = Task(instance, pending.found.code, sample.sample, key)
                self._pending[id(task)] = [pending]
                if key:
                    self._tasks[key] = task
                self._queue.add(task)
        if known is not None:
            pending.resolve(known)
        elif not self._queue.is_open:
            self._fail_pending()
        return pending.future

    def close(self) -> None:
        """Stop the running samples and drop the waiting ones. Their callers get an error and no verdict."""
        self._queue.cancel()
        self._fail_pending()
        for thread in self._threads:
            thread.join()
        remove_groups()

    def _serve(self, cache: WorkerCache[Warm]) -> None:
        stop_event.set(self._queue.stop)
        try:
            with suppress(Interrupted):
                while self._queue.is_open:
                    self.pool.run_thread(self._queue, cache, self._resolve)
        except BaseException as error:
            self._error = error  # the callers raise it
        finally:  # without this thread, nobody may be left to judge the pending samples
            self._queue.cancel()
            self._fail_pending()

    def _resolve(self, task: Task, verdict: Verdict) -> None:
        with self._lock:
            waiting = self._pending.pop(id(task), [])
            is_cached = task.name in self._tasks
            self._tasks.pop(task.name, None)
            is_sure = verdict.status not in _MACHINE and verdict.extra.get("plus", "passed") == "passed"
            if is_cached and is_sure:
                self._verdicts[task.name] = verdict
                if len(self._verdicts) > self._cached:
                    self._verdicts.popitem(last=False)
        for pending in waiting:
            pending.resolve(verdict)

    def _fail_pending(self) -> None:
        with self._lock:
            failed = [pending for waiting in self._pending.values() for pending in waiting]
            self._pending.clear()
            self._tasks.clear()
        for pending in failed:
            pending.future.set_exception(self._error)


def _digest(instance: Instance, code: str) -> str:
    return hashlib.sha256(f"{instance.id} {code}".encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True)
class _Pending:
    sample: Sample
    found: Extraction
    keep: OnVerdict
    future: "Future[Verdict]" = field(default_factory=Future)

    def __post_init__(self) -> None:
        self.future.set_running_or_notify_cancel()  # a caller that stops waiting does not cancel it

    def resolve(self, verdict: Verdict) -> None:
        verdict = replace(verdict, sample=self.sample.sample, answer_sha256=self.sample.sha256)
        verdict = annotate_extraction(verdict, self.found)
        if verdict.status is Status.SYNTAX_ERROR and self.sample.is_code and _FENCE.search(self.sample.text):
            verdict = replace(verdict, message=f"{verdict.message}; {_FENCED}")
        try:
            self.keep(verdict)
        except BaseException as error:
            self.future.set_exception(error)
            raise
        self.future.set_result(verdict)
