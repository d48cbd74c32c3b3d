"""What do the runs come to, at a glance? The first view of a report: a leaderboard, the papers' tables, and pictures.

Made here and not in the browser, so that it can be read without scripts and printed; every score has its interval.
"""

from html import escape

from dlbench.dataset import AXES
from dlbench.reporting.figures import percent, span
from dlbench.reporting.page import markup
from dlbench.reporting.page.reworded import show_wordings
from dlbench.reporting.page.views import (
    MOST_BESIDE,
    show_agreement,
    show_cost,
    show_crossed,
    show_size_and_date,
    show_statuses,
    tabulate,
    word,
)
from dlbench.reporting.pictures import draw_range, draw_ranges
from dlbench.reporting.pictures.marks import find_top
from dlbench.reporting.standing import Standing
from dlbench.reporting.tables import find_ks, spreads


def render_overview(standing: Standing) -> str:
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


def _warn(standing: Standing) -> str:
    return "".join(f'<p class="warning" role="alert">{escape(line)}</p>' for line in standing.warnings)


def _rank(standing: Standing) -> str:
    overall = {name: summary.overall for name, summary in standing.summaries.items()}
    top = find_top(one.interval.high for one in overall.values())
    headings = ["", "run", "pass@1", " ", "95 %", "projects resampled", "tests passed", "instances", "samples"]
    minor = {" ", "projects resampled", "tests passed", "instances", "samples"}
    head = "".join(f'<th scope="col" class="{_kind(name, minor)}">{name}</th>' for name in headings)
    rows = []
    for place, (name, score) in enumerate(overall.items()):
        fault = ' <abbr title="harness errors are counted in">!</abbr>' if score.harness_errors else ""
        rows.append(
            f'<tr><td class="place">{place + 1}</td><th scope="row">{markup.mark(place)}{escape(name)}</th>'
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
    return markup.section("runs", "Runs", markup.frame(ranked, "Runs by score"), markup.paragraph(note))


def _kind(heading: str, minor: set[str]) -> str:
    return "number minor" if heading in minor else "number" if heading in ("pass@1", "95 %") else ""


def _by_label(standing: Standing, axis: str) -> str:
    groups = {word(label): scores for label, scores in standing.scores(axis).items()}
    bars = draw_ranges(f"pass@1 by {axis}, in percent, with 95 % intervals", groups, standing.names)
    picture = markup.figure(bars, "pass@1 in percent, with 95 % intervals")
    told = markup.table(tabulate(standing, [axis]), f"pass@1 by {axis}")
    return markup.section(
        axis,
        f"By {axis}",
        markup.legend(standing.names),
        markup.side_by_side(picture, told, wide=len(standing.names) > MOST_BESIDE),
    )


def _several_samples(standing: Standing) -> str:
    scores = [summary.overall for summary in standing.summaries.values()]
    ks = find_ks(scores)
    parts = []
    if ks:
        rows = [[f"pass@{k}", *(percent(one.pass_at[k]) for one in scores)] for k in (1, *ks)]
        parts.append(markup.table((["", *standing.names], rows), "pass@k"))
    if standing.repeats:
        parts += ["<h3>The same again</h3>", markup.table(spreads(standing.repeats), "Variance over repeats")]
        parts.append(markup.paragraph("In points; variance and standard deviation are divided by n - 1."))
    if not parts:
        parts.append(markup.paragraph("Every run has one sample an instance, and none is a repeat of another."))
    return markup.section("samples", "Several samples", *parts)


def _everything(standing: Standing) -> str:
    titles = {
        "project": "By project",
        "framework": "By framework",
        "size": "By size",
        "year": "By year",
        "crossed": "All labels crossed",
    }
    parts = [markup.details(title, markup.table(tabulate(standing, [axis]), title)) for axis, title in titles.items()]
    return markup.section("tables", "More tables", *parts)
