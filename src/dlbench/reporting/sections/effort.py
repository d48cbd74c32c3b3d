"""Report section of agents: the share of solved attempts against the cost, tokens, requests and time of an attempt."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from dlbench.reporting.charts.points import Point, draw_scatter
from dlbench.reporting.report_data import ReportData
from dlbench.reporting.sections import Block, Plot, Table, Text, section
from dlbench.reporting.sections.scores import run_legend
from dlbench.reporting.tables import number, percent
from dlbench.runs import Run
from dlbench.runs.verdict import Status


def _count_tokens(facts: Mapping[str, Any]) -> float:
    return float(sum(facts.get(f"{kind}_tokens", 0) for kind in ("prompt", "completion", "estimated")))


_FIGURES: dict[str, tuple[Callable[[Mapping[str, Any]], float | None], str]] = {
    "dollars": (lambda facts: facts.get("cost"), ",.4f"),
    "tokens": (_count_tokens, ",.0f"),
    "requests": (lambda facts: facts.get("requests"), ",.1f"),
    "minutes": (lambda facts: facts["seconds"] / 60, ",.1f"),
}
"""Of an attempt, and how its mean is written."""


def list_judged(run: Run) -> list[Mapping[str, Any]]:
    """The attempts of an agent that have a verdict."""
    return [one for one in run.verdicts if "agent" in one and one["status"] != Status.HARNESS_ERROR]


def average(run: Run, figure: str) -> float:
    """Over the judged attempts; NaN if one of them does not have the figure."""
    values = [_FIGURES[figure][0](one["agent"]) for one in list_judged(run)]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else math.nan


def count_without_leaks(run: Run) -> str:
    clean = [one for one in list_judged(run) if not one.get("leaks")]
    return f"{sum(one['status'] == Status.PASS for one in clean)} of {len(clean)}"


@section("effort", "Cost, tokens, requests and time", order=30, on_functions=False)
def effort(data: ReportData) -> list[Block]:
    means = {name: {figure: average(run, figure) for figure in _FIGURES} for name, run in data.runs.items()}
    if all(math.isnan(value) for found in means.values() for value in found.values()):
        return []
    rows = []
    for name, found in means.items():
        cells = [number(found[figure], form) for figure, (_, form) in _FIGURES.items()]
        shown = [percent(data.summaries[name].overall.pass_at_1), count_without_leaks(data.runs[name])]
        rows.append([name, *shown, *cells])
    plots = [plot for figure in _FIGURES if (plot := _draw(data, figure, means))]
    note = (
        "Means of an attempt; harness errors are left out. A request is one step of an agent. Without leaks: how many"
    )
    note += " passed of those that did not try to reach more than the task shows."
    head = ["run", "pass@1", "without leaks", *_FIGURES]
    table = Table((head, rows), "Cost, tokens, requests and time of an attempt")
    return [run_legend(data.names), plots, table, Text(note)]


def _draw(data: ReportData, figure: str, means: Mapping[str, Mapping[str, float]]) -> Plot | None:
    points = []
    for place, (name, summary) in enumerate(data.summaries.items()):
        value, score = means[name][figure], summary.overall
        if not math.isnan(value) and not math.isnan(score.pass_at_1):
            points.append(Point(name, value, score.pass_at_1, score.interval, place))
    below = f"{figure} per attempt"
    return (
        Plot(draw_scatter(f"pass@1 by {below}", points, below), f"pass@1 in percent, by {figure}") if points else None
    )
