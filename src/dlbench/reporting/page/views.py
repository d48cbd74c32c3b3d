"""What can be seen of the runs that a table does not show? Where labels meet, how size and date matter, what became of
the answers, what a score cost, and whether two runs solve the same."""

import math
from collections.abc import Callable, Sequence

from dlbench.dataset.labels import Stage, Task
from dlbench.reporting.figures import number, percent, tell_usage
from dlbench.reporting.page import markup
from dlbench.reporting.pictures import Cell, Point, draw_course, draw_grid, draw_mix, draw_scatter
from dlbench.reporting.standing import Standing
from dlbench.reporting.tables import Tabled, breakdown, statuses
from dlbench.runs.verdict import Status
from dlbench.scoring import Tally, Usage
from dlbench.scoring.compare import find_concord

_MOST_DRAWN = 8
_LONGEST = 20
_STATUSES = [str(status) for status in Status]
MOST_BESIDE = 6
"""Runs whose table has room beside a picture."""
SHORT = {
    str(Stage.PRE_POST_PROCESSING): "pre/post-processing",
    str(Stage.EVALUATION_METRICS): "evaluation",
    str(Task.TIME_SERIES_PREDICTION): "time series",
}


def word(slug: str) -> str:
    return SHORT.get(slug, slug.replace("_", " "))


def tabulate(standing: Standing, axes: Sequence[str]) -> Tabled:
    """As `breakdown`, without the column of the axis, which the heading says."""
    headings, rows = breakdown(standing.summaries, axes)
    kept = [[word(row[1]), *row[2:]] for row in rows if row[0] != "all" or axes == ["stage"]]
    return ["", *headings[2:]], kept


def show_crossed(standing: Standing) -> str:
    grids = []
    for name in standing.names[:_MOST_DRAWN]:
        cells = _cross_labels(standing, name)
        stages = [word(label) for label in Stage if any(column == word(label) for _, column in cells)]
        tasks = [word(label) for label in Task if any(row == word(label) for row, _ in cells)]
        grids.append(markup.figure(draw_grid(f"pass@1 of {name} by task and stage", tasks, stages, cells), name))
    note = (
        "pass@1 in percent; an empty cell has no instance. Small cells say little: hold the pointer over one."
        + _tell_left_out(standing)
    )
    return markup.section("stage-task", "Stage and task", markup.gallery(*grids), markup.paragraph(note))


def _tell_left_out(standing: Standing) -> str:
    more = len(standing.names) - _MOST_DRAWN
    return f" The {_MOST_DRAWN} best runs are drawn; {more} more are in the tables." if more > 0 else ""


def _cross_labels(standing: Standing, name: str) -> dict[tuple[str, str], Cell]:
    found: dict[tuple[str, str], list[Tally]] = {}
    for instance, tally in standing.tallies[name].items():
        labels = standing.benchmark.instances[instance].labels
        found.setdefault((word(labels.task), word(labels.stage)), []).append(tally)
    cells = {}
    for key, tallies in found.items():
        share = sum(one.share for one in tallies) / len(tallies)
        tip = f"{key[0]}, {key[1]}: {percent(share)} of {len(tallies)} instance{'s' if len(tallies) > 1 else ''}"
        cells[key] = Cell(share, tip)
    return cells


def show_size_and_date(standing: Standing) -> str:
    names = standing.names[:_MOST_DRAWN]
    sizes = {_shorten(label): scores[:_MOST_DRAWN] for label, scores in standing.scores("size").items()}
    years = {label: scores[:_MOST_DRAWN] for label, scores in standing.scores("year").items()}
    size = draw_course("pass@1 by size", sizes, names, below="lines of code of the reference")
    year = draw_course("pass@1 by year", years, names, below="year in which the function first appeared")
    pictures = [markup.figure(size, "pass@1 in percent, by size"), markup.figure(year, "pass@1 in percent, by date")]
    live = markup.table(tabulate(standing, ["live"]), "pass@1 by cut-off date")
    note = "After a model's cut-off it cannot have read the function; rows of different days overlap." + _tell_left_out(
        standing
    )
    return markup.section(
        "size-date",
        "Size and date",
        markup.legend(names),
        markup.gallery(*pictures),
        "<h3>Live: before and after a day</h3>",
        live,
        markup.paragraph(note),
    )


