"""Tables and plots of studies of candidates: kinds of bugs, and time, memory and code beside the reference.

Counts of bugs are shown next to those of the paper's Table 6, and ratios to the reference always with the noise.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from dlbench.analysis.bugs import read_categories
from dlbench.analysis.bugs.agreement import Agreement, Votes
from dlbench.analysis.efficiency import SIDES, CandidateRatios, Efficiency, Ratio, find_direction
from dlbench.reporting.charts import stand_alone
from dlbench.reporting.charts.heatmap import draw_shares
from dlbench.reporting.charts.points import Panel, draw_ratios
from dlbench.reporting.tables import Tabled, list_some, number, percent, short, span, tabulate, to_markdown

PAPER = "the papers (GPT-4o)"
UNCLASSIFIED = "not classified"
_MAX_CONFUSIONS = 15


def tabulate_bugs(found: Mapping[str, Sequence[str]]) -> Tabled:
    """A row per category; a column per run, the papers' last. `found`: by run, the category of each failure or ""."""
    counts = {run: Counter(each) for run, each in found.items()}
    total = sum(category.seen for category in read_categories().values())
    rows = [["all", *(str(each.total()) for each in counts.values()), str(total)]]
    for slug, category in read_categories().items():
        cells = [_share(each[slug], each.total()) for each in counts.values()]
        rows.append([category.name, *cells, _share(category.seen, total)])
    rows.append([UNCLASSIFIED, *(_share(each[""], each.total()) for each in counts.values()), _share(0, total)])
    return ["category", *found, PAPER], rows


def tabulate_raters(raters: Mapping[str, Votes]) -> Tabled:
    """Categories per rater, over the failures that the rater has rated."""
    counts = [Counter(votes.values()) for votes in raters.values()]
    rows = [["all", *(str(each.total()) for each in counts)]]
    for slug, category in read_categories().items():
        rows.append([category.name, *(_share(each[slug], each.total()) for each in counts)])
    return ["category", *raters], rows


def draw_bugs(found: Mapping[str, Sequence[str]]) -> dict[str, str]:
    categories = read_categories()
    total = sum(category.seen for category in categories.values())
    shares = {(PAPER, one.name): one.seen / total for one in categories.values()} | {(PAPER, UNCLASSIFIED): 0.0}
    for run, each in found.items():
        counts = Counter(categories[slug].name if slug else UNCLASSIFIED for slug in each)
        shares |= {(run, name): counts[name] / max(1, len(each)) for _, name in [*shares]}
    names = [*(category.name for category in categories.values()), UNCLASSIFIED]
    return {"bugs": draw_shares("% of failures by kind of bug", [*found, PAPER], names, shares)}


def tabulate_confusions(confusions: Sequence[tuple[str, str, int]], headings: tuple[str, str]) -> Tabled:
    known = read_categories()
    rows = [[known[a].name, known[b].name, str(count)] for a, b, count in confusions[:_MAX_CONFUSIONS]]
    return [*headings, "times"], rows


def tabulate_agreement(found: Agreement) -> Tabled:
    rows = [[one.a, one.b, str(one.failures), percent(one.share), number(one.alpha)] for one in found.pairs]
    if len(found.pairs) > 1:
        rows.append(["all raters", "", str(found.failures), "", number(found.alpha)])
    return ["rater", "other rater", "failures", "agree", "alpha"], rows


def write_markdown(tables: Mapping[str, Tabled], notes: Sequence[str]) -> str:
    lines = ["# Bugs", ""]
    for title, table in tables.items():
        lines += [f"## {title[:1].upper()}{title[1:]}", *to_markdown(table), ""]
    return "\n".join([*lines, *(f"- {note}" for note in notes), ""])


def _share(count: int, of: int) -> str:
    return f"{count} ({100 * count / of:.0f} %)" if of else "0"


MOST_SHOWN = 15
_UNITS = {"time": "s", "processor": "s", "memory": "MiB"}
_NAMED = 3


def tabulate_costs(found: Sequence[Efficiency]) -> Tabled:
    rows = []
    for name, cost in [(one.name, cost) for one in found for cost in one.costs]:
        reference, noise = f"{short(cost.reference)} {_UNITS[cost.side]}", cost.noise
        means = [[number(each.mean, ".3f"), span(each.interval, ".3f", 1)] for each in (cost, noise)]
        row = [name, cost.side, str(cost.instances), str(cost.samples), reference, *means[0]]
        row += [number(cost.low, ".3f"), number(cost.high, ".3f"), str(cost.more), str(cost.less)]
        rows.append([*row, *means[1], number(noise.reach, ".3f"), percent(noise.coverage)])
    headings = ["run", "measure", "instances", "samples", "reference", "ratio", "95 %", "10 %", "90 %", "more", "less"]
    return [*headings, "itself", "95 %", "noise", "coverage"], rows


