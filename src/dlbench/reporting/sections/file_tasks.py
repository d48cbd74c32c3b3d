"""Report sections of tasks of many files: hidden tests by size and for each task; cost, tokens and time of attempts."""

import math
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from dlbench.dataset.file_task import FileTask
from dlbench.reporting.report_data import ReportData
from dlbench.reporting.sections import Block, Table, Text, section
from dlbench.reporting.sections.scores import plot_scores, run_legend
from dlbench.reporting.tables import Tabled, breakdown, number, percent, render_label, share_cell
from dlbench.runs import Run
from dlbench.runs.verdict import Status
from dlbench.scoring import Tally
from dlbench.scoring.tally import group_by, mean


def tabulate_tasks(data: ReportData) -> Tabled:
    """One row per task by size; for each run the share of hidden tests and the status, or how many attempts pass."""
    judged = {one for tallies in data.tallies.values() for one in tallies}
    records = [one for one in data.benchmark.instances.values() if isinstance(one, FileTask) and one.id in judged]
    found = {name: group_by(run.verdicts, itemgetter("instance")) for name, run in data.runs.items()}
    rows = []
    for one in sorted(records, key=lambda one: one.lines):
        cells = [_describe(tallies.get(one.id), found[name].get(one.id, ())) for name, tallies in data.tallies.items()]
        rows.append([one.id, f"{one.lines:,}", str(len(one.hidden)), *cells])
    return ["task", "lines", "hidden tests", *data.tallies], rows


def _describe(tally: Tally | None, attempts: Sequence[Mapping[str, Any]]) -> str:
    if tally is None:
        return "n/a"
    result = render_label(attempts[0]["status"]) if len(attempts) == 1 else f"{tally.passed} of {len(attempts)} pass"
    return f"{percent(tally.rate)}, {result}"


@section("shares", "Hidden tests passed", order=20, on_functions=False)
def shares(data: ReportData) -> list[Block]:
    note = (
        "The mean share of hidden tests passed, with its 95 % interval by project: projects resampled, or Wilson's of"
        " as many projects where there are few tasks. pass@1 is the share of attempts that pass every hidden test."
    )
    table = breakdown(data.summaries, ["size"], share_cell)
    return [Table(table, "Hidden tests passed, by lines to write"), Text(note)]


@section("tasks", "Tasks", order=21, on_functions=False)
def tasks(data: ReportData) -> list[Block]:
    return [Table(tabulate_tasks(data), "Hidden tests passed, and status, by task")]


def _count_tokens(facts: Mapping[str, Any]) -> float:
    return float(sum(facts.get(f"{kind}_tokens", 0) for kind in ("prompt", "completion", "estimated")))


_FIGURES: dict[str, tuple[Callable[[Mapping[str, Any]], float | None], str]] = {
    "dollars": (lambda facts: facts.get("cost"), ",.4f"),
    "tokens": (_count_tokens, ",.0f"),
    "requests": (lambda facts: facts.get("requests"), ",.1f"),
    "minutes": (lambda facts: facts["seconds"] / 60, ",.1f"),
}
"""Figures of an attempt, and the number format of their mean."""


def _list_judged(run: Run) -> list[Mapping[str, Any]]:
    """The attempts of an agent that have a verdict."""
    return [one for one in run.verdicts if "agent" in one and one["status"] != Status.HARNESS_ERROR]


def _average(run: Run, figure: str) -> float:
    """Over the judged attempts; NaN if one of them does not have the figure."""
    values = [_FIGURES[figure][0](one["agent"]) for one in _list_judged(run)]
    known = [value for value in values if value is not None]
    return mean(known) if len(known) == len(values) else math.nan


def _count_without_leaks(run: Run) -> str:
    clean = [one for one in _list_judged(run) if not one.get("leaks")]
    return f"{sum(one['status'] == Status.PASS for one in clean)} of {len(clean)}"


@section("effort", "Cost, tokens, requests and time", order=30, on_functions=False)
def effort(data: ReportData) -> list[Block]:
    means = {name: {figure: _average(run, figure) for figure in _FIGURES} for name, run in data.runs.items()}
    if all(math.isnan(value) for found in means.values() for value in found.values()):
        return []
    rows = []
    for name, found in means.items():
        cells = [number(found[figure], form) for figure, (_, form) in _FIGURES.items()]
        shown = [percent(data.summaries[name].overall.pass_at_1), _count_without_leaks(data.runs[name])]
        rows.append([name, *shown, *cells])
    values = {figure: {name: found[figure] for name, found in means.items()} for figure in _FIGURES}
    drawn = [plot_scores(data, each, f"{figure} per attempt", figure) for figure, each in values.items()]
    plots = [plot for plot in drawn if plot]
    note = (
        "Means of an attempt; harness errors are left out. A request is one step of an agent. Without leaks: how many"
        " passed of those that did not try to reach more than the task shows."
    )
    table = Table(
        (["run", "pass@1", "without leaks", *_FIGURES], rows), "Cost, tokens, requests and time of an attempt"
    )
    return [run_legend(data.names), plots, table, Text(note)]
