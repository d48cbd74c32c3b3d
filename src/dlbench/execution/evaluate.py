"""How do many samples become verdicts, so that a kill at any moment loses nothing and counts nothing twice?

Every verdict is on disk before its worker takes the next sample. A second start reads what is there, checks that it
speaks of the same answers, and does the rest; at the end the file stands in the order of the samples, as if nothing had
happened. Verdicts that were our own fault are tried again.

How are candidates judged that come one by one, from many callers, while the workers stay warm?

A pool is given all its work at once and stops its workers with the last of it. Where another program does the asking,
answers come whenever a model has written one, and a worker for each of them would import the project each time. A desk
keeps a pool's threads between them: each takes what has come, and lets go of its workers when nothing has for long.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from dlbench.dataset import Benchmark, Instance
from dlbench.errors import DLBenchError
from dlbench.execution.fresh import reject
from dlbench.execution.pool import Pool, PoolThread, Task, TaskQueue
from dlbench.execution.processes import remove_groups
from dlbench.execution.supervise import Interrupted, stop_all
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
) -> list[Verdict]:
    path = out / VERDICTS
    by_key = {sample.key: sample for sample in samples}
    with Journal(path) as journal:
        done = _read_done(samples, path)
        for verdict in done.values():
            on_verdict(verdict)
        read: dict[tuple[str, int], Extraction] = {}
        lock = Lock()

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
    """The code in a model's words, or why there is none; cut off, too, where the endpoint says so."""
    if sample.is_code:
        code, reason = (sample.text, "the code as given") if sample.text.strip() else (None, "the code is empty")
        return Extraction(code, reason, sample.is_cut)
    found = extract(sample.text, qualname)
    return replace(found, truncated=found.truncated or sample.is_cut)


def annotate_extraction(verdict: Verdict, found: Extraction) -> Verdict:
    """What was seen while the code was looked for; in the message where it explains why none was run."""
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
    """Used by any number of threads. Who opened it closes it."""

    def __init__(self, pool: Pool) -> None:
        self._work: TaskQueue[Task] = TaskQueue((), pool.estimate, is_open=True)
        self._promised: dict[int, Future[Verdict]] = {}
        pool.keepers = [PoolThread(pool, self._work) for _ in range(pool.workers)]
        # daemons: a program that forgets the desk can still end
        self._threads = [threading.Thread(target=self._serve, args=[keeper], daemon=True) for keeper in pool.keepers]
        for thread in self._threads:
            thread.start()

    def judge(self, sample: Sample, instance: Instance) -> Verdict:
        """As `evaluate` judges it. Returns when the verdict is there."""
        found = find_code(sample, instance.qualname)
        if found.code is None:
            verdict = reject(instance, sample.sample, Status.NO_CODE, found.reason)
        else:
            verdict = self._run(Task(instance, found.code, sample.sample))
        return annotate_extraction(replace(verdict, answer_sha256=sample.sha256), found)

    def close(self) -> None:
        """What is under way is stopped and what waits is given up: who still waits gets an error, and no verdict."""
        self._work.cancel()
        if self._promised:
            stop_all()
        self._give_up()
        for thread in self._threads:
            thread.join()
        remove_groups()

    def _run(self, task: Task) -> Verdict:
        promise = self._promised[id(task)] = Future()
        self._work.add(task)
        if not self._work.is_open:
            self._give_up()
        return promise.result()

    def _serve(self, keeper: PoolThread) -> None:
        try:
            with suppress(Interrupted):
                while self._work.is_open:
                    keeper.run(self._keep)
        finally:  # without this thread nobody may be left to keep the promises
            self._work.cancel()
            self._give_up()

    def _keep(self, task: Task, verdict: Verdict) -> None:
        promise = self._promised.pop(id(task), None)
        if promise is not None:
            promise.set_result(verdict)

    def _give_up(self) -> None:
        given_up = [self._promised.pop(key, None) for key in list(self._promised)]
        for promise in filter(None, given_up):
            promise.set_exception(DLBenchError("the judge was stopped", fix="start the same command again"))
