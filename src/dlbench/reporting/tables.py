"""How are scores shown to a person? As tables in the terminal, one column a run, and n/a where nothing can be said."""

import math

from rich.table import Table

from dlbench.scoring import Summary


def percent(value: float) -> str:
    return "n/a" if math.isnan(value) else f"{100 * value:.1f} %"


def score_table(summaries: dict[str, Summary]) -> Table:
    table = Table(title="pass@1", title_justify="left")
    for heading in ("axis", "label", "instances"):
        table.add_column(heading, justify="right" if heading == "instances" else "left")
    for name in summaries:
        table.add_column(name, justify="right")
    for axis, label in score_rows(summaries):
        cells = [find_score(summary, axis, label) for summary in summaries.values()]
        counted = max(count for count, _ in cells)
        table.add_row(axis, label, str(counted), *(percent(value) for _, value in cells), end_section=axis == "all")
    return table


def score_rows(summaries: dict[str, Summary]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((score.axis, score.label) for each in summaries.values() for score in each.scores))


def find_score(summary: Summary, axis: str, label: str) -> tuple[int, float]:
    for score in summary.scores:
        if (score.axis, score.label) == (axis, label):
            return score.instances, score.pass_at_1
    return 0, math.nan


def status_table(summaries: dict[str, Summary]) -> Table:
    table = Table(title="what became of the answers", title_justify="left")
    table.add_column("status")
    for name in summaries:
        table.add_column(name, justify="right")
    for status in dict.fromkeys(status for summary in summaries.values() for status in summary.statuses):
        table.add_row(status, *(str(summary.statuses.get(status, 0)) for summary in summaries.values()))
    return table