def tabulate_code(found: Sequence[Efficiency]) -> Tabled:
    return tabulate([(one.name, each) for one in found for each in one.maintainability], {
        "run": lambda one: one[0],
        "measure": lambda one: one[1].measure,
        "instances": lambda one: one[1].instances,
        "candidates": lambda one: number(one[1].candidate),
        "reference": lambda one: number(one[1].reference),
        "ratio": lambda one: number(one[1].ratio, ".3f"),
        "95 %": lambda one: span(one[1].interval, ".3f", 1),
        "more": lambda one: percent(one[1].more),
        "less": lambda one: percent(one[1].less),
    })  # fmt: skip


def tabulate_outstanding(found: Sequence[Efficiency]) -> Tabled:
    """Candidates beyond the noise on any side, largest difference first."""
    chosen = [(one.name, each) for one in found for each in _find_outstanding(one)]
    chosen.sort(key=lambda pair: _distance(pair[1]), reverse=True)
    rows = []
    for name, each in chosen[:MOST_SHOWN]:
        ratios = [_format(each.ratios[side], _UNITS[side]) for side in SIDES]
        rows.append([name, each.instance, list_some(each.samples, _NAMED), *ratios])
    return ["run", "instance", "sample", *SIDES], rows


def describe_costs(found: Sequence[Efficiency]) -> list[str]:
    """How to read the tables, and what they leave out."""
    lines = [
        "ratio: candidate to reference, side by side in one worker; geometric mean over instances. It covers the tests"
        " as a whole, which do more than call the function: a function twice as slow shows as less than 2.",
        "itself: the reference against itself; noise: 95 % of instances are within this factor there; coverage: the"
        " share of its intervals that contain 1. A ratio whose interval overlaps that of `itself` shows nothing.",
        "more, less: samples whose own interval excludes 1 and whose ratio exceeds the noise.",
    ]
    if len(found) > 1:
        lines.append(
            "EACH RUN ON WHAT IT SOLVES ITSELF: runs that solve other functions have other references; between runs,"
            " compare single candidates."
        )
    for one in found:
        if not one.samples:
            lines.append(f"{one.name}: no sample passes, so there is nothing to measure")
        if one.unmeasured:
            lines.append(f"NOT MEASURED: {one.unmeasured} of {one.samples} samples of {one.name} that pass")
        lines += [f"GIVEN UP: {instance} of {one.name}: {why}" for instance, why in one.given_up.items()]
        if one.unstable:
            what = f"{len(one.unstable)} samples of {one.name} did not pass when run again"
            lines.append(f"LEFT OUT: {what} ({list_some(one.unstable, _NAMED)})")
    outstanding = sum(len(_find_outstanding(one)) for one in found)
    if outstanding > MOST_SHOWN:
        lines.append(f"{MOST_SHOWN} of {outstanding} candidates beyond the noise are shown; --json has them all")
    return lines


def draw_efficiency(found: Sequence[Efficiency]) -> dict[str, str]:
    """One plot per run, numbered in order."""
    plots = {}
    for place, one in enumerate(found):
        panels = [
            Panel(
                f"{cost.side} of the tests, candidate to reference",
                [
                    (each.instance, each.ratios[cost.side].value, each.ratios[cost.side].interval)
                    for each in one.candidates
                ],
                cost.noise.reach,
            )
            for cost in one.costs
        ]
        plots[f"efficiency-{place + 1}"] = stand_alone(draw_ratios(one.name, panels, place))
    return plots


def _find_outstanding(one: Efficiency) -> list[CandidateRatios]:
    noises = {cost.side: cost.noise for cost in one.costs}
    return [each for each in one.candidates if any(find_direction(each.ratios[side], noises[side]) for side in SIDES)]


def _distance(one: CandidateRatios) -> float:
    return max(abs(math.log(ratio.value)) for ratio in one.ratios.values() if ratio.value > 0)


def _format(ratio: Ratio, unit: str) -> str:
    difference = short(ratio.candidate - ratio.reference, "+")
    return f"{short(ratio.value)} ({span(ratio.interval, '.3f', 1)}), {difference} {unit}"
