"""How are scores shown to a person? As tables in the terminal, one column a run, and n/a where nothing can be said.

How do scores become JSON? Records become objects, and what is not a number becomes null: JSON has no NaN.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any

from rich.table import Table

from dlbench.reporting.formatting import format_usage, number, percent, score_cell, span
from dlbench.scoring import Score, Spread, Summary, Usage

Tabled = tuple[list[str], list[list[str]]]
"""Headings and rows."""


def overview(summaries: Mapping[str, Summary], usages: Mapping[str, Usage | None]) -> Tabled:
    """pass@k is a row where some run has samples enough for it; so are tokens and cost where some run tells them."""
    scores = [summary.overall for summary in summaries.values()]
    rows = [
        ["instances", *(str(one.instances) for one in scores)],
        ["samples", *(str(one.samples) for one in scores)],
        ["pass@1", *(percent(one.pass_at_1) for one in scores)],
        ["  95 % interval", *(span(one.interval) for one in scores)],
        ["  projects resampled", *(span(one.clustered) for one in scores)],
        *(row for k in find_ks(scores) for row in _pass_at(k, scores)),
        ["tests passed, on average", *(percent(one.passing_rate) for one in scores)],
        ["  95 % interval", *(span(each.rate_interval) for each in summaries.values())],
    ]
    told = [format_usage(usages.get(name)) for name in summaries]
    for place, heading in enumerate(("tokens asked", "tokens answered", "cost")):
        if any(each[place] != "n/a" for each in told):
            rows.append([heading, *(each[place] for each in told)])
    return ["", *summaries], rows


def _pass_at(k: int, scores: Iterable[Score]) -> list[list[str]]:
    known = list(scores)
    return [
        [f"pass@{k}", *(percent(one.pass_at[k]) for one in known)],
        ["  95 % interval", *(span(one.pass_at_interval[k]) for one in known)],
    ]


def breakdown(summaries: Mapping[str, Summary], axes: Iterable[str]) -> Tabled:
    """One row a group, one column a run: pass@1 with its interval."""
    chosen = {"all", *axes}
    found = {name: {(one.axis, one.label): one for one in each.scores} for name, each in summaries.items()}
    keys = dict.fromkeys(key for scores in found.values() for key in scores if key[0] in chosen)
    rows = []
    for axis, label in keys:
        cells = [scores.get((axis, label)) for scores in found.values()]
        counted = max(one.instances for one in cells if one)
        rows.append([axis, label, str(counted), *map(score_cell, cells)])
    return ["axis", "label", "instances", *summaries], rows


def statuses(summaries: Mapping[str, Summary]) -> Tabled:
    known = dict.fromkeys(status for summary in summaries.values() for status in summary.statuses)
    rows = [[status, *(str(each.statuses.get(status, 0)) for each in summaries.values())] for status in known]
    if any(each.truncated for each in summaries.values()):
        rows.append(["(of all, cut off)", *(str(each.truncated) for each in summaries.values())])
    return ["status", *summaries], rows


def spreads(found: Mapping[str, Spread]) -> Tabled:
    """In points, as the papers have them; a variance of points is in points squared."""
    rows = [
        [name, str(one.runs), percent(one.mean), number(1e4 * one.variance), number(100 * one.deviation)]
        for name, one in found.items()
    ]
    return ["pass@1 of", "times", "mean", "variance", "standard deviation"], rows


def draw(title: str, table: Tabled) -> Table:
    headings, rows = table
    drawn = Table(title=title, title_justify="left")
    left = {"", "axis", "label", "status", "run", "above", "pass@1 of", "measure", "dataset", "text", "here", "there"}
    left |= {"drawn anew", "turned round", "category", "subcategory", "planted as", "rater", "other rater"}
    left |= {"instance", "encoder", "way"}
    for heading in headings:
        drawn.add_column(heading, justify="left" if heading in left else "right", overflow="fold")
    for row in rows:
        drawn.add_row(*row, end_section=row[0] == "all")
    return drawn


def to_markdown(table: Tabled) -> list[str]:
    """The lines of a Markdown table."""
    headings, rows = table
    return [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
        for row in (headings, ["---"] * len(headings), *rows)
    ]


def find_ks(scores: Iterable[Score]) -> list[int]:
    known = {k for score in scores for k, value in score.pass_at.items() if not math.isnan(value)}
    return sorted(known - {1})


def make_plain(value: object) -> Any:  # noqa: ANN401 - whatever JSON has
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: make_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): make_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [make_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
