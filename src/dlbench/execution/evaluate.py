"""Judge the samples of a file, resumably, or samples that arrive one by one from many callers.

`evaluate` writes every verdict to disk before its worker takes the next sample. A second start judges the rest, and
harness errors again. `Judge` keeps the threads of a pool between samples, so that workers stay warm.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from dlbench.dataset import Benchmark, Instance
from dlbench.errors import DLBenchError
from dlbench.execution.fresh import reject
from dlbench.execution.judge import Warm
from dlbench.execution.pool import Pool, Task, TaskQueue
from dlbench.execution.processes import remove_groups
from dlbench.execution.supervise import Interrupted, stop_event
from dlbench.execution.worker_cache import WorkerCache
from dlbench.extraction import Extraction, extract
from dlbench.jsonl import Journal, read_lines, rewrite
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import VERDICTS, Status, Verdict

_UNREADABLE = {Status.NO_CODE, Status.SYNTAX_ERROR, Status.MISSING_TARGET}


def evaluate(
    benchmark: Benchmark,
    pool: Pool,
    samples: list[Sample],
    out: Path,
    *,
    on_verdict: Callable[[Verdict], None] = lambda verdict: None,
    on_kept: Callable[[int], None] = lambda count: None,
) -> list[Verdict]:
    path = out / VERDICTS
    by_key = {sample.key: sample for sample in samples}
    with Journal(path) as journal:
        done = _read_done(samples, path)
        on_kept(len(done))
        read: dict[tuple[str, int], Extraction] = {}
        lock = threading.Lock()

        def keep(verdict: Verdict) -> None:
            sample = by_key[verdict.instance, verdict.sample]
            verdict = annotate_extraction(replace(verdict, answer_sha256=sample.sha256), read[sample.key])
            journal.append(verdict.as_record())
            with lock:
                done[sample.key] = verdict
                on_verdict(verdict)

        tasks = []
        for sample in samples:
            if sample.key in done:
                continue
            instance = benchmark.instances[sample.instance]
            found = read[sample.key] = find_code(sample, instance.qualname)
            if found.code is None:
                keep(reject(instance, sample.sample, Status.NO_CODE, found.reason))
            else:
                tasks.append(Task(instance, found.code, sample.sample))
        pool.run(tasks, lambda task, verdict: keep(verdict))
        verdicts = [done[sample.key] for sample in samples]
        rewrite(path, (verdict.as_record() for verdict in verdicts))
    return verdicts


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
        self._pending: dict[int, Future[Verdict]] = {}
        pool.open_caches(pool.workers)
        # daemons, so that a program that does not close the judge can still end
        self._threads = [threading.Thread(target=self._serve, args=[cache], daemon=True) for cache in pool.caches]
        for thread in self._threads:
            thread.start()

    def judge(self, sample: Sample, instance: Instance) -> Verdict:
        """The verdict that `evaluate` gives. Blocks until it is there."""
        found = find_code(sample, instance.qualname)
        if found.code is None:
            verdict = reject(instance, sample.sample, Status.NO_CODE, found.reason)
        else:
            verdict = self._run(Task(instance, found.code, sample.sample))
        return annotate_extraction(replace(verdict, answer_sha256=sample.sha256), found)

    def close(self) -> None:
        """Stop the running samples and drop the waiting ones. Their callers get an error and no verdict."""
        self._queue.cancel()
        self._fail_pending()
        for thread in self._threads:
            thread.join()
        remove_groups()

    def _run(self, task: Task) -> Verdict:
        future = self._pending[id(task)] = Future()
        self._queue.add(task)
        if not self._queue.is_open:
            self._fail_pending()
        return future.result()

    def _serve(self, cache: WorkerCache[Warm]) -> None:
        stop_event.set(self._queue.stop)
        try:
            with suppress(Interrupted):
                while self._queue.is_open:
                    self.pool.run_thread(self._queue, cache, self._resolve)
        finally:  # without this thread, nobody may be left to judge the pending samples
            self._queue.cancel()
            self._fail_pending()

    def _resolve(self, task: Task, verdict: Verdict) -> None:
        future = self._pending.pop(id(task), None)
        if future is not None:
            future.set_result(verdict)

    def _fail_pending(self) -> None:
        for future in [self._pending.pop(key, None) for key in list(self._pending)]:
            if future is not None:
                future.set_exception(DLBenchError("the judge was stopped", fix="start the same command again"))
