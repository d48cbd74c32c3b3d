"""What the construction commands share: their group, the projects of a step, and running the step on each."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from dlbench.cli.app import WorkerOptions, add_group, need
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
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Packages on the index, ./FOLDER, a wheel or source archive, git+URL[@REV]; all of --projects by "
            "default. Write index:NAME where a folder has the package's name."
        ),
    ] = None
    projects: Annotated[Path | None, typer.Option(help="TOML file: projects with what is known about each.")] = None
    work: WorkOption = WORK

    def read(self) -> "list[ProjectSpec]":
        from dlbench.construction.project_spec import parse_spec, read_specs

        known = {spec.name: spec for spec in read_specs(self.projects)} if self.projects else {}
        if not self.names and not known:
            raise DLBenchError("no project is given", fix="give package names, folders or --projects FILE")
        specs = [known.get(name) or parse_spec(name) for name in self.names] if self.names else list(known.values())
        if twice := [name for name, count in Counter(spec.name for spec in specs).items() if count > 1]:
            fix = "construct them one after the other, each in its own --work folder"
            raise DLBenchError(f"two projects have the name {twice[0]}", fix=fix)
        for spec in specs:
            if spec.path and self.work.resolve().is_relative_to(Path(spec.path).resolve()):
                what, fix = "the work folder is inside the project and would become part of it", "pass another --work"
                raise DLBenchError(what, where=str(self.work), fix=fix)
        return specs

    def open(self, options: WorkerOptions) -> "list[Pipeline]":
        from dlbench.construction.pipeline import Pipeline
        from dlbench.construction.work_folder import WorkFolder

        need_construction()
        engine = make_construction_engine(options)
        return [Pipeline(engine, WorkFolder(self.work), spec, log, workers=options.count) for spec in self.read()]

    def run_step(self, options: WorkerOptions, do: "Callable[[Pipeline], str]") -> None:
        """Run a step on every project, print what it returns, and report failures at the end, with status 1."""
        from dlbench.construction.work_folder import for_each_project

        pipelines = self.open(options)
        failed = for_each_project(
            pipelines[0].work, pipelines, lambda pipeline: typer.echo(f"{pipeline.name}: {do(pipeline)}"), log
        )
        report_failures(failed)
        if failed:
            raise typer.Exit(1)


def need_construction() -> None:
    for module in ("radon", "complexipy"):
        need(module, "construct")


def report_failures(failed: dict[str, Exception]) -> None:
    from dlbench.construction.work_folder import explain

    for name, error in failed.items():
        reason = str(error) if isinstance(error, DLBenchError) else explain(error)
        typer.echo(f"{name}: failed: {reason}", err=True)


def make_construction_engine(options: WorkerOptions) -> "Engine":
    """An engine with longer time limits, since nothing is known about the tests yet."""
    engine = make_engine(options)
    return replace(engine, limits=replace(engine.limits, load_seconds=300.0, test_seconds=25.0))
