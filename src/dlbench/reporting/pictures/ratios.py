"""How far do ratios lie from 1, and how many beyond the noise? A mark each, in order, upright its interval.

The scale is one of logarithms: half and double are as far from 1. What lies in the grey band is noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dlbench.reporting.pictures.marks import WIDTH, draw, line, rect, run_class, shape, text
from dlbench.scoring import Interval

_LEFT, _RIGHT, _HEAD, _TALL, _APART = 40, 6, 22, 110, 14
_TOPS = (1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 30, 100, 1000)


@dataclass(frozen=True)
class Panel:
    title: str
    ratios: Sequence[tuple[str, float, Interval]]
    """A name, the ratio and its interval."""
    reach: float
    """1 or more: ratios between 1/reach and reach are noise."""


def draw_ratios(title: str, panels: Sequence[Panel], place: int) -> str:
    """`place`: that of the run, whose colour and shape the marks have."""
    parts: list[str] = []
    y = 0.0
    for panel in panels:
        parts += _draw_panel(panel, place, y)
        y += _HEAD + _TALL + _APART
    return draw(title, y, parts)


def _draw_panel(panel: Panel, place: int, y: float) -> list[str]:
    known = sorted((one for one in panel.ratios if one[1] > 0), key=lambda one: one[1])
    top = _find_top([*(end for _, ratio, span in known for end in (ratio, span.low, span.high)), panel.reach])
    room, middle = WIDTH - _LEFT - _RIGHT, y + _HEAD + _TALL / 2

    def up(ratio: float) -> float:
        return middle - _TALL / 2 * min(1.0, max(-1.0, math.log(ratio) / math.log(top)))

    parts = [text(2, y + 12, panel.title), text(WIDTH, y + 12, f"n = {len(known)}", anchor="end", kind="soft")]
    if not math.isnan(panel.reach):
        high = up(panel.reach)
        parts.append(rect(_LEFT, high, room, 2 * (middle - high), kind="track", tip=f"noise: up to {panel.reach:.3g}"))
    for tick, label in ((top, f"{top:g}"), (1.0, "1"), (1 / top, f"1/{top:g}")):
        parts += [
            line(_LEFT, up(tick), WIDTH - _RIGHT, up(tick)),
            text(_LEFT - 5, up(tick) + 4, label, anchor="end", kind="soft small"),
        ]
    for step, (name, ratio, interval) in enumerate(known):
        x = _LEFT + room * (step + 0.5) / len(known)
        if interval.low > 0:
            parts.append(line(x, up(interval.low), x, up(interval.high), kind=f"reach {run_class(place)}"))
        told = f" ({interval.low:.3g} to {interval.high:.3g})" if interval.low > 0 else ""
        parts.append(shape(place, x, up(ratio), size=2.5, tip=f"{name}: {ratio:.3g}{told}"))
    return parts


def _find_top(ratios: Sequence[float]) -> float:
    sides = [max(ratio, 1 / ratio) for ratio in ratios if ratio > 0]
    return next((top for top in _TOPS if max(sides, default=1) <= top), _TOPS[-1])
