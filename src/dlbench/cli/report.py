"""The commands `report`, `compare` and `browse`, and what other commands share: showing scores, reading runs."""

import functools
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench import dataset
from dlbench.cli.app import DAYS, BenchmarkOption, Chosen, JsonOption, command
from dlbench.cli.output import counted, log, open_console, print_json
from dlbench.errors import DLBenchError
from dlbench.jsonl import write_whole
from dlbench.runs import make_folder, read_head, read_run

if TYPE_CHECKING:
    from dlbench.dataset.tracks import TrackBenchmark
    from dlbench.reporting.report_data import ReportData
    from dlbench.scoring import BenchmarkComparison, Comparison, Tally

PublicOption = Annotated[
    bool, typer.Option("--public", help="Leave out every line of the projects' own code, to share the page.")
]
PLOTS, WRITTEN = "plots", ".written"
"""The folder of plots, and its list of the plots that a report wrote."""


def read_fetched(benchmark: "TrackBenchmark") -> "Callable[[dataset.Instance], str | None]":
    """A reader of an instance's module, where its source is on this machine; fetches nothing."""
    from dlbench.workspace.source import source_tree

    @functools.cache
    def read(project: str, path: str) -> str | None:
        try:
            return (source_tree(benchmark.projects[project], benchmark.root) / path).read_text(encoding="utf-8")
        except (DLBenchError, OSError, UnicodeDecodeError):
            return None

    return lambda instance: read(instance.project, instance.path)


def write_folder(data: "ReportData", out: Path, *, public: bool) -> None:
    """Write the page, the tables for other programs and the plots."""
    from dlbench.dataset.tracks import has_functions
    from dlbench.reporting.candidates import read_candidates
    from dlbench.reporting.export import NO_PARQUET, has_parquet, write_tables
    from dlbench.reporting.pages import draw_plots, write_page

    candidates = {}
    if has_functions(data.benchmark):
        for name, run in data.runs.items():
            with counted(f"reading {name}", len(run.verdicts), every=2.0) as advance:
                candidates[name] = read_candidates(run, data.benchmark, public=public, on_read=advance)
    log("writing the page")
    page = write_page(data, candidates, read_fetched(data.benchmark), public=public)
    write_whole(out / "report.html", page)
    written = write_tables(data, out)
    _write_plots({f"{name}.svg": plot for name, plot in draw_plots(data).items()}, out / PLOTS)
    if not has_parquet():
        log(NO_PARQUET)
    log(f"wrote {', '.join(['report.html', 'report.md', *written])} and {PLOTS}/")


def _write_plots(plots: Mapping[str, str], folder: Path) -> None:
    """Write them, and remove those that an earlier report wrote here and this one does not have."""
    make_folder(folder)
    listed = folder / WRITTEN
    earlier = listed.read_text("utf-8").splitlines() if listed.is_file() else []
    for old in folder.iterdir():
        if old.name in earlier and old.name not in plots:
            old.unlink()
    write_whole(listed, "".join(f"{name}\n" for name in plots))
    for name, plot in plots.items():
        write_whole(folder / name, plot)


@command("browse")
def browse(
    chosen: Chosen,
    out: Annotated[Path, typer.Option(help="File for the page.")] = Path("dlbench-dataset.html"),
    run: Annotated[
        list[Path] | None, typer.Option(help="A run folder that shows the difficulty of each instance (repeatable).")
    ] = None,
    public: PublicOption = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only write the page.")] = False,
) -> None:
    """Write one page with every chosen instance (prompt, tests, labels, measures, reference) and open it."""
    from dlbench.reporting.candidates import informs_difficulty
    from dlbench.reporting.pages import write_browser
    from dlbench.scoring import tally

    runs = [read_run(folder) for folder in run or ()]
    tallies = [tally(one.verdicts, chosen.benchmark) for one in runs if informs_difficulty(one)]
    read_module = read_fetched(chosen.benchmark)
    page = write_browser(chosen.benchmark, chosen.instances, read_module, tallies, public=public)
    try:
        write_whole(out, page)
    except OSError as error:
        fix = "pass another --out, in an existing folder"
        raise DLBenchError(f"cannot be written: {error.strerror}", where=str(out), fix=fix) from None
    typer.echo(f"{len(chosen.instances)} instances: {out}")
    if not no_browser:
        webbrowser.open(out.resolve().as_uri())


