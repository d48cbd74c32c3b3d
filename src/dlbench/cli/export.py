"""The command `export`: the dataset in the shape that another tool reads; and `export inspect`: a run as its log."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dlbench.cli.app import BenchmarkOption, Chosen, app, command, whole_group
from dlbench.cli.extras import need
from dlbench.cli.run import CanaryOption
from dlbench.errors import DLBenchError

exports = typer.Typer(help="Write the dataset, or a run, for other tools.", rich_markup_mode=None)
app.add_typer(exports, name="export")


class Shape(StrEnum):
    """As `bridges.exports.export.Format`, which is too heavy for `--help`."""

    JSONL = "jsonl"
    PARQUET = "parquet"
    HF = "hf"
    EVALPLUS = "evalplus"
    LM_EVAL = "lm-eval"


@whole_group(exports)
def dataset(
    context: typer.Context,
    chosen: Chosen,
    format: Annotated[Shape | None, typer.Option("--format", help="For which tool.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write; it must not exist yet.")] = None,
    with_reference: Annotated[
        bool, typer.Option("--with-reference", help="Also the projects' own code, with their licences.")
    ] = False,
    canary: CanaryOption = False,
) -> None:
    """Write the prompts of the chosen instances for other tools; `export inspect RUN` writes a run."""
    if context.invoked_subcommand:
        return
    if format is None or out is None:
        mend = "dlbench export --format jsonl --out DIR, or dlbench export inspect RUN --out LOG.eval"
        raise DLBenchError("--format and --out are missing", mend=mend)
    from dlbench.bridges.exports import Format, export, list_projects
    from dlbench.bridges.exports.rows import Wanted, read_licences, render_short
    from dlbench.cli.progress import counted, say

    benchmark, instances = chosen.benchmark, chosen.instances
    licences = None
    if with_reference:
        projects = list_projects(benchmark, instances)
        licences = read_licences(projects, benchmark.root, say)
        typer.echo(render_short(projects, licences), err=True)
    wanted = Wanted(chosen.split, licences, canary)
    with counted("reading", len(instances), every=2) as advance:
        export(benchmark, instances, Format(format), wanted, out, say=say, on_row=advance)
    typer.echo(f"{len(instances)} instances are in {out}", err=True)


@command("inspect", exports)
def inspect(
    run: Annotated[Path, typer.Argument(help="Folder of a run, as `run` or `evaluate` wrote it.")],
    out: Annotated[Path, typer.Option(help="Log to write, .eval or .json; it must not exist yet.")],
    benchmark: BenchmarkOption = None,
) -> None:
    """Write a run as a log that inspect opens, with every verdict."""
    need("inspect_ai", "inspect")
    from dlbench.bridges.inspect.logs import write_log
    from dlbench.dataset import load

    count = write_log(run, load(benchmark), out)
    typer.echo(f"{count} samples are in {out}: inspect view --log-dir {out.parent}", err=True)
