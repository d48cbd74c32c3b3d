"""The Python interface: load a benchmark, evaluate samples, score verdicts.

It gives the guarantees of the commands: candidates are confined, with `out` every verdict is on disk before the next
candidate runs, and an error that the user can fix is a `DLBenchError`.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dlbench.dataset import Benchmark, Selection, select
from dlbench.dataset import load as load_whole
from dlbench.errors import DLBenchError
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.evaluate import evaluate as judge_all
from dlbench.execution.pool import MODES, Pool
from dlbench.execution.ray_cluster.executor import open_executor
from dlbench.runs import read_run
from dlbench.runs.samples import Sample, duplicate_sample, parse_samples, read_samples
from dlbench.runs.verdict import Confirm, Verdict
from dlbench.scoring import Summary, summarise
from dlbench.scoring.breakdowns import LABELS
from dlbench.workspace import prepare


def load(split: str = "full", root: str | Path | None = None) -> Benchmark:
    """The benchmark with the instances of a split; `root`: the folder of another benchmark."""
    whole = load_whole(Path(root) if root else None)
    return replace(whole, instances={one.id: one for one in select(whole, Selection(split=split))})


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
    confirm: str = "unusual",
) -> list[Verdict]:
    """A verdict for each sample, in order. `samples`: a JSONL file, or records of one.

    With a folder `out` each verdict is written to `verdicts.jsonl` at once, and a second call resumes an interrupted
    one. `timeout` (seconds) and `memory` (MiB) apply to one candidate. `executor="ray"` runs on a cluster.
    `confirm="all"` replays every pass (docs/threat-model.md).
    """
    whole = benchmark or load_whole()
    parsed = _read(samples, whole)
    if mode not in MODES:
        raise DLBenchError(f"there is no mode {mode!r}", fix=f"use one of: {', '.join(MODES)}")
    limits, cores = Limits(test_seconds=timeout, memory_mb=memory), os.cpu_count() or 1
    with ExitStack() as stack:
        cluster = open_executor(executor, ray_address, workers=workers, cores=cores, memory_mb=memory, sandbox=sandbox)
        if cluster is not None:
            stack.callback(cluster.close)
        engine = Engine(choose_sandbox(sandbox), limits, executor=cluster, confirm=_read_confirm(confirm))
        projects = dict.fromkeys(whole.instances[sample.instance].project for sample in parsed)
        prepared = {name: prepare(whole.projects[name], whole.root) for name in projects}
        pool = Pool(engine, prepared, workers=workers or cores, mode=mode)
        folder = Path(out) if out else Path(stack.enter_context(TemporaryDirectory(prefix="dlbench-")))
        return judge_all(whole, pool, parsed, folder)


def _read_confirm(name: str) -> Confirm:
    if name not in set(Confirm):
        raise DLBenchError(f"there is no confirmation {name!r}", fix=f"use one of: {', '.join(Confirm)}")
    return Confirm(name)


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
