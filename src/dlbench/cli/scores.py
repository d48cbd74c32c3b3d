"""What commands that judge have in common: judging into a run folder, and showing scores. Also the command `report`."""

import functools
from collections.abc import Callable, Sequence
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.app import BenchmarkOption, JsonOption, command
from dlbench.cli.pages import PublicOption, write_folder
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.dataset import Benchmark
    from dlbench.execution import Engine
    from dlbench.reporting.report_data import ReportData
    from dlbench.runs.samples import Sample
    from dlbench.runs.verdict import Verdict


class Breakdown(StrEnum):
    """As `scoring.groups.BREAKDOWNS`, which is too heavy for `--help`."""

    STAGE = "stage"
    TASK = "task"
    DATA = "data"
    PROJECT = "project"
    FRAMEWORK = "framework"
    SIZE = "size"
    YEAR = "year"
    LIVE = "live"
    CROSSED = "crossed"


def judge_into(
    benchmark: "Benchmark",
    samples: "list[Sample]",
    out: Path,
    engine: "Engine",
    workers: int,
    mode: str = "auto",
    pool_memory: int = 6144,
) -> "list[Verdict]":
    from dlbench.cli.engine import make_pool, prepare_projects
    from dlbench.cli.progress import counted
    from dlbench.execution.evaluate import evaluate

    instances = [benchmark.instances[key] for key in dict.fromkeys(sample.instance for sample in samples)]
    pool = make_pool(engine, prepare_projects(benchmark, instances), workers, mode, pool_memory)
    with counted("judging", len(samples)) as advance:

        def shown(verdict: "Verdict") -> None:
            advance(f"{verdict.instance}: {verdict.status}")

        return evaluate(benchmark, pool, samples, out, on_verdict=shown)


def judge_samples(benchmark: "Benchmark", samples: "list[Sample]", engine: "Engine", workers: int) -> "list[Verdict]":
    """Verdicts that are wanted now and kept nowhere."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="dlbench-") as folder:
        return judge_into(benchmark, samples, Path(folder), engine, workers)


def show_scores(
    folders: list[Path],
    report: Path,
    benchmark: "Benchmark",
    axes: Sequence[str] | None = None,
    cutoffs: Sequence[date] | None = None,
    as_json: bool = False,
    write_more: "Callable[[ReportData], None]" = lambda standing: None,
) -> None:
    """Tables to the terminal, a report beside the runs; ends 1 when some of it was our own fault."""
    from dlbench.jsonl import write_whole
    from dlbench.reporting import name_runs, write_report
    from dlbench.reporting.report_data import collect_report_data
    from dlbench.runs import read_run
    from dlbench.scoring import CUTOFFS
    from dlbench.scoring.breakdowns import LABELS

    runs = name_runs([read_run(folder) for folder in folders])
    standing = collect_report_data(runs, benchmark, cutoffs or CUTOFFS)
    write_whole(report, write_report(standing))
    write_more(standing)
    if as_json:
        from dlbench.cli.printing import print_json

        usages = standing.usages
        found = {name: {"summary": summary, "usage": usages[name]} for name, summary in standing.summaries.items()}
        told = {"benchmark": str(benchmark.version), "warnings": standing.warnings}
        print_json({**told, "runs": found, "spreads": standing.repeats})
    else:
        _print_tables(standing, axes or LABELS)
        typer.echo(f"report: {report}")
    faults = [record for run in runs.values() for record in run.verdicts if record["status"] == "harness_error"]
    if faults:
        what = f"{len(faults)} verdict(s) are harness errors, our fault and not the model's"
        mend = "start the same command again, which tries them again; `dlbench doctor` looks at the machine"
        raise DLBenchError(f"{what}; the first: {faults[0]['message']}", where=faults[0]["instance"], mend=mend)


def _print_tables(standing: "ReportData", axes: Sequence[str]) -> None:
    from dlbench.cli.printing import open_console
    from dlbench.reporting.tables import breakdown, draw, overview, spreads, statuses

    console, summaries = open_console(), standing.summaries
    console.print(draw("runs", overview(summaries, standing.usages)))
    console.print(draw("pass@1 (95 % interval)", breakdown(summaries, axes)))
    if standing.repeats:
        console.print(draw("the same again", spreads(standing.repeats)))
    console.print(draw("what became of the answers", statuses(summaries)))
    for line in standing.warnings:
        typer.echo(f"{line}\n")


@command("report")
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, side by side.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for report.html and tables (Markdown, CSV, Parquet, LaTeX); report.md alone without."
        ),
    ] = None,
    public: PublicOption = False,
    by: Annotated[
        list[Breakdown] | None,
        typer.Option(help="What the table is broken down by (repeatable); all is in the report."),
    ] = None,
    cutoff: Annotated[
        list[datetime] | None,
        typer.Option(
            formats=["%Y-%m-%d"], help="A cut-off: what first appeared after this day, and until then (repeatable)."
        ),
    ] = None,
    benchmark: BenchmarkOption = None,
    json: JsonOption = False,
) -> None:
    """Score runs again from what they saved, without running anything; every score with its 95 % interval."""
    from dlbench.dataset import load
    from dlbench.runs import make_folder

    if public and out is None:
        raise DLBenchError("--public is for a page, and none is asked for", mend="give --out, a folder for the page")

    cutoffs = [day.date() for day in cutoff or ()]
    # days that were asked for are shown, whatever else is
    axes = [str(axis) for axis in by or (Breakdown.STAGE, Breakdown.TASK, Breakdown.DATA)]
    axes += ["live"] if cutoffs else []
    loaded = load(benchmark)
    if out is None:
        show_scores(runs, runs[0] / "report.md", loaded, axes, cutoffs, json)
        return
    make_folder(out)
    pages = functools.partial(write_folder, out=out, public=public)
    show_scores(runs, out / "report.md", loaded, axes, cutoffs, json, write_more=pages)
