"""The Python interface: load a benchmark, judge code, evaluate samples, score verdicts.

It gives the guarantees of the commands: candidates are confined, with `out` every verdict is on disk before the next
candidate runs, and an error that the user can fix is a `DLBenchError`.
"""

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, Self

from dlbench.dataset import Benchmark, Instance, Selection, select
from dlbench.dataset import load as load_whole
from dlbench.dataset.plus import read_plus
from dlbench.errors import DLBenchError
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.evaluate import evaluate as judge_all
from dlbench.execution.pool import MODES, Pool, judge_fresh, judge_warm
from dlbench.execution.ray_cluster.executor import open_executor
from dlbench.execution.sample_judge import SampleJudge
from dlbench.registry import find_known
from dlbench.runs import read_run
from dlbench.runs.samples import Sample, duplicate_sample, parse_samples, read_samples
from dlbench.runs.verdict import Confirm, Reward, Verdict
from dlbench.scoring import Summary, summarise
from dlbench.scoring.breakdowns import LABELS
from dlbench.validation.kills import judge_fail_fast, judge_graded
from dlbench.workspace import prepare
from dlbench.workspace.home import Log, quiet


def load(split: str = "full", root: str | Path | None = None) -> Benchmark:
    """The benchmark with the instances of a split; `root`: the folder of another benchmark."""
    whole = load_whole(Path(root) if root else None)
    return replace(whole, instances={one.id: one for one in select(whole, Selection(split=split))})


class Judge:
    """Judges candidates of any number of threads and asyncio tasks, with workers that stay warm. Close it after use:

        with dlbench.Judge() as judge:
            verdict = judge.judge("albucore/albucore.arithmetic.add", code)

    Options as those of `evaluate`. A project is prepared with its first candidate, or by `prepare`. `fail_fast`: stop a
    candidate at its first failure, the most telling tests first. `graded`: allow `verdict.reward("graded")`. `cached`:
    how many verdicts are kept for equal code. `plus`: try candidates that pass on further inputs (docs/plus.md).
    """

    def __init__(
        self,
        benchmark: Benchmark | None = None,
        *,
        workers: int | None = None,
        sandbox: str = "auto",
        mode: str = "auto",
        timeout: float = 60.0,
        memory: int = 4096,
        executor: str = "local",
        ray_address: str | None = None,
        confirm: str = "all",
        pool_memory: float = 6144.0,
        fail_fast: bool = False,
        graded: bool = False,
        cached: int = 10_000,
        plus: bool = True,
        log: Log = quiet,
    ) -> None:
        self.benchmark = benchmark or load_whole()
        if fail_fast and graded:
            raise DLBenchError("a graded reward needs all tests", fix="choose one of fail_fast and graded")
        for name, value, least in (("workers", workers, 1), ("timeout", timeout, 0.1), ("memory", memory, 64)):
            if value is not None and value < least:
                raise DLBenchError(f"{name} is {value}", fix=f"pass {least} or more")
        _find_option(mode, MODES, "mode")
        _find_option(confirm, tuple(Confirm), "confirmation")
        limits, cores = Limits(test_seconds=timeout, memory_mb=memory), os.cpu_count() or 1
        chosen = choose_sandbox(sandbox)
        self._cluster = open_executor(
            executor, ray_address, workers=workers, cores=cores, memory_mb=memory, sandbox=sandbox
        )
        engine = Engine(
            chosen,
            limits,
            executor=self._cluster,
            confirm=Confirm(confirm),
            plus=read_plus(self.benchmark.root) if plus else {},
        )
        judge = judge_fresh if mode == "fresh" else judge_warm
        if fail_fast or graded:
            judge = partial(judge_fail_fast if fail_fast else judge_graded, judge=judge)
        self.pool = Pool(engine, {}, workers=workers or cores, mode=mode, memory_mb=pool_memory, function=judge)
        self.rewards = tuple(Reward)[: 2 if fail_fast else 4 if graded else 3]
        """The kinds of rewards that every verdict has."""
        self._cached, self._log, self._lock, self._building = cached, log, Lock(), Lock()
        self._process, self.is_closed = os.getpid(), False

    @cached_property
    def _judge(self) -> SampleJudge:
        return SampleJudge(self.pool, self._cached)

    @property
    def hits(self) -> int:
        """Candidates that got the verdict of equal code."""
        with self._lock:
            return self._judge.hits

    @property
    def waiting(self) -> int:
        """Candidates without a verdict."""
        with self._lock:
            return self._judge.waiting

    def prepare(self, *projects: str) -> None:
        """Build the environments of these projects, or of all that the benchmark's instances need."""
        self._check_usable()
        for name in projects or dict.fromkeys(one.project for one in self.benchmark.instances.values()):
            if name in self.pool.prepared:
                continue  # without the lock: another project may be built for minutes
            with self._building:
                if name not in self.pool.prepared:
                    project = find_known(name, self.benchmark.projects, "project")
                    self.pool.prepared[name] = prepare(project, self.benchmark.root, self._log)

    def submit(self, sample: Sample) -> "Future[Verdict]":
        """Judge a sample without waiting for its verdict."""
        instance = find_known(sample.instance, self.benchmark.instances, "instance")
        self.prepare(instance.project)
        with self._lock:
            judge = self._judge
        return judge.submit(sample, instance)

    def judge(self, instance: str | Instance, code: str, *, is_answer: bool = False) -> Verdict:
        """The verdict on code, or with `is_answer` on the code in a model's answer."""
        return self.submit(_make_sample(instance, 0, code, is_answer)).result()

    async def ajudge(self, instance: str | Instance, code: str, *, is_answer: bool = False) -> Verdict:
        """As `judge`; other tasks of the event loop go on."""
        sample = _make_sample(instance, 0, code, is_answer)
        return await asyncio.wrap_future(await asyncio.to_thread(self.submit, sample))

    def judge_many(
        self, candidates: Iterable[tuple[str | Instance, str]], *, is_answer: bool = False, ahead: int = 1000
    ) -> Iterator[Verdict]:
        """Verdicts in the order of completion; `verdict.sample` is the place of its candidate. At most `ahead`
        candidates are read before their verdicts are taken."""
        done: SimpleQueue[Future[Verdict]] = SimpleQueue()
        running = 0
        for place, (instance, code) in enumerate(candidates):
            self.submit(_make_sample(instance, place, code, is_answer)).add_done_callback(done.put)
            running += 1
            while running >= ahead or not done.empty():
                yield done.get().result()
                running -= 1
        for _ in range(running):
            yield done.get().result()

    def close(self) -> None:
        """Stop the workers. A caller that waits gets an error."""
        if self._process != os.getpid():
            return  # the workers belong to the process that opened the judge
        with self._lock:
            self.is_closed = True
            if "_judge" in self.__dict__:
                self._judge.close()
            if self._cluster is not None:
                self._cluster.close()

    def _check_usable(self) -> None:
        # the threads that serve the queue do not exist in a forked process, so a caller would wait forever
        if self._process != os.getpid():
            fix = "open a judge in each process, or let all of them ask one `dlbench serve`"
            raise DLBenchError("the judge was opened in another process", fix=fix)
        if self.is_closed:
            raise DLBenchError("the judge is closed", fix="open another")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _make_sample(instance: str | Instance, number: int, code: str, is_answer: bool) -> Sample:
    key = instance if isinstance(instance, str) else instance.id
    if not isinstance(code, str):
        fix = "pass the `.code` of what `dlbench.extract` returns, or the whole answer with is_answer=True"
        raise DLBenchError(f"the candidate is not a text but {type(code).__name__}", where=key, fix=fix)
    return Sample(key, number, code, is_code=not is_answer)


