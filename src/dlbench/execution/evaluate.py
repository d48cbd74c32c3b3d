"""Judge the samples of a file or of a run under way, resumably, or samples of many callers.

An evaluation writes every verdict to disk before its worker takes the next sample. A second start judges the rest, and
harness errors again. `Judge` keeps the threads of a pool between samples, so that workers stay warm.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dlbench.dataset import Benchmark, Instance
from dlbench.errors import DLBenchError
from dlbench.execution.fresh import reject
from dlbench.execution.judge import Warm
from dlbench.execution.pool import Pool, Task, TaskQueue
from dlbench.execution.processes import remove_groups
from dlbench.execution.supervise import Interrupted, stop_event
from dlbench.execution.worker_cache import WorkerCache, count_workers
from dlbench.extraction import Extraction, extract
from dlbench.jsonl import Journal, read_lines, rewrite
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import VERDICTS, Status, Verdict

_UNREADABLE = {Status.NO_CODE, Status.SYNTAX_ERROR, Status.MISSING_TARGET}


OnVerdict = Callable[[Verdict], None]
OnKept = Callable[[int], None]


def evaluate(
    benchmark: Benchmark,
    pool: Pool,
    samples: list[Sample],
    out: Path,
    *,
    on_verdict: OnVerdict = lambda verdict: None,
    on_kept: OnKept = lambda count: None,
) -> list[Verdict]:
    with open_evaluation(benchmark, pool, samples, out, on_verdict=on_verdict, on_kept=on_kept) as evaluation:
        return evaluation.finish(samples)


@contextmanager
def open_evaluation(
    benchmark: Benchmark, pool: Pool, kept: list[Sample], out: Path, *, on_verdict: OnVerdict, on_kept: OnKept
) -> Iterator["Evaluation"]:
    """Judge the samples of earlier starts, and those that are added. Leaving early stops the running candidates.

    `on_kept` gets the number of verdicts of earlier starts, `on_verdict` each new one.
    """
    with Journal(out / VERDICTS) as journal, closing(Judge(pool)) as judge:
        done = _read_done(kept, journal.path)
        on_kept(len(done))
        evaluation = Evaluation(benchmark, judge, journal, on_verdict, done)
        for sample in kept:
            evaluation.add(sample)
        yield evaluation


class Evaluation:
    """The verdicts of a run whose samples arrive one by one; `add` and `finish` are for one thread."""

    def __init__(
        self,
        benchmark: Benchmark,
        judge: "Judge",
        journal: Journal,
        on_verdict: OnVerdict,
        done: dict[tuple[str, int], Verdict],
    ) -> None:
        self._benchmark, self._judge, self._journal, self._on_verdict = benchmark, judge, journal, on_verdict
        self._lock = threading.Lock()
        self._futures: dict[tuple[str, int], Future[Verdict]] = {}
        self._reviewed: dict[tuple[tuple[str, int], str], Future[Verdict]] = {}
        for key, verdict in done.items():
            self._futures[key] = Future()
            self._futures[key].set_result(verdict)

    def add(self, sample: Sample) -> None:
        """Judge a sample, unless that is done or under way."""
        if sample.key in self._futures:
            return
        if (reviewed := self._reviewed.pop((sample.key, sample.sha256), None)) is not None:
            self._keep(reviewed.result())
            self._futures[sample.key] = reviewed
        else:
            future = self._judge.submit(sample, self._benchmark.instances[sample.instance], self._keep)
            self._futures[sample.key] = future
            if future.done():
                future.result()  # raises the error of a judge that has ended: no further answer may be paid for

    def review(self, sample: Sample) -> "Future[Verdict]":
        """Judge an answer for any thread. Only if the sample is added with this answer, the verdict is written."""
        future = self._judge.submit(sample, self._benchmark.instances[sample.instance])
        self._reviewed[sample.key, sample.sha256] = future
        return future

    def finish(self, samples: list[Sample]) -> list[Verdict]:
        """Wait for the verdicts on all samples of the run, and write them in this order."""
        for sample in samples:
            self.add(sample)
        verdicts = [self._futures[sample.key].result() for sample in samples]
        rewrite(self._journal.path, (verdict.as_record() for verdict in verdicts))
        return verdicts

    def _keep(self, verdict: Verdict) -> None:
        self._journal.append(verdict.as_record())
        with self._lock:
            self._on_verdict(verdict)


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


def _read_done(samples: list[Sample], path: Path) -> dict[tuple[str, int], Verdict]:
    hashes = {sample.key: sample.sha256 for sample in samples}
    done: dict[tuple[str, int], Verdict] = {}
    for number, record in read_lines(path):
        verdict = Verdict.from_record(record, f"{path}:{number}")
        key = (verdict.instance, verdict.sample)
        if hashes.get(key) != verdict.answer_sha256:
            raise DLBenchError(
                f"the folder holds a verdict on another answer to {verdict.instance} (sample {verdict.sample})",
                where=str(path),
                fix="evaluate into a new --out folder, or remove this one",
            )
        done[key] = verdict
    return {key: verdict for key, verdict in done.items() if verdict.status is not Status.HARNESS_ERROR}


class Judge:
    """Judges samples of any number of threads. Its owner must close it."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._queue: TaskQueue[Task] = TaskQueue((), pool.estimate, is_open=True)
        self._pending: dict[int, _Pending] = {}
        self._error: BaseException = DLBenchError("the judge was stopped", fix="start the same command again")
        pool.open_caches(count_workers(pool.engine, pool.workers))
        # daemons, so that a program that does not close the judge can still end
        self._threads = [threading.Thread(target=self._serve, args=[cache], daemon=True) for cache in pool.caches]
        for thread in self._threads:
            thread.start()

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
        task = Task(instance, pending.found.code, sample.sample)
        self._pending[id(task)] = pending
        self._queue.add(task)
        if not self._queue.is_open:
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
        if (pending := self._pending.pop(id(task), None)) is not None:
            pending.resolve(verdict)

    def _fail_pending(self) -> None:
        for pending in [self._pending.pop(key, None) for key in list(self._pending)]:
            if pending is not None:
                pending.future.set_exception(self._error)


@dataclass(frozen=True)
class _Pending:
    sample: Sample
    found: Extraction
    keep: OnVerdict
    future: "Future[Verdict]" = field(default_factory=Future)

    def __post_init__(self) -> None:
        self.future.set_running_or_notify_cancel()  # a caller that stops waiting does not cancel it

    def resolve(self, verdict: Verdict) -> None:
        verdict = annotate_extraction(replace(verdict, answer_sha256=self.sample.sha256), self.found)
        try:
            self.keep(verdict)
        except BaseException as error:
            self.future.set_exception(error)
            raise
        self.future.set_result(verdict)
