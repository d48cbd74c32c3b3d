"""What commands that judge have in common: judging into a run folder, and showing scores. Also the command `report`.

What commands that write pages have in common, and the command `browse`.

What do commands that set runs side by side have in common? How runs are read, and when they cannot be compared.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.app import BenchmarkOption, Chosen, JsonOption, command
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.dataset import Benchmark, Instance
    from dlbench.execution import Engine
    from dlbench.reporting.report_data import ReportData
    from dlbench.runs.samples import Sample
    from dlbench.runs.verdict import Verdict
    from dlbench.scoring import Tally


PublicOption = Annotated[
    bool, typer.Option("--public", help="Leave out every line of the projects' own code, to share the page.")
]
PICTURES = "pictures"
_FILE = Path("dlbench-dataset.html")


def read_fetched(benchmark: "Benchmark") -> "Callable[[Instance], str | None]":
    """Gives the text of an instance's module where its source is on this machine; fetches nothing."""
    from dlbench.workspace.source import source_tree

    @functools.cache
    def tree_of(project: str) -> Path | None:
        try:
            tree = source_tree(benchmark.projects[project], benchmark.root)
        except DLBenchError:
            return None
        return tree if tree.is_dir() else None

    @functools.cache
    def text_of(project: str, path: str) -> str | None:
        tree = tree_of(project)
        try:
            return (tree / path).read_text(encoding="utf-8") if tree else None
        except (OSError, UnicodeDecodeError):
            return None

    return lambda instance: text_of(instance.project, instance.path)


def write_folder(standing: "ReportData", out: Path, *, public: bool) -> None:
    """The page and the tables for other programs, beside `report.md`."""
    from dlbench.cli.output import counted, log
    from dlbench.jsonl import write_whole
    from dlbench.reporting.candidates import read_candidates
    from dlbench.reporting.export import NO_PARQUET, has_parquet, write_tables
    from dlbench.reporting.pages import write_page
    from dlbench.reporting.pages.figures import draw_plots
    from dlbench.runs import make_folder

    candidates = {}
    for name, run in standing.runs.items():
        with counted(f"reading {name}", len(run.verdicts), every=2.0) as advance:
            candidates[name] = read_candidates(run, standing.benchmark, public=public, on_read=advance)
    log("writing the page")
    page = write_page(standing, candidates, read_fetched(standing.benchmark), public=public)
    write_whole(out / "report.html", page)
    written = write_tables(standing, out)
    make_folder(out / PICTURES)
    for name, picture in draw_plots(standing).items():
        write_whole(out / PICTURES / f"{name}.svg", picture)
    if not has_parquet():
        log(NO_PARQUET)
    log(f"the page is {out / 'report.html'}; beside it are {', '.join(written)} and {PICTURES}/")


@command("browse")
def browse(
    chosen: Chosen,
    out: Annotated[Path, typer.Option(help="File for the page.")] = _FILE,
    run: Annotated[
        list[Path] | None, typer.Option(help="A run folder that tells how hard each instance is (repeatable).")
    ] = None,
    public: PublicOption = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only write the page.")] = False,
) -> None:
    """Write one page with every chosen instance (prompt, tests, labels, measures, reference) and open it."""
    from dlbench.jsonl import write_whole
    from dlbench.reporting.candidates import informs_difficulty
    from dlbench.reporting.pages import write_browser
    from dlbench.runs import read_run
    from dlbench.scoring import tally

    told = [read_run(folder) for folder in run or ()]
    tallies = [tally(one.verdicts, chosen.benchmark) for one in told if informs_difficulty(one)]
    read_module = read_fetched(chosen.benchmark)
    page = write_browser(chosen.benchmark, chosen.instances, read_module, tallies, public=public)
    try:
        write_whole(out, page)
    except OSError as error:
        what, fix = f"cannot be written: {error.strerror}", "give another --out, in a folder that is there"
        raise DLBenchError(what, where=str(out), fix=fix) from None
    typer.echo(f"{len(chosen.instances)} instances: {out}")
    if not no_browser:
        import webbrowser

        webbrowser.open(out.resolve().as_uri())


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
    from dlbench.cli.output import counted
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
        from dlbench.cli.output import print_json

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
        fix = "start the same command again, which tries them again; `dlbench doctor` looks at the machine"
        raise DLBenchError(f"{what}; the first: {faults[0]['message']}", where=faults[0]["instance"], fix=fix)


def _print_tables(standing: "ReportData", axes: Sequence[str]) -> None:
    from dlbench.cli.output import open_console
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
        raise DLBenchError("--public is for a page, and none is asked for", fix="give --out, a folder for the page")

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


@dataclass(frozen=True)
class ComparedRuns:
    tallies: "dict[str, dict[str, Tally]]"
    """Of the chosen instances, by the name of the run."""
    outside: int
    """How many instances that were judged lie outside the choice."""
    warnings: list[str]
    """What must be known of the runs before the numbers; what of them is comparable, the comparison says."""


def read_compared_runs(folders: Sequence[Path], chosen: Chosen) -> ComparedRuns:
    from dlbench.reporting import name_runs
    from dlbench.reporting.caveats import run_caveats
    from dlbench.reporting.run_names import check_comparable, copies_caveat, group_alike, hash_answers
    from dlbench.runs import read_head, read_run
    from dlbench.scoring import tally
    from dlbench.scoring.compare import find_common_instances

    if len(folders) < 2:
        raise DLBenchError("one run cannot be compared", where=str(folders[0]), fix="give two run folders or more")
    wanted = {instance.id for instance in chosen.instances}
    named = name_runs([read_head(folder) for folder in folders])
    check_comparable(list(named.values()))
    judged, answers, warnings = {}, {}, []
    # of a hundred runs the tallies are a few megabytes, and the verdicts more than a gigabyte: one run at a time
    for name, head in named.items():
        run = read_run(head.folder)
        judged[name] = tally(run.verdicts, chosen.benchmark)
        answers[name] = hash_answers(run)
        warnings += run_caveats(name, run, chosen.benchmark)
    warnings += [copies_caveat(names) for names in group_alike(answers)]
    tallies = {name: {key: one for key, one in each.items() if key in wanted} for name, each in judged.items()}
    outside = len({key for each in judged.values() for key in each} - wanted)
    ground = find_common_instances(tallies)
    if not ground.instances:
        raise DLBenchError(
            f"there is no instance to compare on: {len(ground.not_common)} are not in every run,"
            f" {len(ground.harness_errors)} met a harness error, {outside} lie outside the choice",
            fix="compare runs of the same instances; start a run with harness errors again, which tries them again",
        )
    return ComparedRuns(tallies, outside, warnings)
