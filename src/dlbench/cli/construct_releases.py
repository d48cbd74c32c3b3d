"""The command that makes release tasks: what a new release of a project changed (docs/construction)."""

from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench import dataset
from dlbench.cli.app import DAYS, BenchmarkOption, SandboxOption, WorkerOptions, WorkersOption, command
from dlbench.cli.construct_common import (
    ProjectOptions,
    construct,
    make_construction_engine,
    need_construction,
    report_failures,
)
from dlbench.cli.output import log
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.construction.project_spec import ProjectSpec
    from dlbench.construction.releases import Pair, ReleasePair


@command("releases", construct)
def releases(
    names: Annotated[
        list[str] | None, typer.Argument(help="Packages on the index; by default those of --projects or the benchmark.")
    ] = None,
    since: Annotated[
        datetime | None, typer.Option(formats=DAYS, help="Releases uploaded on or after this date.")
    ] = None,
    until: Annotated[datetime | None, typer.Option(formats=DAYS, help="Releases uploaded up to this date.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results of every pair of releases.")] = Path("releases"),
    projects: Annotated[Path | None, typer.Option(help="TOML file: projects with what is known about each.")] = None,
    benchmark: BenchmarkOption = None,
    lines: Annotated[
        tuple[int, int], typer.Option("--lines", metavar="MIN MAX", help="Lines of code that one change adds.")
    ] = (30, 1000),
    descriptions: Annotated[
        Path | None, typer.Option(help="Make records of the proposals in --out that this folder describes.")
    ] = None,
    into: Annotated[Path | None, typer.Option(help="Benchmark folder for the records (default: --benchmark).")] = None,
    mutants: Annotated[int, typer.Option(min=0, help="Mutants of each change that measure its tests.")] = 20,
    seconds: Annotated[
        float, typer.Option("--trace-seconds", min=1, help="Time limit for the tests of one release together.")
    ] = 300.0,
    workers: WorkersOption = None,
    sandbox: SandboxOption = "auto",
) -> None:
    """Make tasks out of new releases: find pairs, run both, divide what changed, verify. Rerun to resume."""
    from dlbench.construction import WorkFolder, for_each_project
    from dlbench.construction.release_tasks import ReleaseTasks
    from dlbench.construction.releases import ReleasePair

    if descriptions is not None:
        _write_records(out, descriptions, into or dataset.load(benchmark).root)
        return
    if since is None:
        raise DLBenchError("no date is given", fix="pass --since YYYY-MM-DD")
    need_construction()
    specs = _read_specs(names, projects, benchmark)
    options = WorkerOptions(workers, sandbox=sandbox)
    engine = make_construction_engine(options)
    pairs = [
        ReleasePair(engine, WorkFolder(out / pair.name), spec, pair, log, workers=options.count, seconds=seconds)
        for spec, pair in _find_pairs(specs, since.date(), until.date() if until else date.max)
    ]
    counts: dict[str, int] = {}

    def make(pair: "ReleasePair") -> None:
        counts[pair.name] = 0
        for task in ReleaseTasks(pair, mutants=mutants, lines=lines).make():
            counts[pair.name] += 1
            size = task.measure
            typer.echo(
                f"{task.id}: {task.before} to {task.after} of {task.uploaded}: {size['added']} lines added, "
                f"{size['removed']} removed, {size['files']} files; {len(task.hidden)} hidden, {len(task.visible)} "
                f"visible, {len(task.unchanged)} unchanged tests; {task.killed} of {task.mutants} mutants"
            )

    failed = for_each_project(WorkFolder(out), pairs, make, log)
    report_failures(failed)
    made = sum(counts.values())
    typer.echo(f"{len(pairs)} releases, {len(failed)} left out, {made} tasks proposed in {out}/*/proposals")


def _write_records(out: Path, descriptions: Path, root: Path) -> None:
    from dlbench.construction.release_drafts import write_described
    from dlbench.dataset.tracks import write_task

    made = [write_task(root, record) for record in write_described(out, descriptions, root, log)]
    for path in made:
        typer.echo(path)
    if not made:
        fix = "write FOLDER/<name of the proposal>.md and .json, as the proposal's README.md says"
        raise DLBenchError("no proposal is described", where=str(descriptions), fix=fix)


def _read_specs(names: list[str] | None, projects: Path | None, benchmark: Path | None) -> "list[ProjectSpec]":
    """By name, what the benchmark knows of how a project's tests run, or what the file says."""
    from dlbench.construction.project_spec import ProjectSpec

    known = {} if projects else dataset.load(benchmark).projects
    specs = [
        ProjectSpec(
            one.name, env=one.tests.env, args=one.tests.args, files={**one.tests.files}, framework=one.framework
        )
        for one in known.values()
        if one.archive
    ]
    by_name = {spec.name: spec for spec in specs}
    if not names and not projects:
        return specs
    found = ProjectOptions(names, projects).read()
    if others := [spec.name for spec in found if spec.path or spec.git]:
        raise DLBenchError(f"{others[0]} is not on the package index", fix="name packages that have releases there")
    return [replace(by_name.get(spec.name, spec), version="") for spec in found]


def _find_pairs(specs: "list[ProjectSpec]", since: date, until: date) -> "list[tuple[ProjectSpec, Pair]]":
    """Newest first, so that one release of each project comes before a second one of another."""
    from dlbench.construction.releases import find_pairs
    from dlbench.workspace.package_index import look_up

    found: list[tuple[int, ProjectSpec, Pair]] = []
    for spec in specs:
        try:
            pairs = find_pairs(look_up(spec.name), since, until)
        except DLBenchError as error:
            log(f"{spec.name}: {error}")
            continue
        log(f"{spec.name}: {len(pairs)} releases")
        named = [replace(pair, project=spec.name) for pair in reversed(pairs)]  # the index may spell it otherwise
        found += [(place, spec, pair) for place, pair in enumerate(named)]
    return [(spec, pair) for _, spec, pair in sorted(found, key=lambda one: one[0])]
