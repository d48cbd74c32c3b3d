"""Build tables of scores and render them for the terminal, Markdown and JSON."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from pydantic_core import to_jsonable_python
from rich.table import Table

from dlbench.reporting.formatting import number, percent, score_cell
from dlbench.runs.verdict import Status
from dlbench.scoring import Score, Spread, Summary

Tabled = tuple[list[str], list[list[str]]]
"""Headings and rows."""
Item = TypeVar("Item")
Columns = Mapping[str, Callable[[Item], object]]
"""Heading to the cell of an item."""

TEXT_COLUMNS = {"", "axis", "label", "status", "run", "above", "pass@1 of", "measure", "dataset", "text", "here"}
TEXT_COLUMNS |= {"there", "resampled", "category", "subcategory", "rater", "other rater", "instance"}
TEXT_COLUMNS |= {"encoder", "way", "reversed pairs", "task", "labels"}
"""Headings of left-aligned columns; all others are numbers."""


def tabulate(items: Iterable[Item], columns: Columns[Item]) -> Tabled:
    """One row per item."""
    return [*columns], [[str(cell(item)) for cell in columns.values()] for item in items]


def breakdown(
    summaries: Mapping[str, Summary], axes: Iterable[str], cell: Callable[[Score | None], str] = score_cell
) -> Tabled:
    """One row per group, one column per run: pass@1 with its interval, or what `cell` shows."""
    chosen = {"all", *axes}
    found = {name: {(one.axis, one.label): one for one in each.scores} for name, each in summaries.items()}
    keys = dict.fromkeys(key for scores in found.values() for key in scores if key[0] in chosen)
    rows = []
    for axis, label in keys:
        cells = [scores.get((axis, label)) for scores in found.values()]
        counted = max(one.instances for one in cells if one)
        rows.append([axis, label, str(counted), *map(cell, cells)])
    return ["axis", "label", "instances", *summaries], rows


def statuses(summaries: Mapping[str, Summary]) -> Tabled:
    """One row per status that occurs; answers that are cut off have any status and come last."""
    counts = {str(status): [each.statuses.get(status, 0) for each in summaries.values()] for status in Status}
    counts["cut off (any status)"] = [each.truncated for each in summaries.values()]
    return ["status", *summaries], [[name, *map(str, each)] for name, each in counts.items() if any(each)]


def spreads(found: Mapping[str, Spread]) -> Tabled:
    """In points, as in the papers; a variance is in squared points."""
    return tabulate(found.items(), {
        "pass@1 of": lambda one: one[0],
        "times": lambda one: one[1].runs,
        "mean": lambda one: percent(one[1].mean),
        "variance": lambda one: number(1e4 * one[1].variance),
        "standard deviation": lambda one: number(100 * one[1].deviation),
    })  # fmt: skip


def draw(title: str, table: Tabled) -> Table:
    """For the terminal."""
    headings, rows = table
    drawn = Table(title=title, title_justify="left")
    for heading in headings:
        drawn.add_column(heading, justify="left" if heading in TEXT_COLUMNS else "right", overflow="fold")
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


def make_plain(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Records become objects; NaN and infinity become null, since JSON has neither."""
    return to_jsonable_python(value, inf_nan_mode="null")
