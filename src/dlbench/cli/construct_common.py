"""What the construction commands share: their group, the projects of a step, and running the step on each."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from dlbench.cli.app import WorkerOptions, add_group
from dlbench.cli.engine import make_engine
from dlbench.cli.output import log
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.construction.pipeline import Pipeline
    from dlbench.construction.project_spec import ProjectSpec
    from dlbench.execution import Engine

construct = add_group("construct", "Make verified instances out of Python projects, in nine steps.")

WorkOption = Annotated[Path, typer.Option("--work", help="Folder for the results of every step.")]
WORK = Path("construction")


@dataclass(frozen=True)
class ProjectOptions:
    """The projects of a construction step."""

    PLACE: ClassVar = 0
    names: Annotated[list[str] | None, typer.Argument(help="Package names; all of --projects by default.")] = None
    projects: Annotated[Path | None, typer.Option(help="TOML file: projects with what is known about each.")] = None
    work: WorkOption = WORK

    def read(self) -> "list[ProjectSpec]":
        from dlbench.construction.project_spec import ProjectSpec, read_specs

        known = {spec.name: spec for spec in read_specs(self.projects)} if self.projects else {}
        if not self.names and not known:
            raise DLBenchError("no project is given", fix="give package names, or --projects FILE")
        return [known.get(name, ProjectSpec(name)) for name in self.names] if self.names else list(known.values())

    def open(self, options: WorkerOptions) -> "list[Pipeline]":
        from dlbench.construction.pipeline import Pipeline
        from dlbench.construction.work_folder import WorkFolder

        engine = make_construction_engine(options)
        return [Pipeline(engine, WorkFolder(self.work), spec, log, workers=options.count) for spec in self.read()]

    def run_step(self, options: WorkerOptions, do: "Callable[[Pipeline], str]") -> None:
        """Run a step on every project, print what it returns, and report failures at the end, with status 1."""
        from dlbench.construction.work_folder import explain, for_each_project

        pipelines = self.open(options)
        failed = for_each_project(
            pipelines[0].work, pipelines, lambda pipeline: typer.echo(f"{pipeline.name}: {do(pipeline)}"), log
        )
        for name, error in failed.items():
            reason = str(error) if isinstance(error, DLBenchError) else explain(error)
            typer.echo(f"{name}: failed: {reason}", err=True)
        if failed:
            raise typer.Exit(1)


def make_construction_engine(options: WorkerOptions) -> "Engine":
    """An engine with longer time limits, since nothing is known about the tests yet."""
    engine = make_engine(options)
    return replace(engine, limits=replace(engine.limits, load_seconds=300.0, test_seconds=25.0))
