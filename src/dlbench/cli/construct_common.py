"""Select the projects of a construction step, run the step on each, and report failures."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dlbench.cli.app import WorkerOptions

if TYPE_CHECKING:
    from dlbench.construction.pipeline import Pipeline
    from dlbench.construction.project_spec import ProjectSpec
    from dlbench.execution import Engine


def read_chosen(names: list[str] | None, projects: Path | None) -> "list[ProjectSpec]":
    from dlbench.construction.project_spec import ProjectSpec, read_specs
    from dlbench.errors import DLBenchError

    known = {spec.name: spec for spec in read_specs(projects)} if projects else {}
    if not names and not known:
        raise DLBenchError("no project is given", fix="give package names, or --projects FILE")
    return [known.get(name, ProjectSpec(name)) for name in names] if names else list(known.values())


def make_construction_engine(options: WorkerOptions) -> "Engine":
    """An engine with longer time limits, since nothing is known about the tests yet."""
    from dataclasses import replace

    from dlbench.cli.engine import make_engine

    engine = make_engine(options)
    return replace(engine, limits=replace(engine.limits, load_seconds=300.0, test_seconds=25.0))


def make_pipelines(
    names: list[str] | None, projects: Path | None, work: Path, options: WorkerOptions
) -> "list[Pipeline]":
    from dlbench.cli.output import log
    from dlbench.construction.pipeline import Pipeline
    from dlbench.construction.work_folder import WorkFolder

    engine = make_construction_engine(options)
    return [
        Pipeline(engine, WorkFolder(work), spec, log, workers=options.count) for spec in read_chosen(names, projects)
    ]


def run_step(pipelines: "list[Pipeline]", do: "Callable[[Pipeline], None]") -> None:
    """Run a step on every project and report failures at the end. Exits with status 1 if any failed."""
    from dlbench.cli.output import log
    from dlbench.construction.work_folder import explain, for_each_project
    from dlbench.errors import DLBenchError

    failed = for_each_project(pipelines[0].work, pipelines, do, log)
    for name, error in failed.items():
        reason = str(error) if isinstance(error, DLBenchError) else explain(error)
        typer.echo(f"{name}: failed: {reason}", err=True)
    if failed:
        raise typer.Exit(1)
