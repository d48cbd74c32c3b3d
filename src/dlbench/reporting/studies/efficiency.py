"""Tables and plots of the efficiency study: ratios to the reference, always with the noise."""

import math
from collections.abc import Sequence

from dlbench.analysis.efficiency.summary import SIDES, CandidateRatios, Efficiency, Ratio, find_direction
from dlbench.reporting.charts.points import Panel, draw_ratios
from dlbench.reporting.charts.svg import stand_alone
from dlbench.reporting.formatting import list_some, number, percent, short, span
from dlbench.reporting.tables import Tabled, tabulate

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
        rows.append([*row, *means[1], number(noise.reach, ".3f"), percent(noise.holding)])
    headings = ["run", "measure", "instances", "samples", "reference", "ratio", "95 %", "10 %", "90 %", "more", "less"]
    return [*headings, "itself", "95 %", "noise", "1 held"], rows


def tabulate_code(found: Sequence[Efficiency]) -> Tabled:
    return tabulate([(one.name, each) for one in found for each in one.upkeep], {
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
        "itself: the reference against itself; noise: 95 % of instances are within this factor there; 1 held: the share"
        " of its intervals that contain 1. A ratio whose interval overlaps that of `itself` shows nothing.",
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
        if one.unsteady:
            what = f"{len(one.unsteady)} samples of {one.name} did not pass when run again"
            lines.append(f"LEFT OUT: {what} ({list_some(one.unsteady, _NAMED)})")
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
                [(each.instance, each.ratios[cost.side].value, each.ratios[cost.side].interval) for each in one.beside],
                cost.noise.reach,
            )
            for cost in one.costs
        ]
        plots[f"efficiency-{place + 1}"] = stand_alone(draw_ratios(one.name, panels, place))
    return plots


def _find_outstanding(one: Efficiency) -> list[CandidateRatios]:
    noises = {cost.side: cost.noise for cost in one.costs}
    return [each for each in one.beside if any(find_direction(each.ratios[side], noises[side]) for side in SIDES)]


def _distance(one: CandidateRatios) -> float:
    return max(abs(math.log(ratio.value)) for ratio in one.ratios.values() if ratio.value > 0)


def _format(ratio: Ratio, unit: str) -> str:
    difference = short(ratio.candidate - ratio.reference, "+")
    return f"{short(ratio.value)} ({span(ratio.interval, '.3f', 1)}), {difference} {unit}"