def _shorten(size: str) -> str:
    return size.replace(" to ", "-").replace(" lines", "").replace(" or more", "+")


def show_statuses(standing: Standing) -> str:
    known = dict.fromkeys(status for each in standing.summaries.values() for status in each.statuses)
    ordered = [status for status in _STATUSES if status in known]
    counts = {name: {status: each.statuses.get(status, 0) for status in ordered}
              for name, each in standing.summaries.items()}  # fmt: skip
    picture = markup.figure(draw_mix("Statuses of the verdicts by run", counts), "Share of each status")
    headings, rows = statuses(standing.summaries)
    # how many are cut off is no status of its own, and stands below them
    told = sorted(rows, key=lambda row: ordered.index(row[0]) if row[0] in ordered else len(ordered))
    cells = markup.table((headings, [[word(row[0]), *row[1:]] for row in told]), "Verdicts by status")
    return markup.section(
        "statuses",
        "What became of the answers",
        markup.status_legend(ordered),
        markup.side_by_side(picture, cells, wide=len(standing.names) > MOST_BESIDE),
    )


def show_cost(standing: Standing) -> str:
    told = [[name, *tell_usage(standing.usages.get(name))] for name in standing.names]
    if all(cell == "n/a" for row in told for cell in row[1:]):
        return markup.section("cost", "Cost", markup.paragraph("No sample says what it cost."))
    cells = markup.table((["run", "tokens asked", "tokens answered", "cost"], told), "Tokens and cost")
    by_cost = _points(standing, lambda usage: usage.cost)
    by_tokens = _points(standing, lambda usage: usage.completion_tokens)
    points, below = (by_cost, "cost of the run") if by_cost else (by_tokens, "tokens answered")
    parts = [cells]
    if points:
        parts.insert(
            0, markup.figure(draw_scatter(f"pass@1 by {below}", points, below), f"pass@1 in percent, by {below}")
        )
    return markup.section("cost", "Cost", markup.legend(standing.names), markup.side_by_side(*parts))


def _points(standing: Standing, measure: Callable[[Usage], float]) -> list[Point]:
    points = []
    for place, (name, summary) in enumerate(standing.summaries.items()):
        usage, score = standing.usages.get(name), summary.overall
        if usage is not None and not math.isnan(measure(usage)) and not math.isnan(score.pass_at_1):
            points.append(Point(name, measure(usage), score.pass_at_1, score.interval, place))
    return points


def show_agreement(standing: Standing) -> str:
    if len(standing.names) < 2:
        return ""
    places = {name: str(place + 1) for place, name in enumerate(standing.names)}
    cells: dict[tuple[str, str], Cell] = {}
    for (a, b), found in find_concord(standing.tallies).items():
        tip = (
            f"{a} and {b}: alike on {percent(found.share)} of {found.instances}; both solve {found.both}, only the"
            f" first {found.only_a}, only the second {found.only_b}, neither {found.neither};"
            f" kappa {number(found.kappa)}"
        )
        # each pair twice: below the diagonal what is seen, above it what is left without chance
        cells[f"{places[b]} {b}", places[a]] = Cell(found.share, tip)
        cells[f"{places[a]} {a}", places[b]] = Cell(found.kappa, tip)
    rows = [f"{place} {name}" for name, place in places.items()]
    short = {row: row if len(row) <= _LONGEST else row[: _LONGEST - 1] + "…" for row in rows}
    shown = {(short[row], column): cell for (row, column), cell in cells.items()}
    grid = draw_grid("Agreement between runs", list(short.values()), list(places.values()), shown, slant=False)
    note = (
        "Below the diagonal: percent of the instances on which two runs go alike, both solving it or both not. Above"
        " it: Cohen's kappa in percent, which is 0 where chance alone would agree as often."
    )
    return markup.section(
        "agreement",
        "Agreement between runs",
        markup.figure(grid, "Do two runs solve the same?"),
        markup.paragraph(note),
    )
