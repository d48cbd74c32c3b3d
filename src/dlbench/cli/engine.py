"""How do commands that run candidates get an engine, and their projects ready? With one warning, and with progress."""

from typing import TYPE_CHECKING

import typer

from dlbench.cli.progress import say
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.dataset import Benchmark, Instance
    from dlbench.execution import Engine
    from dlbench.execution.pool import Pool
    from dlbench.workspace import Prepared


def make_engine(sandbox: str, timeout: float | None = None, memory: int | None = None) -> "Engine":
    from dlbench.execution import Engine, Limits, choose_confinement, find_confinements
    from dlbench.execution.confinement import remove_leftovers

    remove_leftovers()
    confinement = choose_confinement(sandbox)
    if confinement.warning:
        typer.echo(f"dlbench: warning: {confinement.warning}", err=True)
    elif sandbox == "auto" and confinement.name != "bubblewrap":
        strongest, obstacle = find_confinements()[0]
        say(f"{strongest.name} cannot be used here ({obstacle}); {confinement.name} confines candidates meanwhile")
    given = {"test_seconds": timeout, "memory_mb": memory}
    return Engine(confinement, Limits(**{name: value for name, value in given.items() if value is not None}))  # type: ignore[arg-type]


def check_mode(mode: str) -> None:
    """Before a model is asked or a project fetched: a typing mistake should cost nothing."""
    from dlbench.execution.pool import MODES

    if mode not in MODES:
        raise DLBenchError(f"there is no mode {mode!r}", mend=f"use one of: {', '.join(MODES)}")


def make_pool(
    engine: "Engine", prepared: "dict[str, Prepared]", workers: int, mode: str = "auto", memory: int = 6144
) -> "Pool":
    from dlbench.execution.pool import Pool

    return Pool(engine, prepared, workers=workers, mode=mode, memory_mb=memory)


def prepare_projects(benchmark: "Benchmark", instances: "list[Instance]") -> "dict[str, Prepared]":
    from dlbench.workspace import prepare

    names = dict.fromkeys(instance.project for instance in instances)
    return {name: prepare(benchmark.projects[name], benchmark.root, say) for name in names}
