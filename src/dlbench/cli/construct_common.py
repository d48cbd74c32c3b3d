"""The construction commands `discover` and `select`, and what all share: the projects of a step, and running it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeVar

import typer

from dlbench.cli.app import (
    BenchmarkOption,
    JsonOption,
    SandboxOption,
    WorkerOptions,
    WorkersOption,
    add_group,
    command,
    need,
)
from dlbench.cli.engine import make_engine
from dlbench.cli.output import counted, log, print_json
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.construction.pipeline import Pipeline
    from dlbench.construction.project_spec import ProjectSpec
    from dlbench.construction.task_construction import TaskConstruction
    from dlbench.execution import Engine

    AnyConstruction = TypeVar("AnyConstruction", bound=TaskConstruction)

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
        from dlbench.construction import WorkFolder
        from dlbench.construction.pipeline import Pipeline

        need_construction()
        engine = make_construction_engine(options)
        return [Pipeline(engine, WorkFolder(self.work), spec, log, workers=options.count) for spec in self.read()]

    def run_step(self, options: WorkerOptions, do: "Callable[[Pipeline], str]") -> None:
        """Run a step on every project, print what it returns, and report failures at the end, with status 1."""
        from dlbench.construction import for_each_project

        pipelines = self.open(options)
        failed = for_each_project(
            pipelines[0].work, pipelines, lambda pipeline: typer.echo(f"{pipeline.name}: {do(pipeline)}"), log
        )
        report_failures(failed)
        if failed:
            raise typer.Exit(1)


@dataclass(frozen=True)
class ObserveOptions:
    """Where tasks of many files come from, and how their tests are observed."""

    into: Annotated[
        Path | None, typer.Option(help="Benchmark folder for the records (default: the one with the project).")
    ] = None
    projects: Annotated[
        Path | None, typer.Option(help="TOML file with what is known about projects that are not in the benchmark.")
    ] = None
    benchmark: BenchmarkOption = None
    work: WorkOption = WORK
    seconds: Annotated[
        float, typer.Option("--trace-seconds", min=1, help="Time limit for all tests of the project together.")
    ] = 600.0
    test_seconds: Annotated[
        float, typer.Option(min=1, help="Time of all chosen tests of the project: the fastest first, then more cases.")
    ] = 120.0
    workers: WorkersOption = None
    sandbox: SandboxOption = "auto"

    def open(self, project: str, kind: "type[AnyConstruction]") -> "AnyConstruction":
        from dlbench import dataset
        from dlbench.construction import WorkFolder
        from dlbench.construction.pipeline import Pipeline
        from dlbench.construction.project_spec import ProjectSpec, parse_spec, read_specs

        need_construction()
        known = dataset.load(self.benchmark)
        is_known = project in known.projects
        options = WorkerOptions(self.workers, sandbox=self.sandbox)
        hints = {spec.name: spec for spec in read_specs(self.projects)} if self.projects else {}
        spec = ProjectSpec(project) if is_known else hints.get(project) or parse_spec(project)
        engine = make_construction_engine(options)
        pipeline = Pipeline(engine, WorkFolder(self.work), spec, log, workers=options.count)
        if is_known:
            pipeline.root = known.root
        return kind(pipeline, is_known=is_known, seconds=self.seconds, test_seconds=self.test_seconds)


ProjectArgument = Annotated[
    str, typer.Argument(help="A project of the benchmark, or one as for the other construction commands.")
]


def need_construction() -> None:
    for module in ("radon", "complexipy"):
        need(module, "construct")


def report_failures(failed: dict[str, Exception]) -> None:
    from dlbench.construction import explain

    for name, error in failed.items():
        reason = str(error) if isinstance(error, DLBenchError) else explain(error)
        typer.echo(f"{name}: failed: {reason}", err=True)


def make_construction_engine(options: WorkerOptions) -> "Engine":
    """An engine with longer time limits, since nothing is known about the tests yet."""
    engine = make_engine(options)
    return replace(engine, limits=replace(engine.limits, load_seconds=300.0, test_seconds=25.0))


@command("discover", construct)
def discover(
    topic: Annotated[
        list[str] | None, typer.Option(help="GitHub topic (repeatable); a built-in list by default.")
    ] = None,
    most: Annotated[
        int, typer.Option(min=1, max=1000, help="Number of most starred repositories for each topic.")
    ] = 1000,
    github_url: Annotated[
        str | None, typer.Option(help="GitHub API, if not the public one. GITHUB_TOKEN is sent there.")
    ] = None,
    patience: Annotated[
        float, typer.Option(min=0, help="Maximum wait in seconds for one page when GitHub limits requests.")
    ] = 900.0,
    index: Annotated[list[str] | None, typer.Option(help="Package to look up on the index (repeatable).")] = None,
    names_from: Annotated[
        Path | None, typer.Option(help="File with package names, one per line; # starts a comment.")
    ] = None,
    work: WorkOption = WORK,
    json: JsonOption = False,
) -> None:
    """Find projects: on GitHub by topic, or by name on the package index."""
    from dlbench.construction import WorkFolder
    from dlbench.construction.selection import read_topics
    from dlbench.construction.selection.discover import Discovery, discover_on_github, discover_on_index
    from dlbench.construction.selection.github import API

    names = [*(index or []), *(_read_names(names_from) if names_from else [])]
    found: dict[str, tuple[str, Discovery]] = {}
    if topic or not (index or names_from):
        searched = f"{len(set(topic or read_topics().github))} topics in"
        url = github_url or API
        search = discover_on_github(WorkFolder(work), topic or (), most=most, base_url=url, patience=patience, log=log)
        found["github"] = (searched, search)
    if index or names_from:
        found["index"] = (f"{len(set(names))} names in", discover_on_index(WorkFolder(work), names, log=log))
    if json:
        print_json({origin: part for origin, (_, part) in found.items()})
    else:
        for origin, (searched, part) in found.items():
            for failure in part.failed:
                typer.echo(f"{failure['name']}: {failure['reason']}")
            if part.stopped:
                typer.echo(f"stopped early: {part.stopped}; rerun the same command to resume")
            typer.echo(f"{origin}: {searched}, {len(part.rows)} projects out, {len(part.failed)} failed")
    if any(part.stopped for _, part in found.values()):
        raise typer.Exit(1)


@command("select", construct)
def select(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Packages, NAME==VERSION, or owner/name; all discovered projects by default."),
    ] = None,
    projects: Annotated[
        Path | None, typer.Option(help="TOML file: projects with what is known about each, as for `run`.")
    ] = None,
    work: WorkOption = WORK,
    json: JsonOption = False,
) -> None:
    """Select the projects that can give instances, with the reasons for rejecting the others."""
    from dlbench.construction import Row, WorkFolder
    from dlbench.construction.selection import criteria as selecting

    folder = WorkFolder(work)
    if projects:
        specs = ProjectOptions(names, projects).read()
        names = [f"{spec.name}=={spec.version}" if spec.version else spec.name for spec in specs]
    candidates = selecting.find_candidates(folder, names or ())
    with counted("selecting", len(candidates)) as advance:

        def show(row: Row) -> None:
            advance(f"{row['name']}: {'selected' if row['selected'] else '; '.join(row['reasons'])}")

        rows = selecting.select(folder, names or (), log=log, on_row=show)
    chosen = sum(row["selected"] for row in rows)
    if json:
        print_json(rows)
    else:
        typer.echo(selecting.render_selection(rows))
        kinds = Counter(kind for row in rows for kind in {selecting.reason_kind(reason) for reason in row["reasons"]})
        why = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        left_out = f"{len(rows) - chosen} left out" + (f" (reasons: {why})" if why else "")
        typer.echo(f"{len(rows)} packages in, {chosen} selected, {left_out}")
    if not chosen:
        raise DLBenchError("no package is selected", fix="read the reasons above, and give other packages")


def _read_names(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        what, fix = f"cannot be read: {error}", "give a text file with one name per line"
        raise DLBenchError(what, where=str(path), fix=fix) from None
    return [name for line in lines if (name := line.partition("#")[0].strip())]