def _find_option(value: str, known: Sequence[str], what: str) -> None:
    if value not in known:
        raise DLBenchError(f"there is no {what} {value!r}", fix=f"use one of: {', '.join(known)}")


def evaluate(
    samples: str | Path | Iterable[Mapping[str, Any] | Sample],
    benchmark: Benchmark | None = None,
    *,
    out: str | Path | None = None,
    workers: int | None = None,
    sandbox: str = "auto",
    mode: str = "auto",
    timeout: float = 60.0,
    memory: int = 4096,
    executor: str = "local",
    ray_address: str | None = None,
    confirm: str = "all",
    plus: bool = True,
) -> list[Verdict]:
    """A verdict for each sample, in order. `samples`: a JSONL file, or records of one.

    With a folder `out` each verdict is written to `verdicts.jsonl` at once, and a second call resumes an interrupted
    one. `timeout` (seconds) and `memory` (MiB) apply to one candidate. `executor="ray"` runs on a cluster.
    Every pass is replayed; with `confirm="unusual"`, of unusual code only (docs/threat-model.md). `plus` tries passes
    on further inputs (docs/plus.md).
    """
    whole = benchmark or load_whole()
    parsed = _read(samples, whole)
    options: dict[str, Any] = {"timeout": timeout, "memory": memory, "executor": executor, "ray_address": ray_address}
    options |= {"workers": workers, "sandbox": sandbox, "mode": mode, "confirm": confirm, "plus": plus}
    with Judge(whole, **options) as judge, TemporaryDirectory(prefix="dlbench-") as temporary:
        judge.prepare(*dict.fromkeys(whole.instances[sample.instance].project for sample in parsed))
        return judge_all(whole, judge.pool, parsed, Path(out or temporary))


def score(
    verdicts: str | Path | Iterable[Verdict | Mapping[str, Any]],
    benchmark: Benchmark | None = None,
    axes: Sequence[str] = LABELS,
) -> Summary:
    """pass@k, test pass rate and intervals, overall and by `axes`. `verdicts`: a run folder, verdicts, or records."""
    if isinstance(verdicts, str | Path):
        records = read_run(Path(verdicts)).verdicts
    else:
        parsed = [one if isinstance(one, Verdict) else Verdict.from_record(dict(one), "verdicts") for one in verdicts]
        _refuse_duplicates(parsed)
        records = [one.as_record() for one in parsed]
    return summarise(records, benchmark or load_whole(), axes)


def _refuse_duplicates(verdicts: Sequence[Verdict]) -> None:
    """Two verdicts on one sample would count as two samples."""
    seen: set[tuple[str, int]] = set()
    for number, verdict in enumerate(verdicts, 1):
        key = verdict.instance, verdict.sample
        if key in seen:
            raise duplicate_sample(*key, f"verdicts:{number}")
        seen.add(key)


def _read(samples: str | Path | Iterable[Mapping[str, Any] | Sample], benchmark: Benchmark) -> list[Sample]:
    if isinstance(samples, str | Path):
        return read_samples(Path(samples), benchmark)
    records = [_as_record(one) if isinstance(one, Sample) else dict(one) for one in samples]
    return parse_samples(enumerate(records, 1), "samples", benchmark)


def _as_record(sample: Sample) -> dict[str, Any]:
    reason = {"finish_reason": "length"} if sample.is_truncated else {}
    text = {"code" if sample.is_code else "answer": sample.text}
    return {"instance": sample.instance, "sample": sample.sample} | text | reason
