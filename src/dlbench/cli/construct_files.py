"""The commands that make tasks of many files out of a project: `construct rebuild` and `construct components`."""

from pathlib import Path
from typing import Annotated

import typer

from dlbench.cli.app import command
from dlbench.cli.construct_common import ObserveOptions, ProjectArgument, construct
from dlbench.dataset.labels import Track
from dlbench.errors import DLBenchError


@command("rebuild", construct)
def rebuild(
    project: ProjectArgument,
    options: ObserveOptions,
    lines: Annotated[
        tuple[int, int], typer.Option("--lines", metavar="MIN MAX", help="Lines of code to remove in one task.")
    ] = (500, 20_000),
    seed: Annotated[int, typer.Option(help="Seed of the choice of hidden tests.")] = 0,
    most: Annotated[int | None, typer.Option(min=1, help="Maximum number of tasks of the project.")] = None,
) -> None:
    """Make rebuild tasks: remove the bodies of packages, and find the tests that need them. Rerun to resume."""
    from dlbench.construction.rebuild import RebuildConstruction
    from dlbench.construction.task_construction import NotSuitable
    from dlbench.dataset.tracks import read_tasks, write_task

    least, largest = lines
    if not 0 < least <= largest:
        raise DLBenchError(f"--lines {least} {largest} is no range", fix="write the smaller number first")
    construction = options.open(project, RebuildConstruction)
    construction.observe()
    made = 0
    root = options.into or construction.pipeline.root
    existing = read_tasks(root, Track.REBUILD)
    for unit in construction.propose(least, largest, existing.values())[:most]:
        try:
            record = construction.construct(unit, least, seed)
        except NotSuitable as error:
            typer.echo(f"left out: {error}", err=True)
            continue
        made += 1
        path = write_task(root, record)
        tests = f"{len(record.visible)} visible and {len(record.hidden)} hidden tests"
        typer.echo(
            f"{record.id}: {record.lines} lines in {record.definitions} definitions of {len(record.files)} files; "
            f"{tests}; {len(record.kept)} definitions kept; {len(record.required_names)} required names; {path}"
        )
    if not made:
        raise DLBenchError("no rebuild task was made", where=construction.name, fix="see the reasons above")


@command("components", construct)
def components(
    project: ProjectArgument,
    options: ObserveOptions,
    out: Annotated[Path, typer.Option(help="Folder for the proposals. It gets code of the project.")],
    descriptions: Annotated[
        Path | None, typer.Option(help="Make records of the proposals in --out that this folder describes.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Maximum number of proposals of the project.")] = 6,
) -> None:
    """Propose classes, modules and features as tasks; make records of those that are described. Rerun to resume."""
    from dlbench.construction.component_drafts import read_described, write_proposal
    from dlbench.construction.components import ComponentConstruction
    from dlbench.construction.task_construction import NotSuitable
    from dlbench.dataset.tracks import write_task

    construction = options.open(project, ComponentConstruction)
    made = 0
    if descriptions is not None:
        for record in read_described(out, descriptions, construction.name):
            made += 1
            path = write_task(options.into or construction.pipeline.root, record)
            typer.echo(f"{record.id}: size {record.size}, {len(record.hidden)} hidden tests; {path}")
        if not made:
            fix = "write FOLDER/<name of the proposal>.md and .json, as the proposal's README.md says"
            raise DLBenchError("no proposal is described", where=str(descriptions), fix=fix)
        return
    construction.observe()
    for proposal in construction.propose(2 * most):
        if made == most:
            break
        try:
            facts = construction.construct(proposal)
        except NotSuitable as error:
            typer.echo(f"left out: {error}", err=True)
            continue
        made += 1
        path = write_proposal(out, facts, construction.prepared.tree, construction.modules)
        tests = f"{len(facts['hidden'])} hidden and {len(facts['unchanged'])} unchanged tests"
        typer.echo(f"{facts['id']}: {facts['lines']} lines of {len(facts['files'])} files; {tests}; {path}")
    if not made:
        raise DLBenchError("no component was proposed", where=construction.name, fix="see the reasons above")
