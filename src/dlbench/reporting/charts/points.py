"""Scatter plots, planes of texts, ratios with their noise, and lines over bins of size or date."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dlbench.reporting.charts.svg import WIDTH, draw, find_top, line, rect, run_class, shape, text, tick_label, ticks
from dlbench.reporting.formatting import score_cell
from dlbench.scoring import Interval, Score

_LEFT, _RIGHT, _TOP, _TALL = 30, 14, 12, 170
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
    begin, end = (10 ** math.floor(math.log10(least)), 10 ** math.ceil(math.log10(most))) if tens else (0, most or 1)
    plot_width, low = WIDTH - _LEFT - _RIGHT, _TOP + _TALL

    def across(x: float) -> float:
        share = math.log(x / begin) / math.log(end / begin) if tens else x / end
        return _LEFT + plot_width * share

    parts = _draw_rules(top, low, _TALL, WIDTH - _RIGHT)
    marks = [begin * 10**step for step in range(round(math.log10(end / begin)) + 1)] if tens else ticks(end)
    for mark in marks:
        parts.append(text(across(mark), low + 16, f"{mark:,.4g}", anchor="middle", kind="soft small"))
    for one in points:
        x, y = across(one.x), low - _TALL * one.y / top
        if not math.isnan(one.interval.low):
            ends = [low - _TALL * end / top for end in (one.interval.low, one.interval.high)]
            parts.append(line(x, ends[0], x, ends[1], kind=f"reach {run_class(one.place)}"))
        parts.append(shape(one.place, x, y, size=5, tip=f"{one.name}: {100 * one.y:.1f} %, {one.x:,.4g}"))
        parts.append(text(x + 8, y - 6, str(one.place + 1), kind="small"))
    return draw(
        title, low + 38, [*parts, text(_LEFT + plot_width / 2, low + 33, below, anchor="middle", kind="soft small")]
    )


def _draw_rules(top: float, low: float, height: float, right: float) -> list[str]:
    """Horizontal lines at the ticks of a share, with their labels."""
    parts = []
    for tick in ticks(top):
        y = low - height * tick / top
        parts += [line(_LEFT, y, right, y), text(_LEFT - 6, y + 4, tick_label(tick), anchor="end", kind="soft")]
    return parts


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
_TOPS = (1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 30, 100, 1000)


@dataclass(frozen=True)
class Panel:
    title: str
    ratios: Sequence[tuple[str, float, Interval]]
    """A name, the ratio and its interval."""
    reach: float
    """1 or more: ratios between 1/reach and reach are noise, drawn as a grey band."""


def draw_ratios(title: str, panels: Sequence[Panel], place: int) -> str:
    """Ratios in order, each with its interval, on a logarithmic scale: half and double are equally far from 1.

    `place`: index of the run, which gives colour and shape of the marks.
    """
    parts: list[str] = []
    y = 0.0
    for panel in panels:
        parts += _draw_panel(panel, place, y)
        y += _RATIO_HEAD + _RATIO_HEIGHT + _RATIO_GAP
    return draw(title, y, parts)


def _draw_panel(panel: Panel, place: int, y: float) -> list[str]:
    known = sorted((one for one in panel.ratios if one[1] > 0), key=lambda one: one[1])
    top = _find_top([*(end for _, ratio, span in known for end in (ratio, span.low, span.high)), panel.reach])
    plot_width, middle = WIDTH - _RATIO_LEFT - _RATIO_RIGHT, y + _RATIO_HEAD + _RATIO_HEIGHT / 2

    def up(ratio: float) -> float:
        return middle - _RATIO_HEIGHT / 2 * min(1.0, max(-1.0, math.log(ratio) / math.log(top)))

    parts = [text(2, y + 12, panel.title), text(WIDTH, y + 12, f"n = {len(known)}", anchor="end", kind="soft")]
    if not math.isnan(panel.reach):
        high = up(panel.reach)
        parts.append(
            rect(
                _RATIO_LEFT, high, plot_width, 2 * (middle - high), kind="track", tip=f"noise: up to {panel.reach:.3g}"
            )
        )
    for tick, label in ((top, f"{top:g}"), (1.0, "1"), (1 / top, f"1/{top:g}")):
        parts += [
            line(_RATIO_LEFT, up(tick), WIDTH - _RATIO_RIGHT, up(tick)),
            text(_RATIO_LEFT - 5, up(tick) + 4, label, anchor="end", kind="soft small"),
        ]
    for step, (name, ratio, interval) in enumerate(known):
        x = _RATIO_LEFT + plot_width * (step + 0.5) / len(known)
        if interval.low > 0:
            parts.append(line(x, up(interval.low), x, up(interval.high), kind=f"reach {run_class(place)}"))
        bounds = f" ({interval.low:.3g} to {interval.high:.3g})" if interval.low > 0 else ""
        parts.append(shape(place, x, up(ratio), size=2.5, tip=f"{name}: {ratio:.3g}{bounds}"))
    return parts


def _find_top(ratios: Sequence[float]) -> float:
    most = max((max(ratio, 1 / ratio) for ratio in ratios if ratio > 0), default=1)
    return next((top for top in _TOPS if most <= top), _TOPS[-1])


_LINE_TOP, _LINE_HEIGHT, _LINE_GAP = 10, 170, 5


def draw_course(
    title: str, bins: Mapping[str, Sequence[Score | None]], names: Sequence[str], *, below: str = ""
) -> str:
    """A line per run. `bins`: by the label of a bin, the score of each run. Points are offset, not on one another."""
    known = [one for scores in bins.values() for one in scores if one is not None]
    top = find_top(one.interval.high for one in known)
    wide = (WIDTH - _LEFT - 6) / max(1, len(bins))
    low = _LINE_TOP + _LINE_HEIGHT
    parts = _draw_rules(top, low, _LINE_HEIGHT, WIDTH - 6)
    for step, (label, scores) in enumerate(bins.items()):
        middle = _LEFT + wide * (step + 0.5)
        counted = max((one.instances for one in scores if one), default=0)
        parts += [
            text(middle, low + 16, label, anchor="middle", kind="small"),
            text(middle, low + 29, f"n {counted}", anchor="middle", kind="soft small"),
        ]
    apart = min(_LINE_GAP, 0.7 * wide / max(1, len(names)))
    for place, name in enumerate(names):
        shift = apart * (place - (len(names) - 1) / 2)
        scores = [each[place] for each in bins.values()]
        places = [_LEFT + wide * (step + 0.5) + shift for step in range(len(scores))]
        parts += _draw_run(place, name, scores, places, _LINE_HEIGHT / top)
    return draw(title, low + 48, [*parts, text(WIDTH / 2, low + 44, below, anchor="middle", kind="soft small")])


def _draw_run(
    place: int, name: str, scores: Sequence[Score | None], places: Sequence[float], height: float
) -> list[str]:
    found = [(x, one) for x, one in zip(places, scores, strict=True) if one and not math.isnan(one.pass_at_1)]
    low = _LINE_TOP + _LINE_HEIGHT
    corners = " ".join(f"{x:.1f},{low - height * one.pass_at_1:.1f}" for x, one in found)
    parts = [f'<polyline points="{corners}" class="course {run_class(place)}"/>']
    for x, one in found:
        if not math.isnan(one.interval.low):
            ends = (low - height * one.interval.low, low - height * one.interval.high)
            parts.append(line(x, ends[0], x, ends[1], kind=f"reach {run_class(place)}"))
        parts.append(shape(place, x, low - height * one.pass_at_1, tip=f"{name}: {score_cell(one)}"))
    return parts
