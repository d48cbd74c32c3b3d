"""Scatter plots, planes of texts, ratios with their noise, and lines over bins of size or date."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dlbench.reporting.charts import WIDTH, draw, find_top, line, rect, run_class, shape, text, ticks
from dlbench.reporting.tables import score_cell, short
from dlbench.scoring import Interval, Score
from dlbench.scoring.intervals import NOTHING

_LEFT, _TALL = 30, 170
_FAR = 20
"""Ratio of the largest to the smallest value from which the scale is logarithmic."""


@dataclass(frozen=True)
class Point:
    name: str
    x: float
    y: float
    interval: Interval
    place: int


def draw_scatter(title: str, points: Sequence[Point], below: str) -> str:
    top = find_top([one.interval.high for one in points] + [one.y for one in points])
    least, most = min(one.x for one in points), max(one.x for one in points)
    tens = least > 0 and most / least >= _FAR
    begin, end = (
        (10 ** math.floor(math.log10(least)), 10 ** math.ceil(math.log10(most))) if tens else (0, _round_up(most))
    )
    right, low = WIDTH - 14, 12 + _TALL

    def across(x: float) -> float:
        share = math.log(x / begin) / math.log(end / begin) if tens else x / end
        return _LEFT + (right - _LEFT) * share

    def up(share: float) -> float:
        return low - _TALL * share / top

    parts = _draw_rules(top, up, right)
    marks = [begin * 10**step for step in range(round(math.log10(end / begin)) + 1)] if tens else ticks(end)
    parts += [text(across(mark), low + 16, short(mark), anchor="middle", kind="soft small") for mark in marks]
    for one in points:
        x, tip = across(one.x), f"{one.name}: {100 * one.y:.1f} %, {short(one.x)}"
        parts += _draw_mark(one.place, x, one.y, one.interval, up, size=5, tip=tip)
        parts.append(text(x + 8, up(one.y) - 6, str(one.place + 1), kind="small"))
    parts.append(text((_LEFT + right) / 2, low + 33, below, anchor="middle", kind="soft small"))
    return draw(title, low + 38, parts)


def _round_up(value: float) -> float:
    """The next number whose quarters, where the marks are, have two digits."""
    unit = 10 ** math.floor(math.log10(value)) if value > 1e-9 else 0.1
    return next(step * unit for step in (1, 2, 4, 6, 8, 10) if value <= step * unit or step == 10)


def _draw_rules(top: float, up: Callable[[float], float], right: float) -> list[str]:
    """Horizontal lines at the ticks of a share, with their labels."""
    parts = []
    for y, tick in ((up(tick), tick) for tick in ticks(top)):
        parts += [line(_LEFT, y, right, y), text(_LEFT - 6, y + 4, f"{100 * tick:.3g}", anchor="end", kind="soft")]
    return parts


def _draw_mark(
    place: int, x: float, value: float, interval: Interval, up: Callable[[float], float], *, size: float = 4, tip: str
) -> list[str]:
    """A value as the mark of its run, on a line over its interval. `up`: from a value to its height."""
    mark = shape(place, x, up(value), size=size, tip=tip)
    if math.isnan(interval.low):
        return [mark]
    return [line(x, up(interval.low), x, up(interval.high), kind=f"reach {run_class(place)}"), mark]


_EDGE, _ROW = 6, 16


def draw_plane(title: str, groups: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """A mark per text, by dataset; the axes have no meaning and are not drawn."""
    places = [place for points in groups.values() for place in points]
    least = [min((one[axis] for one in places), default=0.0) for axis in (0, 1)]
    span = max((one[axis] - least[axis] for one in places for axis in (0, 1)), default=1.0) or 1.0
    plot_width, top = WIDTH - 2 * _EDGE, _ROW * len(groups) + _EDGE
    parts = []
    for number, (name, points) in enumerate(groups.items()):
        y = _ROW * (number + 0.5)
        parts += [shape(number, _EDGE + 4, y), text(_EDGE + 14, y + 4, name)]
        for across, down in points:
            x, y = _EDGE + plot_width * (across - least[0]) / span, top + plot_width * (down - least[1]) / span
            parts.append(shape(number, x, y, size=1.6))
    return draw(title, top + plot_width + _EDGE, parts)


_RATIO_LEFT, _RATIO_RIGHT, _RATIO_HEAD, _RATIO_HEIGHT, _RATIO_GAP = 40, 6, 22, 110, 14
_RATIO_TOPS = (1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 30, 100, 1000)


@dataclass(frozen=True)
class Panel:
    title: str
    ratios: Sequence[tuple[str, float, Interval]]
    """A name, the ratio and its interval."""
    reach: float
    """1 or more: ratios between 1/reach and reach are noise, drawn as a grey band."""


def draw_ratios(title: str, panels: Sequence[Panel], place: int) -> str:
    """Ratios in order, each with its interval, on a logarithmic scale: half and double are equally far from 1.
    `place`: index of the run, which gives colour and shape of the marks."""
    tall = _RATIO_HEAD + _RATIO_HEIGHT + _RATIO_GAP
    parts = [part for step, panel in enumerate(panels) for part in _draw_panel(panel, place, tall * step)]
    return draw(title, tall * len(panels), parts)


def _draw_panel(panel: Panel, place: int, y: float) -> list[str]:
    known = sorted((one for one in panel.ratios if one[1] > 0), key=lambda one: one[1])
    values = [*(end for _, ratio, span in known for end in (ratio, span.low, span.high)), panel.reach]
    top = find_top((max(value, 1 / value) for value in values if value > 0), _RATIO_TOPS)
    plot_width, middle = WIDTH - _RATIO_LEFT - _RATIO_RIGHT, y + _RATIO_HEAD + _RATIO_HEIGHT / 2

    def up(ratio: float) -> float:
        return middle - _RATIO_HEIGHT / 2 * min(1.0, max(-1.0, math.log(ratio) / math.log(top)))

    parts = [text(2, y + 12, panel.title), text(WIDTH, y + 12, f"n = {len(known)}", anchor="end", kind="soft")]
    if not math.isnan(panel.reach):
        high, tip = up(panel.reach), f"noise: up to {short(panel.reach)}"
        parts.append(rect(_RATIO_LEFT, high, plot_width, 2 * (middle - high), kind="track", tip=tip))
    for tick, label in ((top, f"{top:g}"), (1.0, "1"), (1 / top, f"1/{top:g}")):
        parts.append(line(_RATIO_LEFT, up(tick), WIDTH - _RATIO_RIGHT, up(tick)))
        parts.append(text(_RATIO_LEFT - 5, up(tick) + 4, label, anchor="end", kind="soft small"))
    for step, (name, ratio, interval) in enumerate(known):
        x = _RATIO_LEFT + plot_width * (step + 0.5) / len(known)
        bounds = f" ({short(interval.low)} to {short(interval.high)})" if interval.low > 0 else ""
        shown = interval if interval.low > 0 else NOTHING  # 0 is infinitely far down
        parts += _draw_mark(place, x, ratio, shown, up, size=2.5, tip=f"{name}: {short(ratio)}{bounds}")
    return parts


_LINE_GAP = 5


def draw_course(title: str, bins: Mapping[str, Sequence[Score | None]], names: Sequence[str], below: str) -> str:
    """A line per run. `bins`: by the label of a bin, the score of each run. Points are offset, not on one another."""
    top = find_top(one.interval.high for scores in bins.values() for one in scores if one is not None)
    wide = (WIDTH - _LEFT - 6) / max(1, len(bins))
    low = 10 + _TALL

    def up(share: float) -> float:
        return low - _TALL * share / top

    parts = _draw_rules(top, up, WIDTH - 6)
    middles = [_LEFT + wide * (step + 0.5) for step in range(len(bins))]
    for middle, (label, scores) in zip(middles, bins.items(), strict=True):
        counted = max((one.instances for one in scores if one), default=0)
        parts.append(text(middle, low + 16, label, anchor="middle", kind="small"))
        parts.append(text(middle, low + 29, f"n {counted}", anchor="middle", kind="soft small"))
    apart = min(_LINE_GAP, 0.7 * wide / max(1, len(names)))
    for place, name in enumerate(names):
        shift = apart * (place - (len(names) - 1) / 2)
        found = [(middle + shift, scores[place]) for middle, scores in zip(middles, bins.values(), strict=True)]
        known = [(x, one) for x, one in found if one and not math.isnan(one.pass_at_1)]
        corners = " ".join(f"{x:.1f},{up(one.pass_at_1):.1f}" for x, one in known)
        parts.append(f'<polyline points="{corners}" class="course {run_class(place)}"/>')
        for x, one in known:
            parts += _draw_mark(place, x, one.pass_at_1, one.interval, up, tip=f"{name}: {score_cell(one)}")
    return draw(title, low + 48, [*parts, text(WIDTH / 2, low + 44, below, anchor="middle", kind="soft small")])