Breakdown = StrEnum("Breakdown", "STAGE TASK DATA PROJECT FRAMEWORK SIZE YEAR LIVE CROSSED")
"""As `scoring.breakdowns.BREAKDOWNS`, which is too heavy to import for `--help`."""


def show_scores(
    folders: list[Path],
    report: Path,
    benchmark: "dataset.Benchmark",
    axes: Sequence[str] | None = None,
    cutoffs: Sequence[date] | None = None,
    as_json: bool = False,
    write_more: "Callable[[ReportData], None] | None" = None,
) -> None:
    """Write the Markdown report and what `write_more` adds; print tables. Exits with 1 if there are harness errors.

    With `write_more` and without `axes`, a line per run replaces the tables.
    """
    from dlbench.dataset.tracks import has_functions, open_track
    from dlbench.reporting import name_runs, write_report
    from dlbench.reporting.caveats import find_track
    from dlbench.reporting.report_data import collect_report_data
    from dlbench.reporting.tables import score_cell, share_cell, some
    from dlbench.scoring import CUTOFFS
    from dlbench.scoring.breakdowns import LABELS, list_axes

    runs = name_runs([read_run(folder) for folder in folders])
    data = collect_report_data(runs, open_track(benchmark, find_track(runs.values())), cutoffs or CUTOFFS)
    if cutoffs and not has_functions(data.benchmark):
        raise DLBenchError(f"{data.benchmark.track} tasks are not split by date", where="--cutoff", fix="leave it out")
    known = list_axes(data.benchmark)
    if wrong := [axis for axis in axes or () if axis not in known]:
        fix = f"use any of: {', '.join(known)}"
        raise DLBenchError(f"there is no breakdown by {wrong[0]} of these instances", where="--by", fix=fix)
    make_folder(report.parent)
    write_whole(report, write_report(data))
    if write_more:
        write_more(data)
    if as_json:
        found = {name: {"summary": each, "usage": data.usages[name]} for name, each in data.summaries.items()}
        facts = {"benchmark": str(benchmark.version), "warnings": data.warnings}
        print_json({**facts, "runs": found, "spreads": data.repeats})
    else:
        for line in data.warnings:
            typer.echo(f"{line}\n")
        if write_more and not axes:
            for name, summary in data.summaries.items():
                shares = "" if has_functions(data.benchmark) else f"hidden tests {share_cell(summary.overall)}, "
                instances = some(summary.overall.instances, "instance")
                typer.echo(f"{name}: pass@1 {score_cell(summary.overall)}, {shares}{instances}")
        else:
            _print_tables(data, axes or (LABELS if has_functions(data.benchmark) else ["size"]))
        typer.echo(f"report: {report.with_suffix('.html') if write_more else report}")
    faults = [record for run in runs.values() for record in run.verdicts if record["status"] == "harness_error"]
    if faults:
        what = f"{len(faults)} verdict(s) are harness errors, not the model's failures"
        fix = "run the same command again to retry them; `dlbench doctor` checks the machine"
        raise DLBenchError(f"{what}; the first: {faults[0]['message']}", where=faults[0]["instance"], fix=fix)


def _print_tables(data: "ReportData", axes: Sequence[str]) -> None:
    from dlbench.dataset.labels import Track
    from dlbench.dataset.tracks import has_functions
    from dlbench.reporting.sections.file_tasks import tabulate_tasks
    from dlbench.reporting.sections.outcomes import tabulate_rounds
    from dlbench.reporting.statistics import tabulate_statistics
    from dlbench.reporting.tables import breakdown, draw, share_cell, spreads, statuses

    console = open_console()
    if data.benchmark.track is Track.OPTIMISE:
        from dlbench.dataset.optimise import read_eligible
        from dlbench.reporting.sections.speed import tabulate_speeds
        from dlbench.reporting.sections.speed import tabulate_tasks as tabulate_costs

        records = {name: run.verdicts for name, run in data.runs.items()}
        console.print(draw("speed-ups", tabulate_speeds(records)))
        console.print(draw("speed-ups by task", tabulate_costs(records, read_eligible(data.benchmark.root))))
    console.print(draw("runs", tabulate_statistics(data.subjects)))
    console.print(draw("pass@1 (95 % interval)", breakdown(data.summaries, axes)))
    if not has_functions(data.benchmark):
        console.print(draw("hidden tests passed", breakdown(data.summaries, axes, share_cell)))
        console.print(draw("tasks", tabulate_tasks(data)))
    if (rounds := tabulate_rounds(data))[1]:
        console.print(draw("repair rounds", rounds))
    if data.repeats:
        console.print(draw("run-to-run variance", spreads(data.repeats)))
    console.print(draw("outcomes", statuses(data.summaries)))


