"""Format numbers, intervals and token counts, and build tables of scores for the terminal, Markdown and JSON.

A value that cannot be computed is n/a, never 0.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic_core import to_jsonable_python
from rich.table import Table

from dlbench.dataset.labels import Stage, Task
from dlbench.runs.verdict import Status
from dlbench.scoring import Interval, Score, Spread, Summary, Usage

SHORT_LABELS = {
    str(Stage.PRE_POST_PROCESSING): "pre/post-processing",
    str(Stage.EVALUATION_METRICS): "evaluation",
    str(Task.TIME_SERIES_PREDICTION): "time series",
}


def render_label(slug: str) -> str:
    """A label, status or outcome as words, short enough for a plot."""
    return SHORT_LABELS.get(slug, slug.replace("_", " "))


def percent(value: float) -> str:
    return "n/a" if math.isnan(value) else f"{100 * value:.1f} %"


def span(interval: Interval, form: str = ".1f", scale: int = 100) -> str:
    """In percent; `scale` 1 for an interval of another figure."""
    return "n/a" if math.isnan(interval.low) else f"{scale * interval.low:{form}} to {scale * interval.high:{form}}"


def score_cell(score: Score | None) -> str:
    """pass@1 with its interval; `!` where harness errors count as failures."""
    if score is None or not score.instances:
        return "n/a"
    mark = " !" if score.harness_errors else ""
    return f"{percent(score.pass_at_1)} ({span(score.interval, '.0f')}){mark}"


def share_cell(score: Score | None) -> str:
    """The mean share of tests passed, with its interval by project."""
    if score is None or not score.instances:
        return "n/a"
    return f"{percent(score.passing_rate)} ({span(score.rate_clustered, '.0f')})"


def points(difference: float) -> str:
    return "n/a" if math.isnan(difference) else f"{100 * difference:+.1f} points"


def p_value(p: float) -> str:
    if math.isnan(p):
        return "n/a"
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}" if p < 0.01 else f"{p:.3f}"


def number(value: float, form: str = ".2f") -> str:
    return "n/a" if math.isnan(value) else "infinite" if math.isinf(value) else format(value, form)


def short(value: float, sign: str = "") -> str:
    """Three significant digits or the whole integer, never an exponent. `sign` "+": also for positive values."""
    if not math.isfinite(value):
        return number(value)
    decimals = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    text = f"{value:{sign},.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def some(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def list_some(names: Sequence[object], most: int) -> str:
    """The first names, and an ellipsis for the others."""
    return ", ".join(map(str, names[:most])) + (", …" if len(names) > most else "")


def format_usage(usage: Usage | None, *, per_sample: bool = False) -> list[str]:
    """Prompt tokens, completion tokens and cost; `*` where only some samples report them. Cost is always a sum."""
    if usage is None:
        return ["n/a"] * 3
    partly = " *" if 0 < usage.with_tokens < usage.samples else ""
    paid = " *" if 0 < usage.with_cost < usage.samples else ""
    sums = (usage.prompt_tokens, usage.completion_tokens)
    tokens = [number(value, ",.0f") for value in (usage.tokens_per_sample if per_sample else sums)]
    return [f"{each}{partly}" for each in tokens] + [f"{number(usage.cost, ',.4f')}{paid}"]


Tabled = tuple[list[str], list[list[str]]]
"""Headings and rows."""
Item = TypeVar("Item")
Columns = Mapping[str, Callable[[Item], object]]
"""Heading to the cell of an item."""

TEXT_COLUMNS = {"", "axis", "label", "status", "run", "above", "pass@1 of", "measure", "dataset", "text", "here"}
TEXT_COLUMNS |= {"there", "resampled", "category", "subcategory", "rater", "other rater", "instance"}
TEXT_COLUMNS |= {"encoder", "method", "reversed pairs", "task", "labels"}
"""Headings of left-aligned columns; all others are numbers."""


def tabulate(items: Iterable[Item], columns: Columns[Item]) -> Tabled:
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
    headings, rows = table
    return [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
        for row in (headings, ["---"] * len(headings), *rows)
    ]


def make_plain(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Records become objects; NaN and infinity become null, since JSON has neither."""
    return to_jsonable_python(value, inf_nan_mode="null")
