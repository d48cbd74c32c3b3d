"""How do commands that run candidates get an engine, and their projects ready? With one warning, and with progress."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from dlbench.cli.app import CORES, end_with_command, need
from dlbench.cli.output import log
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.dataset import Benchmark, Instance
    from dlbench.execution import Engine
    from dlbench.execution.pool import Pool
    from dlbench.execution.worker_cache import Executor
    from dlbench.workspace import Prepared


@dataclass(frozen=True)
class Where:
    """Where candidates are judged, as the user said it."""

    executor: str = "local"
    ray_address: str | None = None
    workers: int | None = None


HERE = Where()


def make_engine(sandbox: str, timeout: float | None = None, memory: int | None = None, where: Where = HERE) -> "Engine":
    from dlbench.execution import Engine, Limits, choose_sandbox, find_sandboxes
    from dlbench.execution.sandbox import remove_leftovers

    remove_leftovers()
    confinement = choose_sandbox(sandbox)
    if confinement.warning:
        typer.echo(f"dlbench: warning: {confinement.warning}", err=True)
    elif sandbox == "auto" and confinement.name != "bubblewrap":
        strongest, obstacle = find_sandboxes()[0]
        log(f"{strongest.name} cannot be used here ({obstacle}); {confinement.name} confines candidates meanwhile")
    given = {"test_seconds": timeout, "memory_mb": memory}
    limits = Limits(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    return Engine(confinement, limits, executor=_find_seats(where, sandbox, limits.memory_mb))


def _find_seats(where: Where, sandbox: str, memory_mb: int) -> "Executor | None":
    from dlbench.execution.ray_cluster import open_executor

    if where.executor == "ray":
        need("ray", "ray")
        log("looking for Ray")
    seats = open_executor(
        where.executor,
        where.ray_address,
        workers=where.workers,
        cores=CORES,
        memory_mb=memory_mb,
        sandbox=sandbox,
        log=log,
    )
    if seats is not None:
        end_with_command(seats.close)
    return seats


def check_mode(mode: str) -> None:
    """Before a model is asked or a project fetched: a typing mistake should cost nothing."""
    from dlbench.execution.pool import MODES

    if mode not in MODES:
        raise DLBenchError(f"there is no mode {mode!r}", fix=f"use one of: {', '.join(MODES)}")


def make_pool(
    engine: "Engine", prepared: "dict[str, Prepared]", workers: int, mode: str = "auto", memory: int = 6144
) -> "Pool":
    from dlbench.execution.pool import Pool

    return Pool(engine, prepared, workers=workers, mode=mode, memory_mb=memory)


def prepare_projects(benchmark: "Benchmark", instances: "list[Instance]") -> "dict[str, Prepared]":
    from dlbench.workspace import prepare

    names = dict.fromkeys(instance.project for instance in instances)
    return {name: prepare(benchmark.projects[name], benchmark.root, log) for name in names}
