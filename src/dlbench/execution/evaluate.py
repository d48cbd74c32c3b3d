"""Judge the samples of a file or of a run under way, resumably.

An evaluation writes every verdict to disk before its worker takes the next sample. A second start judges the rest, and
harness errors again.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from dlbench.dataset import Benchmark
from dlbench.dataset.tracks import TrackBenchmark
from dlbench.errors import DLBenchError
from dlbench.execution.pool import Pool
from dlbench.execution.sample_judge import OnVerdict, SampleJudge
from dlbench.jsonl import Journal, read_lines, rewrite
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import VERDICTS, Status, Verdict

OnKept = Callable[[int], None]


class AnswerJudge(Protocol):
    """Judges answers to the instances of one track."""

    def submit(self, sample: Sample, instance: Any, keep: OnVerdict = ...) -> "Future[Verdict]":  # noqa: ANN401
        """`keep` is called before the worker takes the next sample."""

    def close(self) -> None: ...


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
    with judge_samples(
        benchmark, lambda: SampleJudge(pool), kept, out, on_verdict=on_verdict, on_kept=on_kept
    ) as evaluation:
        yield evaluation


@contextmanager
def judge_samples(
    benchmark: TrackBenchmark,
    open_judge: Callable[[], AnswerJudge],
    kept: list[Sample],
    out: Path,
    *,
    on_verdict: OnVerdict,
    on_kept: OnKept,
) -> Iterator["Evaluation"]:
    """Judge the samples of earlier starts, and those that are added. Leaving early stops the running candidates.

    `on_kept` gets the number of verdicts of earlier starts, `on_verdict` each new one.
    """
    with Journal(out / VERDICTS) as journal, closing(open_judge()) as judge:
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
        benchmark: TrackBenchmark,
        judge: AnswerJudge,
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
