"""What does a score cost? A point a run, its interval upright, and a scale of tens where costs lie far apart."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dlbench.reporting.pictures.marks import WIDTH, draw, find_top, line, run_class, shape, text, tick_label, ticks
from dlbench.scoring import Interval

_LEFT, _RIGHT, _TOP, _TALL = 30, 14, 12, 170
_FAR = 20
"""How many times the least the most must be for a scale of tens."""


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
    room, low = WIDTH - _LEFT - _RIGHT, _TOP + _TALL

    def across(x: float) -> float:
        share = math.log(x / begin) / math.log(end / begin) if tens else x / end
        return _LEFT + room * share

    parts = []
    for tick in ticks(top):
        y = low - _TALL * tick / top
        parts += [
            line(_LEFT, y, WIDTH - _RIGHT, y),
            text(_LEFT - 6, y + 4, tick_label(tick), anchor="end", kind="soft"),
        ]
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
    return draw(title, low + 38, [*parts, text(_LEFT + room / 2, low + 33, below, anchor="middle", kind="soft small")])
