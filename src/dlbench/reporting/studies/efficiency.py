"""How is it shown what right answers cost? Ratios to the reference, never without the noise that they stand in."""

import math
from collections.abc import Iterable, Sequence

from dlbench.analysis.efficiency.summary import SIDES, Beside, Efficiency, Ratio, find_side
from dlbench.reporting.charts import Panel, draw_ratios, stand_alone
from dlbench.reporting.formatting import number, percent
from dlbench.reporting.tables import Tabled
from dlbench.scoring import Interval

MOST_SHOWN = 15
_UNITS = {"time": "s", "processor": "s", "memory": "MiB"}
_NAMED = 3


def tabulate_costs(found: Sequence[Efficiency]) -> Tabled:
    rows = [
        [
            one.name,
            cost.side,
            str(cost.instances),
            str(cost.samples),
            f"{number(cost.reference, '.3g')} {_UNITS[cost.side]}",
            number(cost.mean, ".3f"),
            _span(cost.interval),
            number(cost.low, ".3f"),
            number(cost.high, ".3f"),
            str(cost.more),
            str(cost.less),
            number(cost.noise.mean, ".3f"),
            _span(cost.noise.interval),
            number(cost.noise.reach, ".3f"),
            percent(cost.noise.holding),
        ]
        for one in found
        for cost in one.costs
    ]
    headings = ["run", "measure", "instances", "samples", "reference", "ratio", "95 %", "10 %", "90 %", "more", "less"]
    return [*headings, "itself", "95 %", "noise", "1 held"], rows


def tabulate_upkeep(found: Sequence[Efficiency]) -> Tabled:
    rows = [
        [
            one.name,
            each.measure,
            str(each.instances),
            number(each.candidate),
            number(each.reference),
            number(each.ratio, ".3f"),
            _span(each.interval),
            percent(each.more),
            percent(each.less),
        ]
        for one in found
        for each in one.upkeep
    ]
    return ["run", "measure", "instances", "candidates", "reference", "ratio", "95 %", "more", "less"], rows


def tabulate_outstanding(found: Sequence[Efficiency]) -> Tabled:
    """Candidates beyond the noise in either respect, the furthest first."""
    chosen = [(one.name, each) for one in found for each in _find_outstanding(one)]
    chosen.sort(key=lambda pair: _distance(pair[1]), reverse=True)
    rows = [
        [
            name,
            each.instance,
            ", ".join(map(str, each.samples[:_NAMED])) + (", …" if len(each.samples) > _NAMED else ""),
            *(_tell(each.ratios[side], _UNITS[side]) for side in SIDES),
        ]
        for name, each in chosen[:MOST_SHOWN]
    ]
    return ["run", "instance", "sample", *SIDES], rows


def tell_costs(found: Sequence[Efficiency]) -> list[str]:
    """How the tables are to be read, and who is not in them."""
    lines = [
        "ratio: candidate to reference, side by side in one worker; the geometric mean over instances. It is about the"
        " tests as a whole, which do more than call the function: a function twice as slow shows as less than 2.",
        "itself: the reference against itself, the same way; noise: 95 % of instances lie within this factor there; 1"
        " held: so many of its intervals hold 1. A ratio whose interval meets that of `itself` shows nothing.",
        "more, less: samples whose own interval leaves out 1, and which lie beyond the noise.",
    ]
    if len(found) > 1:
        lines.append(
            "EACH RUN ON WHAT IT SOLVES ITSELF: one that solves the short functions alone has other references than one"
            " that solves the long ones, too; between runs compare single candidates."
        )
    for one in found:
        if not one.samples:
            lines.append(f"{one.name}: no sample passes, so there is nothing to measure")
        if one.unmeasured:
            lines.append(f"NOT MEASURED: {one.unmeasured} of {one.samples} samples of {one.name} that pass")
        lines += [f"GIVEN UP: {instance} of {one.name}: {why}" for instance, why in one.given_up.items()]
        if one.unsteady:
            shown = ", ".join(one.unsteady[:_NAMED]) + (", …" if len(one.unsteady) > _NAMED else "")
            lines.append(
                f"LEFT OUT: {len(one.unsteady)} samples of {one.name} did not pass when they were run again ({shown})"
            )
    outstanding = sum(len(_find_outstanding(one)) for one in found)
    if outstanding > MOST_SHOWN:
        lines.append(f"{MOST_SHOWN} of {outstanding} candidates beyond the noise are shown; --json has them all")
    return lines


def draw_efficiency(found: Sequence[Efficiency]) -> dict[str, str]:
    """A picture a run, numbered as the runs were given."""
    pictures = {}
    for place, one in enumerate(found):
        panels = [
            Panel(
                f"{cost.side} of the tests, candidate to reference",
                [(each.instance, each.ratios[cost.side].value, each.ratios[cost.side].interval) for each in one.beside],
                cost.noise.reach,
            )
            for cost in one.costs
        ]
        pictures[f"efficiency-{place + 1}"] = stand_alone(draw_ratios(one.name, panels, place))
    return pictures


def _find_outstanding(one: Efficiency) -> list[Beside]:
    noises = {cost.side: cost.noise for cost in one.costs}
    return [each for each in one.beside if any(find_side(each.ratios[side], noises[side]) for side in SIDES)]


def _distance(beside: Beside) -> float:
    return max(abs(math.log(value)) for value in _values(beside.ratios.values()))


def _values(ratios: Iterable[Ratio]) -> list[float]:
    return [one.value for one in ratios if one.value > 0]


def _tell(ratio: Ratio, unit: str) -> str:
    difference = ratio.candidate - ratio.reference
    return f"{number(ratio.value, '.3g')} ({_span(ratio.interval)}), {number(difference, '+.3g')} {unit}"


def _span(interval: Interval) -> str:
    return "n/a" if math.isnan(interval.low) else f"{interval.low:.3f} to {interval.high:.3f}"
