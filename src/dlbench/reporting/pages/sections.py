"""What do the runs come to, at a glance? The first view of a report: a leaderboard, the papers' tables, and pictures.

Made here and not in the browser, so that it can be read without scripts and printed; every score has its interval.

What can be seen of the runs that a table does not show? Where labels meet, how size and date matter, what became of
the answers, what a score cost, and whether two runs solve the same.

What does a page show of runs that asked in other words? Gain, operators and effects, with a picture of each.
"""

import math
from collections.abc import Callable, Sequence
from html import escape

from dlbench.dataset import AXES
from dlbench.dataset.labels import Stage, Task
from dlbench.reporting.charts import (
    Cell,
    Point,
    draw_course,
    draw_grid,
    draw_mix,
    draw_range,
    draw_ranges,
    draw_scatter,
)
from dlbench.reporting.charts.svg import find_top
from dlbench.reporting.formatting import format_usage, number, percent, span
from dlbench.reporting.pages import render
from dlbench.reporting.report_data import ReportData
from dlbench.reporting.studies.agreement import study_run
from dlbench.reporting.tables import Tabled, breakdown, find_ks, spreads, statuses
from dlbench.runs.verdict import Status
from dlbench.scoring import Tally, Usage
from dlbench.scoring.compare import find_overlaps

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


def render_label(slug: str) -> str:
    return SHORT.get(slug, slug.replace("_", " "))


def tabulate(standing: ReportData, axes: Sequence[str]) -> Tabled:
    """As `breakdown`, without the column of the axis, which the heading says."""
    headings, rows = breakdown(standing.summaries, axes)
    kept = [[render_label(row[1]), *row[2:]] for row in rows if row[0] != "all" or axes == ["stage"]]
    return ["", *headings[2:]], kept


def show_crossed(standing: ReportData) -> str:
    grids = []
    for name in standing.names[:_MOST_DRAWN]:
        cells = _cross_labels(standing, name)
        stages = [render_label(label) for label in Stage if any(column == render_label(label) for _, column in cells)]
        tasks = [render_label(label) for label in Task if any(row == render_label(label) for row, _ in cells)]
        grids.append(render.figure(draw_grid(f"pass@1 of {name} by task and stage", tasks, stages, cells), name))
    note = (
        "pass@1 in percent; an empty cell has no instance. Small cells say little: hold the pointer over one."
        + _tell_left_out(standing)
    )
    return render.section("stage-task", "Stage and task", render.gallery(*grids), render.paragraph(note))


def _tell_left_out(standing: ReportData) -> str:
    more = len(standing.names) - _MOST_DRAWN
    return f" The {_MOST_DRAWN} best runs are drawn; {more} more are in the tables." if more > 0 else ""


def _cross_labels(standing: ReportData, name: str) -> dict[tuple[str, str], Cell]:
    found: dict[tuple[str, str], list[Tally]] = {}
    for instance, tally in standing.tallies[name].items():
        labels = standing.benchmark.instances[instance].labels
        found.setdefault((render_label(labels.task), render_label(labels.stage)), []).append(tally)
    cells = {}
    for key, tallies in found.items():
        share = sum(one.share for one in tallies) / len(tallies)
        tip = f"{key[0]}, {key[1]}: {percent(share)} of {len(tallies)} instance{'s' if len(tallies) > 1 else ''}"
        cells[key] = Cell(share, tip)
    return cells


def show_size_and_date(standing: ReportData) -> str:
    names = standing.names[:_MOST_DRAWN]
    sizes = {_shorten(label): scores[:_MOST_DRAWN] for label, scores in standing.scores("size").items()}
    years = {label: scores[:_MOST_DRAWN] for label, scores in standing.scores("year").items()}
    size = draw_course("pass@1 by size", sizes, names, below="lines of code of the reference")
    year = draw_course("pass@1 by year", years, names, below="year in which the function first appeared")
    pictures = [render.figure(size, "pass@1 in percent, by size"), render.figure(year, "pass@1 in percent, by date")]
    live = render.table(tabulate(standing, ["live"]), "pass@1 by cut-off date")
    note = "After a model's cut-off it cannot have read the function; rows of different days overlap." + _tell_left_out(
        standing
    )
    return render.section(
        "size-date",
        "Size and date",
        render.legend(names),
        render.gallery(*pictures),
        "<h3>Live: before and after a day</h3>",
        live,
        render.paragraph(note),
    )


