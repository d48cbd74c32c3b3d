"""Which projects does a step of construction go through, and what is told of those that fail?"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dlbench.cli.engine import HERE, Where

if TYPE_CHECKING:
    from dlbench.construction.pipeline import Pipeline
    from dlbench.construction.project_spec import ProjectSpec
    from dlbench.execution import Engine


def read_chosen(names: list[str] | None, projects: Path | None) -> "list[ProjectSpec]":
    from dlbench.construction.project_spec import ProjectSpec, read_specs
    from dlbench.errors import DLBenchError

    known = {wish.name: wish for wish in read_specs(projects)} if projects else {}
    if not names and not known:
        raise DLBenchError("no project is named", fix="give names of packages, or --projects FILE")
    return [known.get(name, ProjectSpec(name)) for name in names] if names else list(known.values())


def make_patient_engine(sandbox: str, where: Where = HERE) -> "Engine":
    from dataclasses import replace

    from dlbench.cli.engine import make_engine

    engine = make_engine(sandbox, where=where)
    return replace(engine, limits=replace(engine.limits, load_seconds=300.0, test_seconds=25.0))


def make_chains(
    names: list[str] | None, projects: Path | None, work: Path, sandbox: str, workers: int = 1, where: Where = HERE
) -> "list[Pipeline]":
    from dlbench.cli.output import log
    from dlbench.construction.pipeline import Pipeline
    from dlbench.construction.work_folder import WorkFolder

    engine = make_patient_engine(sandbox, where)
    return [Pipeline(engine, WorkFolder(work), wish, log, workers=workers) for wish in read_chosen(names, projects)]


def do_each(chains: "list[Pipeline]", do: "Callable[[Pipeline], None]") -> None:
    """Does a step with every project; those that fail are told at the end, when the others have had their turn."""
    from dlbench.cli.output import log
    from dlbench.construction.work_folder import explain, for_each_project
    from dlbench.errors import DLBenchError

    failed = for_each_project(chains[0].work, chains, do, log)
    for name, error in failed.items():
        told = str(error) if isinstance(error, DLBenchError) else explain(error)
        typer.echo(f"{name}: failed: {told}", err=True)
    if failed:
        raise typer.Exit(1)