@command("report")
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, shown side by side.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for report.html, tables (Markdown, CSV, Parquet, LaTeX) and plots; prints a line per run only."
        ),
    ] = None,
    public: PublicOption = False,
    by: Annotated[
        list[Breakdown] | None,
        typer.Option(help="Print tables broken down by this (repeatable); the report has all breakdowns."),
    ] = None,
    cutoff: Annotated[
        list[datetime] | None, typer.Option(formats=DAYS, help="Cut-off date: scores before and after it (repeatable).")
    ] = None,
    benchmark: BenchmarkOption = None,
    json: JsonOption = False,
) -> None:
    """Score saved runs without running anything; every score has its 95 % interval."""
    if public and out is None:
        raise DLBenchError("--public requires --out", fix="pass --out, a folder for the page")
    cutoffs = [day.date() for day in cutoff or ()]
    axes = [str(axis) for axis in by or ()]
    if cutoffs and (axes or not out):
        axes = [*(axes or dataset.AXES), "live"]
    loaded = dataset.load(benchmark)
    if out is None:
        show_scores(runs, runs[0] / "report.md", loaded, axes, cutoffs, json)
        return
    pages = functools.partial(write_folder, out=out, public=public)
    show_scores(runs, out / "report.md", loaded, axes, cutoffs, json, write_more=pages)


@dataclass(frozen=True)
class ComparedRuns:
    benchmark: "TrackBenchmark"
    """With the selected instances of the runs' track."""
    tallies: "dict[str, dict[str, Tally]]"
    """By the name of the run, for the selected instances."""
    outside: int
    """Number of judged instances outside the selection."""
    warnings: list[str]
    """Caveats of the single runs; the comparison has those about comparability."""
    gains: "dict[str, dict[str, float]]"
    """Of the track `optimise`: by run and instance, log2 of the speed-up."""


def read_compared_runs(folders: Sequence[Path], chosen: Chosen, *, plus: bool = False) -> ComparedRuns:
    """`plus`: failing on further inputs counts as failing."""
    from dlbench.dataset.labels import Track
    from dlbench.dataset.tracks import open_track
    from dlbench.reporting import name_runs
    from dlbench.reporting.caveats import (
        check_comparable,
        copies_caveat,
        find_track,
        group_alike,
        hash_answers,
        run_caveats,
    )
    from dlbench.scoring import tally
    from dlbench.scoring.compare import find_common_instances
    from dlbench.scoring.speed import find_gains
    from dlbench.scoring.tally import apply_plus

    if len(folders) < 2:
        raise DLBenchError("one run cannot be compared", where=str(folders[0]), fix="pass two run folders or more")
    named = name_runs([read_head(folder) for folder in folders])
    selected = chosen.open_track(find_track(named.values()))
    benchmark = open_track(chosen.benchmark, selected.track)
    check_comparable(list(named.values()))
    judged, answers, warnings, gains = {}, {}, [], {}
    # the tallies of a hundred runs take a few megabytes, their verdicts more than a gigabyte: one run at a time
    for name, head in named.items():
        run = read_run(head.folder)
        if plus and not any("plus" in verdict for verdict in run.verdicts):
            fix = "judge its samples again with this version: `dlbench evaluate`"
            raise DLBenchError("it was not judged on further inputs", where=str(head.folder), fix=fix)
        judged[name] = tally(apply_plus(run.verdicts) if plus else run.verdicts, benchmark)
        answers[name] = hash_answers(run)
        if benchmark.track is Track.OPTIMISE:
            gains[name] = {key: one for key, one in find_gains(run.verdicts).items() if key in selected.instances}
        warnings += run_caveats(name, run, benchmark)
    warnings += [copies_caveat(names) for names in group_alike(answers)]
    tallies = {
        name: {key: one for key, one in each.items() if key in selected.instances} for name, each in judged.items()
    }
    outside = len({key for each in judged.values() for key in each} - set(selected.instances))
    common = find_common_instances(tallies)
    if not common.instances:
        raise DLBenchError(
            f"there is no instance to compare on: {len(common.not_common)} are not in every run,"
            f" {len(common.harness_errors)} have a harness error, {outside} are outside the selection",
            fix="compare runs of the same instances; run the command of a run with harness errors again to retry them",
        )
    return ComparedRuns(selected, tallies, outside, warnings, gains)


