"""Build the engine and the worker pool that a command's options describe, and prepare projects."""

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from dlbench.cli.app import CORES, WorkerOptions, close_on_exit, need
from dlbench.cli.output import log
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.cli.app import ExecutionOptions
    from dlbench.dataset import Benchmark, Instance
    from dlbench.execution import Engine
    from dlbench.execution.pool import Pool
    from dlbench.execution.worker_cache import Executor
    from dlbench.workspace import Prepared


def Where(executor: str = "local", ray_address: str | None = None, workers: int | None = None) -> WorkerOptions:
    return WorkerOptions(workers, executor, ray_address)


HERE = WorkerOptions()


def check_mode(mode: str) -> None:
    from dlbench.execution.pool import MODES

    if mode not in MODES:
        raise DLBenchError(f"there is no mode {mode!r}", fix=f"use one of: {', '.join(MODES)}")


def make_engine(
    sandbox: "str | WorkerOptions", timeout: float | None = None, memory: int | None = None, where: WorkerOptions = HERE
) -> "Engine":
    """The engine for a command; limits left out are the engine's defaults."""
    options = sandbox if isinstance(sandbox, WorkerOptions) else replace(where, sandbox=sandbox)
    return _make_engine(options, timeout, memory)


def _make_engine(options: WorkerOptions, timeout: float | None = None, memory: int | None = None) -> "Engine":
    from dlbench.execution import Engine, Limits, choose_confinement, find_confinements
    from dlbench.execution.sandbox import remove_leftovers

    remove_leftovers()
    sandbox = choose_confinement(options.sandbox)
    if sandbox.warning:
        typer.echo(f"dlbench: warning: {sandbox.warning}", err=True)
    elif options.sandbox == "auto" and sandbox.name != "bubblewrap":
        strongest, obstacle = find_confinements()[0]
        log(f"{strongest.name} is not available ({obstacle}); using {sandbox.name} instead")
    values = {"test_seconds": timeout, "memory_mb": memory}
    limits = Limits(**{name: value for name, value in values.items() if value is not None})  # type: ignore[arg-type]
    return Engine(sandbox, limits, seats=_open_executor(options, limits.memory_mb))


def make_judging_engine(options: "ExecutionOptions") -> "Engine":
    """The engine for a command that judges candidates. A wrong --mode is an error before anything else is done."""
    from dlbench.execution.pool import MODES

    if options.mode not in MODES:
        raise DLBenchError(f"there is no mode {options.mode!r}", fix=f"use one of: {', '.join(MODES)}")
    return make_engine(options, options.timeout, options.memory)


def _open_executor(options: WorkerOptions, memory_mb: int) -> "Executor | None":
    from dlbench.execution.ray_cluster import open_seats

    if options.executor == "ray":
        need("ray", "ray")
        log("connecting to Ray")
    executor = open_seats(
        options.executor,
        options.ray_address,
        workers=options.workers,
        cores=CORES,
        memory_mb=memory_mb,
        sandbox=options.sandbox,
        log=log,
    )
    if executor is not None:
        close_on_exit(executor.close)
    return executor


def make_pool(
    engine: "Engine", prepared: "dict[str, Prepared]", workers: int, mode: str = "auto", memory: int = 6144
) -> "Pool":
    from dlbench.execution.pool import Pool

    return Pool(engine, prepared, workers=workers, mode=mode, memory_mb=memory)


def prepare_projects(benchmark: "Benchmark", instances: "list[Instance]") -> "dict[str, Prepared]":
    from dlbench.workspace import prepare

    names = dict.fromkeys(instance.project for instance in instances)
    return {name: prepare(benchmark.projects[name], benchmark.root, log) for name in names}
