"""Report sections of scores: the ranking, breakdowns by label, size and date, pass@k and variance, and cost."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from html import escape

from dlbench.dataset import AXES
from dlbench.dataset.labels import Stage, Task
from dlbench.dataset.tracks import has_functions
from dlbench.reporting.charts import draw, find_top, shape
from dlbench.reporting.charts.bars import draw_range, draw_ranges
from dlbench.reporting.charts.heatmap import Cell, draw_grid
from dlbench.reporting.charts.points import Point, draw_course, draw_scatter
from dlbench.reporting.report_data import ReportData
from dlbench.reporting.sections import MARKDOWN, PAGE, Block, Legend, Markup, Plot, SideBySide, Table, Text, section
from dlbench.reporting.statistics import STATISTICS, tabulate_statistics
from dlbench.reporting.tables import Tabled, breakdown, percent, render_label, some, spreads
from dlbench.scoring.breakdowns import list_axes
from dlbench.scoring.summary import KS
from dlbench.scoring.tally import group_by, mean

_MOST_DRAWN = 8
MOST_BESIDE = 6
"""Runs whose table fits beside a plot."""
_FOLDED = {"project": "By project", "framework": "By framework", "size": "By size", "year": "By year"}


def run_legend(names: Sequence[str]) -> Legend:
    return Legend([(shape(place, 0, 0, size=4.5), name) for place, name in enumerate(names)])


def tabulate_axis(data: ReportData, axis: str, *, with_all: bool = False) -> Tabled:
    """As `breakdown`, without the column of the axis, which the heading names."""
    headings, rows = breakdown(data.summaries, [axis])
    return ["", *headings[2:]], [row[1:] for row in rows if row[0] != "all" or with_all]


def _note_undrawn(data: ReportData) -> str:
    more = len(data.names) - _MOST_DRAWN
    return f" The {_MOST_DRAWN} best runs are drawn; {more} more are in the tables." if more > 0 else ""


@section("overview", "Runs", order=10, formats=(MARKDOWN,))
def overview(data: ReportData) -> list[Block]:
    note = (
        "pass@1 with its 95 % interval: bootstrap over instances, Wilson's where a group is small or has one outcome"
        " throughout. `!`: harness errors count as failures. `*`: over the samples that report it."
    )
    return [Table(tabulate_statistics(data.subjects), "Runs"), Text(note)]


@section("breakdown", "pass@1", order=11, formats=(MARKDOWN,))
def all_breakdowns(data: ReportData) -> list[Block]:
    return [Table(breakdown(data.summaries, list_axes(data.benchmark)), "pass@1")]


@section("runs", "Runs", order=12, formats=(PAGE,))
def ranking(data: ReportData) -> list[Block]:
    """A column for each statistic with a page heading: pass@1 and its interval first, counts last."""
    top = find_top(each.overall.interval.high for each in data.summaries.values())
    shown = {name: one for name, one in STATISTICS.items() if one.page and one.is_shown(data.subjects.values())}
    main, counts = ("pass_at_1", "interval"), ("instances", "samples")
    names = [*main, *(name for name in shown if name not in main + counts), *counts]
    kinds = {name: "number" if name in main else "number minor" for name in names}
    head = [f'<th scope="col" class="{kinds[name]}">{escape(shown[name].page)}</th>' for name in names]
    head.insert(1, '<th scope="col" class="minor"> </th>')
    rows = []
    for place, (run, subject) in enumerate(data.subjects.items()):
        fault = ' <abbr title="harness errors count as failures">!</abbr>' if subject.score.harness_errors else ""
        cells = [f'<td class="{kinds[name]}">{escape(shown[name].cell(subject))}</td>' for name in names[1:]]
        mark = draw(f"run {place + 1}", 12, [shape(place, 6, 6, size=4.5)], width=12, kind="mark")
        rows.append(
            f'<tr><td class="place">{place + 1}</td><th scope="row">{mark}{escape(run)}</th>'
            f'<td class="number score">{escape(shown[names[0]].cell(subject))}{fault}</td>'
            f'<td class="minor">{draw_range(subject.score, place, top)}</td>{"".join(cells)}</tr>'
        )
    head.insert(0, '<th scope="col"></th><th scope="col">run</th>')
    table = f'<table class="ranking"><thead><tr>{"".join(head)}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    note = (
        f"Bars end at {100 * top:g} %. pass@1 is the share of samples that pass every test, averaged over instances."
        " The 95 % interval says how it would vary with other instances of these projects; “projects resampled”, with"
        " other projects. Runs whose intervals overlap may still differ: dlbench compare tests that."
    )
    frame = '<div class="scroll" tabindex="0" role="region" aria-label="Runs by score">'
    return [Markup(f"{frame}{table}</div>"), Text(note)]


def _show_labels(axis: str, data: ReportData) -> list[Block]:
    groups = {render_label(label): scores for label, scores in data.scores(axis).items()}
    bars = draw_ranges(f"pass@1 by {axis}, in percent, with 95 % intervals", groups, data.names)
    table = Table(tabulate_axis(data, axis, with_all=axis == "stage"), f"pass@1 by {axis}", has_labels=True)
    plot = Plot(bars, "pass@1 in percent, with 95 % intervals")
    return [run_legend(data.names), SideBySide(plot, table, len(data.names) > MOST_BESIDE)]


for _place, _axis in enumerate(AXES):
    section(_axis, f"By {_axis}", order=20 + _place, formats=(PAGE,), on_functions=True)(partial(_show_labels, _axis))


@section("stage-task", "Stage and task", order=30, formats=(PAGE,), on_functions=True)
def stage_and_task(data: ReportData) -> list[Block]:
    grids = []
    for name in data.names[:_MOST_DRAWN]:
        cells = _cross_labels(data, name)
        stages = [label for one in Stage if any(column == (label := render_label(one)) for _, column in cells)]
        tasks = [label for one in Task if any(row == (label := render_label(one)) for row, _ in cells)]
        grids.append(Plot(draw_grid(f"pass@1 of {name} by task and stage", tasks, stages, cells), name))
    note = "pass@1 in percent; an empty cell has no instance. Small cells say little: the tooltip shows the count."
    return [grids, Text(note + _note_undrawn(data))]


def _cross_labels(data: ReportData, name: str) -> dict[tuple[str, str], Cell]:
    assert has_functions(data.benchmark)
    labels = {one: data.benchmark.instances[one].labels for one in data.tallies[name]}
    groups = group_by(labels, lambda one: (render_label(labels[one].task), render_label(labels[one].stage)))
    cells = {}
    for key, members in groups.items():
        share = mean(data.tallies[name][one].share for one in members)
        cells[key] = Cell(share, f"{key[0]}, {key[1]}: {percent(share)} of {some(len(members), 'instance')}")
    return cells


@section("size-date", "Size and date", order=40, formats=(PAGE,), on_functions=True)
def size_and_date(data: ReportData) -> list[Block]:
    names = data.names[:_MOST_DRAWN]
    plots = []
    for axis, caption, below in (
        ("size", "pass@1 in percent, by size", "lines of code of the reference"),
        ("year", "pass@1 in percent, by date", "year in which the function first appeared"),
    ):
        bins = {
            label.replace(" to ", "-").replace(" lines", "").replace(" or more", "+"): scores[:_MOST_DRAWN]
            for label, scores in data.scores(axis).items()
        }
        plots.append(Plot(draw_course(f"pass@1 by {axis}", bins, names, below), caption))
    live = Table(tabulate_axis(data, "live"), "pass@1 by cut-off date")
    note = "A model cannot have seen functions from after its cut-off. Rows overlap." + _note_undrawn(data)
    return [run_legend(names), plots, Text("Live: before and after a date", "heading"), live, Text(note)]


@section("samples", "Several samples", order=50)
def several_samples(data: ReportData) -> list[Block]:
    estimates = tabulate_statistics(data.subjects, [f"pass_at_{k}" for k in KS])
    blocks: list[Block] = [Table(estimates, "pass@k")] if len(estimates[1]) > 1 else []
    if data.repeats:
        blocks += [Text("Run-to-run variance", "heading"), Table(spreads(data.repeats), "Run-to-run variance")]
        blocks.append(Text("In points; variance and standard deviation are divided by n - 1."))
    return blocks or [Text("No run has several different samples of every instance, and no run repeats another.")]


@section("cost", "Cost", order=70, formats=(PAGE,))
def cost(data: ReportData) -> list[Block]:
    figures = [STATISTICS[name] for name in ("prompt_tokens", "completion_tokens", "cost")]
    rows = [[name, *(one.cell(subject) for one in figures)] for name, subject in data.subjects.items()]
    if all(cell == "n/a" for row in rows for cell in row[1:]):
        return [Text("No sample reports tokens or cost.")] if has_functions(data.benchmark) else []
    table = Table((["run", *(one.heading for one in figures)], rows), "Tokens and cost")
    usages = {name: subject.usage for name, subject in data.subjects.items()}
    costs = {name: usage.cost if usage else math.nan for name, usage in usages.items()}
    tokens = {name: usage.tokens_per_sample[1] if usage else math.nan for name, usage in usages.items()}
    for below, values in (("cost of the run", costs), ("completion tokens per sample", tokens)):
        if plot := plot_scores(data, values, below, below):
            return [run_legend(data.names), SideBySide(plot, table)]
    return [run_legend(data.names), table]


def plot_scores(data: ReportData, values: Mapping[str, float], below: str, by: str) -> Plot | None:
    """pass@1 by a figure of each run, where one has both. `below`: the figure under the axis; `by`: in the caption."""
    points = []
    for place, (name, summary) in enumerate(data.summaries.items()):
        score = summary.overall
        if not math.isnan(values[name]) and not math.isnan(score.pass_at_1):
            points.append(Point(name, values[name], score.pass_at_1, score.interval, place))
    return Plot(draw_scatter(f"pass@1 by {below}", points, below), f"pass@1 in percent, by {by}") if points else None


@section("tables", "More tables", order=100, formats=(PAGE,))
def more_tables(data: ReportData) -> list[Block]:
    titles = {**_FOLDED, "crossed": "All labels crossed"}
    known = {axis: titles[axis] for axis in titles if axis in list_axes(data.benchmark)}
    return [Table(tabulate_axis(data, axis), title, is_folded=True, has_labels=True) for axis, title in known.items()]