def _shorten(size: str) -> str:
    return size.replace(" to ", "-").replace(" lines", "").replace(" or more", "+")


def show_statuses(standing: ReportData) -> str:
    known = dict.fromkeys(status for each in standing.summaries.values() for status in each.statuses)
    ordered = [status for status in _STATUSES if status in known]
    counts = {name: {status: each.statuses.get(status, 0) for status in ordered}
              for name, each in standing.summaries.items()}  # fmt: skip
    picture = render.figure(draw_mix("Statuses of the verdicts by run", counts), "Share of each status")
    headings, rows = statuses(standing.summaries)
    # how many are cut off is no status of its own, and stands below them
    told = sorted(rows, key=lambda row: ordered.index(row[0]) if row[0] in ordered else len(ordered))
    cells = render.table((headings, [[render_label(row[0]), *row[1:]] for row in told]), "Verdicts by status")
    return render.section(
        "statuses",
        "What became of the answers",
        render.status_legend(ordered),
        render.side_by_side(picture, cells, wide=len(standing.names) > MOST_BESIDE),
    )


def show_cost(standing: ReportData) -> str:
    told = [[name, *format_usage(standing.usages.get(name))] for name in standing.names]
    if all(cell == "n/a" for row in told for cell in row[1:]):
        return render.section("cost", "Cost", render.paragraph("No sample says what it cost."))
    cells = render.table((["run", "tokens asked", "tokens answered", "cost"], told), "Tokens and cost")
    by_cost = _points(standing, lambda usage: usage.cost)
    by_tokens = _points(standing, lambda usage: usage.completion_tokens)
    points, below = (by_cost, "cost of the run") if by_cost else (by_tokens, "tokens answered")
    parts = [cells]
    if points:
        parts.insert(
            0, render.figure(draw_scatter(f"pass@1 by {below}", points, below), f"pass@1 in percent, by {below}")
        )
    return render.section("cost", "Cost", render.legend(standing.names), render.side_by_side(*parts))


def _points(standing: ReportData, measure: Callable[[Usage], float]) -> list[Point]:
    points = []
    for place, (name, summary) in enumerate(standing.summaries.items()):
        usage, score = standing.usages.get(name), summary.overall
        if usage is not None and not math.isnan(measure(usage)) and not math.isnan(score.pass_at_1):
            points.append(Point(name, measure(usage), score.pass_at_1, score.interval, place))
    return points


def show_agreement(standing: ReportData) -> str:
    if len(standing.names) < 2:
        return ""
    places = {name: str(place + 1) for place, name in enumerate(standing.names)}
    cells: dict[tuple[str, str], Cell] = {}
    for (a, b), found in find_overlaps(standing.tallies).items():
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
    return render.section(
        "agreement",
        "Agreement between runs",
        render.figure(grid, "Do two runs solve the same?"),
        render.paragraph(note),
    )


_CAPTIONS = ("pass@1 in percent, by who chooses", "pass@1 in percent, by operator", "percent of wordings, by effect")


def show_wordings(standing: ReportData) -> str:
    parts = []
    for name, run in standing.runs.items():
        studied = study_run(run, standing.benchmark)
        if studied is None:
            continue
        parts.append(f"<h3>{escape(name)}</h3>")
        if isinstance(studied, str):
            parts.append(render.paragraph(studied, "warning"))
            continue
        parts.append(render.paragraph(f"For the choice {studied.cost}."))
        if studied.fault:
            parts.append(render.paragraph(studied.fault, "warning"))
        parts.append(
            render.gallery(
                *(render.figure(picture, word) for word, picture in zip(_CAPTIONS, studied.grids.values(), strict=True))
            )
        )
        parts += [
            render.details(title.capitalize(), render.table(table, title)) for title, table in studied.tables.items()
        ]
    return render.section("wordings", "In other words", *parts) if parts else ""


