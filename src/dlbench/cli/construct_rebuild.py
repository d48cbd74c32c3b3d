"""The command that makes rebuild tasks: packages of a project, reduced to a skeleton (docs/rebuild.md)."""

from pathlib import Path
from typing import Annotated

import typer

from dlbench import dataset
from dlbench.cli.app import BenchmarkOption, SandboxOption, WorkerOptions, WorkersOption, command
from dlbench.cli.construct_common import WORK, WorkOption, construct, make_construction_engine, need_construction
from dlbench.cli.output import log
from dlbench.errors import DLBenchError


@command("rebuild", construct)
def rebuild(
    project: Annotated[
        str, typer.Argument(help="A project of the benchmark, or one as for the other construction commands.")
    ],
    lines: Annotated[
        tuple[int, int], typer.Option("--lines", metavar="MIN MAX", help="Lines of code to remove in one task.")
    ] = (500, 20_000),
    seed: Annotated[int, typer.Option(help="Seed of the choice of hidden tests.")] = 0,
    most: Annotated[int | None, typer.Option(min=1, help="Maximum number of tasks of the project.")] = None,
    into: Annotated[
        Path | None, typer.Option(help="Benchmark folder for the records (default: the one with the project).")
    ] = None,
    benchmark: BenchmarkOption = None,
    work: WorkOption = WORK,
    seconds: Annotated[
        float, typer.Option("--trace-seconds", min=1, help="Time limit for all tests of the project together.")
    ] = 600.0,
    test_seconds: Annotated[
        float, typer.Option(min=1, help="Time of all chosen tests of the project: the fastest first, then more cases.")
    ] = 120.0,
    workers: WorkersOption = None,
    sandbox: SandboxOption = "auto",
) -> None:
    """Make rebuild tasks: remove the bodies of packages, and find the tests that need them. Rerun to resume."""
    from dlbench.construction import WorkFolder
    from dlbench.construction.pipeline import Pipeline
    from dlbench.construction.project_spec import ProjectSpec, parse_spec
    from dlbench.construction.rebuild import NotSuitable, RebuildConstruction
    from dlbench.dataset.rebuild import read_rebuilds, write_rebuild

    least, largest = lines
    if not 0 < least <= largest:
        raise DLBenchError(f"--lines {least} {largest} is no range", fix="write the smaller number first")
    need_construction()
    known = dataset.load(benchmark)
    is_known = project in known.projects
    options = WorkerOptions(workers, sandbox=sandbox)
    engine = make_construction_engine(options)
    spec = ProjectSpec(project) if is_known else parse_spec(project)
    pipeline = Pipeline(engine, WorkFolder(work), spec, log, workers=options.count)
    if is_known:
        pipeline.root = known.root
    construction = RebuildConstruction(pipeline, is_known=is_known, seconds=seconds, test_seconds=test_seconds)
    construction.observe()
    made = 0
    existing = read_rebuilds(into or pipeline.root)
    for unit in construction.propose(least, largest, existing.values())[:most]:
        try:
            record = construction.construct(unit, least, seed)
        except NotSuitable as error:
            typer.echo(f"left out: {error}", err=True)
            continue
        made += 1
        path = write_rebuild(into or pipeline.root, record)
        tests = f"{len(record.visible)} visible and {len(record.hidden)} hidden tests"
        typer.echo(
            f"{record.id}: {record.lines} lines in {record.definitions} definitions of {len(record.files)} files; "
            f"{tests}; {len(record.kept)} definitions kept; {len(record.required_names)} required names; {path}"
        )
    if not made:
        raise DLBenchError("no rebuild task was made", where=spec.name, fix="see the reasons above")
