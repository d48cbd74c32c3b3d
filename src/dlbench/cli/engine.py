"""Build the engine and the worker pool that a command's options describe, prepare projects, and judge samples."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dlbench import dataset
from dlbench.cli.app import CORES, ExecutionOptions, WorkerOptions, need, on_exit
from dlbench.cli.output import counted, log
from dlbench.errors import DLBenchError
from dlbench.registry import find_known
from dlbench.runs.verdict import Confirm, Verdict

if TYPE_CHECKING:
    from dlbench.dataset.tracks import TrackBenchmark
    from dlbench.execution import Engine
    from dlbench.execution.evaluate import AnswerJudge, Evaluation
    from dlbench.execution.pool import Pool
    from dlbench.execution.sandbox import Cell, Launch, Sandbox
    from dlbench.runs.samples import Sample
    from dlbench.workspace import Prepared


_BUILDS = 2
"""Environments built at once."""


class _AnnouncedSandbox:
    """A sandbox whose notice is shown once, when code is run in it; most commands run none."""

    def __init__(self, sandbox: "Sandbox", notice: str) -> None:
        self.name, self.confines, self.warning = sandbox.name, sandbox.confines, sandbox.warning
        self.find_obstacle = sandbox.find_obstacle
        self._launch, self._notices = sandbox.launch, [notice]

    def launch(self, cell: "Cell", channel: int) -> "Launch":
        with suppress(IndexError):  # of several threads one gets it
            log(self._notices.pop())
        return self._launch(cell, channel)


def make_engine(
    options: WorkerOptions,
    timeout: float | None = None,
    memory: int | None = None,
    confirm: Confirm = Confirm.UNUSUAL,
    plus: Path | None = None,
    costs: Path | None = None,
) -> "Engine":
    """The engine for a command; limits left out are the engine's defaults. `plus`, `costs`: the folder of a benchmark
    whose further inputs are used, and on whose workloads costs are measured."""
    from dlbench.dataset.optimise import read_eligible
    from dlbench.dataset.plus import read_plus
    from dlbench.execution import Engine, Limits, choose_sandbox, find_sandboxes
    from dlbench.execution.ray_cluster.executor import open_executor
    from dlbench.execution.sandbox import remove_leftovers

    remove_leftovers()
    sandbox = choose_sandbox(options.sandbox)
    if sandbox.warning:
        typer.echo(f"dlbench: warning: {sandbox.warning}", err=True)
    strongest, obstacle = find_sandboxes()[0]
    if options.sandbox == "auto" and sandbox.name != strongest.name:
        notice = f"{strongest.name} is not available ({obstacle}); using {sandbox.name} instead"
        sandbox = _AnnouncedSandbox(sandbox, notice)
    values = {"test_seconds": timeout, "memory_mb": memory}
    limits = Limits(**{name: value for name, value in values.items() if value is not None})  # type: ignore[arg-type]
    if options.executor == "ray":
        need("ray", "ray")
        log("connecting to Ray")
    executor = open_executor(
        options.executor,
        options.ray_address,
        workers=options.workers,
        cores=CORES,
        memory_mb=limits.memory_mb,
        sandbox=options.sandbox,
        log=log,
    )
    if executor is not None:
        on_exit.get().callback(executor.close)
    return Engine(
        sandbox,
        limits,
        executor=executor,
        confirm=confirm,
        plus=read_plus(plus) if plus else {},
        workloads=read_eligible(costs) if costs else {},
    )


def make_judging_engine(options: ExecutionOptions, plus: Path | None = None, costs: Path | None = None) -> "Engine":
    """The engine for a command that judges candidates. A wrong --mode is an error before anything else is done."""
    from dlbench.execution.pool import MODES

    if options.mode not in MODES:
        raise DLBenchError(f"there is no mode {options.mode!r}", fix=f"use one of: {', '.join(MODES)}")
    return make_engine(options, options.timeout, options.memory, options.confirm, plus, costs)


def make_pool(engine: "Engine", prepared: "dict[str, Prepared]", options: ExecutionOptions) -> "Pool":
    from dlbench.execution.pool import Pool

    return Pool(engine, prepared, workers=options.count, mode=options.mode, memory_mb=options.pool_memory)


def prepare_projects(benchmark: "dataset.Benchmark", instances: "list[dataset.Instance]") -> "dict[str, Prepared]":
    return prepare_named(benchmark, [instance.project for instance in instances])


def prepare_named(benchmark: "TrackBenchmark", names: "Iterable[str]") -> "dict[str, Prepared]":
    known = (find_known(name, benchmark.projects, "project", str(benchmark.root)) for name in dict.fromkeys(names))
    return {one.project.name: one for one in prepare_each(known, benchmark.root)}


def prepare_each(projects: "Iterable[dataset.Project]", root: "Path") -> "list[Prepared]":
    """`root`: the benchmark's folder."""
    from dlbench.workspace import prepare

    groups: dict[str, list[dataset.Project]] = {}
    for project in projects:
        groups.setdefault(project.environment, []).append(project)

    def prepare_group(projects: "list[dataset.Project]") -> "list[Prepared]":
        return [prepare(project, root, log) for project in projects]

    with ThreadPoolExecutor(_BUILDS) as threads:  # one environment is downloaded while another is compiled
        return [one for found in threads.map(prepare_group, groups.values()) for one in found]


def judge_into(
    benchmark: "dataset.Benchmark", samples: "list[Sample]", out: Path, engine: "Engine", execution: ExecutionOptions
) -> "list[Verdict]":
    from dlbench.execution.sample_judge import SampleJudge

    instances = [benchmark.instances[key] for key in dict.fromkeys(sample.instance for sample in samples)]
    pool = make_pool(engine, prepare_projects(benchmark, instances), execution)
    with judging(benchmark, lambda: SampleJudge(pool), samples, out, len(samples)) as evaluation:
        return evaluation.finish(samples)


@contextmanager
def judging(
    benchmark: "TrackBenchmark", open_judge: "Callable[[], AnswerJudge]", kept: "list[Sample]", out: Path, total: int
) -> "Iterator[Evaluation]":
    """An evaluation that shows its progress; `kept`: the samples that are there, `total`: those to come included."""
    from dlbench.execution.evaluate import judge_samples

    with counted("judging", total) as advance:

        def show(verdict: Verdict) -> None:
            advance(f"{verdict.instance}: {verdict.status}")

        with judge_samples(benchmark, open_judge, kept, out, on_verdict=show, on_kept=advance.keep) as evaluation:
            yield evaluation