@command("compare")
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, two or more.")],
    chosen: Chosen,
    first: Annotated[
        bool, typer.Option("--first", help="Compare each run with the first only, not every pair.")
    ] = False,
    instances: Annotated[
        bool, typer.Option("--instances", help="List every instance that only one run of a pair solves.")
    ] = False,
    plus: Annotated[bool, typer.Option("--plus", help="Failing on further inputs counts as failing.")] = False,
    other: Annotated[
        Path | None,
        typer.Option(help='Scores of the same runs on another benchmark, {"run": 0.53}: Cohen\'s d, Fisher, Spearman.'),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compare runs instance by instance: exact paired tests, effect sizes, and instances that only one run solves."""
    from dlbench.scoring import compare as compare_tallies

    compared = read_compared_runs(runs, chosen, plus=plus)
    found = compare_tallies(compared.tallies, compared.benchmark, only_first=first)
    benchmarks = _compare_benchmarks(other, found) if other else None
    if json:
        facts = {"warnings": compared.warnings, "outside_the_choice": compared.outside, "gains": compared.gains}
        print_json({"comparison": found, **facts, "against": benchmarks})
        return
    from dlbench.reporting.comparison import describe_benchmark, describe_instances, describe_pairs, tabulate_runs
    from dlbench.reporting.sections.speed import describe_differences
    from dlbench.reporting.tables import draw

    outside = [f"{compared.outside} judged instances are outside the selection"] if compared.outside else []
    for line in [*(f"{caveat}\n" for caveat in compared.warnings), *outside, *describe_instances(found)]:
        typer.echo(line)
    open_console().print(draw("runs", tabulate_runs(found)))
    for line in describe_differences(compared.gains):
        typer.echo(line)
    for line in describe_pairs(found, every_instance=instances):
        typer.echo(line)
    if benchmarks:
        typer.echo(describe_benchmark(str(other), benchmarks))


def _compare_benchmarks(path: Path, found: "Comparison") -> "BenchmarkComparison":
    from dlbench.scoring import compare_benchmarks

    scores = _read_scores(path)
    here = {one.name: one.pass_at_1 for one in found.standings}
    if missing := [name for name in here if name not in scores]:
        what = f"has no score of {', '.join(missing)} (it has: {', '.join(scores) or 'none'})"
        raise DLBenchError(what, where=str(path), fix="name every run as this command does")
    return compare_benchmarks(list(here.values()), [scores[name] for name in here])


def _read_scores(path: Path) -> dict[str, float]:
    """Shares from 0 to 1; if one is above 1, all are percentages."""
    fix = 'write {"run name": score, …}, all from 0 to 1 or all in percent'
    try:
        read = loads(path.read_text(encoding="utf-8"))
        scores = {str(name): float(score) for name, score in read.items()}
    except OSError as error:
        raise DLBenchError(f"cannot be read: {error.strerror}", where=str(path), fix="check the path") from None
    except (ValueError, TypeError, AttributeError):
        raise DLBenchError("not a file of scores", where=str(path), fix=fix) from None
    if not all(0 <= score <= 100 for score in scores.values()):
        raise DLBenchError("a score is outside 0 to 100", where=str(path), fix=fix)
    scale = 100 if max(scores.values(), default=0) > 1 else 1
    return {name: score / scale for name, score in scores.items()}
