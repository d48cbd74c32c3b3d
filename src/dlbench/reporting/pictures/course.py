"""How does a score change from one bin to the next, of size or of date? A line a run, each point with its interval."""

import math
from collections.abc import Mapping, Sequence

from dlbench.reporting.figures import score_cell
from dlbench.reporting.pictures.marks import WIDTH, draw, find_top, line, run_class, shape, text, tick_label, ticks
from dlbench.scoring import Score

_LEFT, _TOP, _TALL, _APART = 30, 10, 170, 5


def draw_course(
    title: str, bins: Mapping[str, Sequence[Score | None]], names: Sequence[str], *, below: str = ""
) -> str:
    """`bins`: by the label of a bin, in order, the score of each run. Lines stand beside one another, not upon."""
    known = [one for scores in bins.values() for one in scores if one is not None]
    top = find_top(one.interval.high for one in known)
    wide = (WIDTH - _LEFT - 6) / max(1, len(bins))
    low = _TOP + _TALL
    parts = []
    for tick in ticks(top):
        y = low - _TALL * tick / top
        parts += [line(_LEFT, y, WIDTH - 6, y), text(_LEFT - 6, y + 4, tick_label(tick), anchor="end", kind="soft")]
    for step, (label, scores) in enumerate(bins.items()):
        middle = _LEFT + wide * (step + 0.5)
        counted = max((one.instances for one in scores if one), default=0)
        parts += [
            text(middle, low + 16, label, anchor="middle", kind="small"),
            text(middle, low + 29, f"n {counted}", anchor="middle", kind="soft small"),
        ]
    apart = min(_APART, 0.7 * wide / max(1, len(names)))
    for place, name in enumerate(names):
        shift = apart * (place - (len(names) - 1) / 2)
        scores = [each[place] for each in bins.values()]
        places = [_LEFT + wide * (step + 0.5) + shift for step in range(len(scores))]
        parts += _draw_run(place, name, scores, places, _TALL / top)
    return draw(title, low + 48, [*parts, text(WIDTH / 2, low + 44, below, anchor="middle", kind="soft small")])


def _draw_run(
    place: int, name: str, scores: Sequence[Score | None], places: Sequence[float], height: float
) -> list[str]:
    found = [(x, one) for x, one in zip(places, scores, strict=True) if one and not math.isnan(one.pass_at_1)]
    low = _TOP + _TALL
    corners = " ".join(f"{x:.1f},{low - height * one.pass_at_1:.1f}" for x, one in found)
    parts = [f'<polyline points="{corners}" class="course {run_class(place)}"/>']
    for x, one in found:
        if not math.isnan(one.interval.low):
            ends = (low - height * one.interval.low, low - height * one.interval.high)
            parts.append(line(x, ends[0], x, ends[1], kind=f"reach {run_class(place)}"))
        parts.append(shape(place, x, low - height * one.pass_at_1, tip=f"{name}: {score_cell(one)}"))
    return parts