def render_overview(standing: ReportData) -> str:
    parts = [
        _warn(standing),
        _rank(standing),
        *(_by_label(standing, axis) for axis in AXES),
        show_crossed(standing),
        show_size_and_date(standing),
        _several_samples(standing),
        show_statuses(standing),
        show_cost(standing),
        show_agreement(standing),
        show_wordings(standing),
        _everything(standing),
    ]
    return "".join(parts)


def _warn(standing: ReportData) -> str:
    return "".join(f'<p class="warning" role="alert">{escape(line)}</p>' for line in standing.warnings)


def _rank(standing: ReportData) -> str:
    overall = {name: summary.overall for name, summary in standing.summaries.items()}
    top = find_top(one.interval.high for one in overall.values())
    headings = ["", "run", "pass@1", " ", "95 %", "projects resampled", "tests passed", "instances", "samples"]
    minor = {" ", "projects resampled", "tests passed", "instances", "samples"}
    head = "".join(f'<th scope="col" class="{_kind(name, minor)}">{name}</th>' for name in headings)
    rows = []
    for place, (name, score) in enumerate(overall.items()):
        fault = ' <abbr title="harness errors are counted in">!</abbr>' if score.harness_errors else ""
        rows.append(
            f'<tr><td class="place">{place + 1}</td><th scope="row">{render.mark(place)}{escape(name)}</th>'
            f'<td class="number score">{percent(score.pass_at_1)}{fault}</td>'
            f'<td class="minor">{draw_range(score, place, top)}</td>'
            f'<td class="number">{span(score.interval)}</td><td class="number minor">{span(score.clustered)}</td>'
            f'<td class="number minor">{percent(score.passing_rate)}</td>'
            f'<td class="number minor">{score.instances}</td><td class="number minor">{score.samples}</td></tr>'
        )
    ranked = f'<table class="board"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    note = (
        f"Bars end at {100 * top:g} %. pass@1 is the share of samples that pass every test, averaged over instances."
        " The 95 % interval says how it would vary with other instances of these projects; “projects resampled”, with"
        " other projects. Runs whose intervals overlap may still differ: dlbench compare tests that."
    )
    return render.section("runs", "Runs", render.frame(ranked, "Runs by score"), render.paragraph(note))


def _kind(heading: str, minor: set[str]) -> str:
    return "number minor" if heading in minor else "number" if heading in ("pass@1", "95 %") else ""


def _by_label(standing: ReportData, axis: str) -> str:
    groups = {render_label(label): scores for label, scores in standing.scores(axis).items()}
    bars = draw_ranges(f"pass@1 by {axis}, in percent, with 95 % intervals", groups, standing.names)
    picture = render.figure(bars, "pass@1 in percent, with 95 % intervals")
    told = render.table(tabulate(standing, [axis]), f"pass@1 by {axis}")
    return render.section(
        axis,
        f"By {axis}",
        render.legend(standing.names),
        render.side_by_side(picture, told, wide=len(standing.names) > MOST_BESIDE),
    )


def _several_samples(standing: ReportData) -> str:
    scores = [summary.overall for summary in standing.summaries.values()]
    ks = find_ks(scores)
    parts = []
    if ks:
        rows = [[f"pass@{k}", *(percent(one.pass_at[k]) for one in scores)] for k in (1, *ks)]
        parts.append(render.table((["", *standing.names], rows), "pass@k"))
    if standing.repeats:
        parts += ["<h3>The same again</h3>", render.table(spreads(standing.repeats), "Variance over repeats")]
        parts.append(render.paragraph("In points; variance and standard deviation are divided by n - 1."))
    if not parts:
        parts.append(render.paragraph("Every run has one sample an instance, and none is a repeat of another."))
    return render.section("samples", "Several samples", *parts)


def _everything(standing: ReportData) -> str:
    titles = {
        "project": "By project",
        "framework": "By framework",
        "size": "By size",
        "year": "By year",
        "crossed": "All labels crossed",
    }
    parts = [render.details(title, render.table(tabulate(standing, [axis]), title)) for axis, title in titles.items()]
    return render.section("tables", "More tables", *parts)
