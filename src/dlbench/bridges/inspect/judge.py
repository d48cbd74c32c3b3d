"""Who judges for inspect, while it asks models at its own pace?

One desk for every set of limits, opened with the first answer and kept until the process ends: tasks, epochs and models
of one evaluation share its warm workers. Where none was opened, nothing was started.
"""

import atexit
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock

from dlbench.dataset import Benchmark, find_known, load
from dlbench.errors import DLBenchError
from dlbench.execution import Engine, Limits, choose_confinement
from dlbench.execution.evaluate import Judge
from dlbench.execution.pool import MODES, Pool
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Verdict
from dlbench.workspace import Prepared, prepare
from dlbench.workspace.home import Say, quiet


@dataclass(frozen=True)
class JudgeSettings:
    """As the options of `dlbench evaluate`; no benchmark is ours, and no number of workers is that of the cores."""

    benchmark: str | None = None
    sandbox: str = "auto"
    mode: str = "auto"
    timeout: float = 60.0
    memory: int = 4096
    workers: int | None = None


@cache
def read_benchmark(root: str | None) -> Benchmark:
    return load(Path(root) if root else None)


class InspectJudge:
    def __init__(self, terms: JudgeSettings) -> None:
        if terms.mode not in MODES:
            raise DLBenchError(f"there is no mode {terms.mode!r}", mend=f"use one of: {', '.join(MODES)}")
        self.benchmark = read_benchmark(terms.benchmark)
        self._prepared: dict[str, Prepared] = {}
        engine = Engine(choose_confinement(terms.sandbox), Limits(test_seconds=terms.timeout, memory_mb=terms.memory))
        self._pool = Pool(engine, self._prepared, workers=terms.workers or os.cpu_count() or 1, mode=terms.mode)
        self._desk: Judge | None = None
        self._lock = Lock()

    def prepare(self, project: str, say: Say = quiet) -> None:
        if project not in self._prepared:
            self._prepared[project] = prepare(self.benchmark.projects[project], self.benchmark.root, say)

    def judge(self, sample: Sample) -> Verdict:
        instance = find_known(sample.instance, self.benchmark.instances, "instance")
        with self._lock:
            self.prepare(instance.project)
            if self._desk is None:
                self._desk = Judge(self._pool)
            desk = self._desk
        return desk.judge(sample, instance)

    def close(self) -> None:
        """Who asks again gets new workers."""
        with self._lock:
            desk, self._desk = self._desk, None
        if desk is not None:
            desk.close()


_judges: dict[JudgeSettings, InspectJudge] = {}


def find_judge(terms: JudgeSettings) -> InspectJudge:
    if terms not in _judges:
        _judges[terms] = InspectJudge(terms)
    return _judges[terms]


@atexit.register
def close_judges() -> None:
    for judge in _judges.values():
        judge.close()
