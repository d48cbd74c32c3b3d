"""How do scores stand beside one another? Bars from 0, each with its 95 % interval as a whisker."""

import math
from collections.abc import Mapping, Sequence

from dlbench.reporting.figures import score_cell
from dlbench.reporting.pictures.marks import WIDTH, draw, find_top, line, rect, run_class, text, tick_label, ticks
from dlbench.scoring import Score

_LEFT, _RIGHT, _BAR, _HEAD = 4, 38, 11, 20


def draw_ranges(title: str, groups: Mapping[str, Sequence[Score | None]], names: Sequence[str]) -> str:
    """`groups`: by label, the score of each run in the order of `names`; the label stands above its bars."""
    known = [one for scores in groups.values() for one in scores if one is not None]
    top = find_top(one.interval.high for one in known)
    room = WIDTH - _LEFT - _RIGHT
    parts: list[str] = []
    y = 4.0
    for label, scores in groups.items():
        counted = max((one.instances for one in scores if one), default=0)
        parts += [text(_LEFT, y + 12, label), text(WIDTH, y + 12, f"n = {counted}", anchor="end", kind="soft")]
        y += _HEAD
        for place, (name, score) in enumerate(zip(names, scores, strict=True)):
            parts += _draw_bar(place, name, score, y, room / top)
            y += _BAR
        y += 8
    rules = [line(_LEFT + room * tick / top, 4 + _HEAD - 4, _LEFT + room * tick / top, y - 4) for tick in ticks(top)]
    axis = [
        text(_LEFT + room * tick / top, y + 8, tick_label(tick), anchor="middle" if tick else "start", kind="soft")
        for tick in ticks(top)
    ]
    return draw(title, y + 14, [*rules, *parts, *axis, text(WIDTH, y + 8, "%", anchor="end", kind="soft")])


def draw_range(score: Score, place: int, top: float) -> str:
    """One bar with its whisker and nothing else, for a cell of a table."""
    width, height = 160, 16
    room = width - 4
    parts = [rect(2, 6, room, 4, kind="track")]
    if not math.isnan(score.pass_at_1):
        parts.append(rect(2, 3, room * score.pass_at_1 / top, 10, kind=run_class(place)))
        parts += _whisker(score, 2, 8, room / top)
    return draw(f"pass@1 {score_cell(score)}", height, parts, width=width, kind="spark")


def _draw_bar(place: int, name: str, score: Score | None, y: float, scale: float) -> list[str]:
    if score is None or math.isnan(score.pass_at_1):
        return [text(_LEFT, y + 8, "n/a", kind="soft small")]
    tip = f"{name}: {score_cell(score)}"
    bar = rect(_LEFT, y, scale * score.pass_at_1, _BAR - 3, kind=run_class(place), tip=tip)
    end = _LEFT + scale * max(score.pass_at_1, score.interval.high)
    return [
        bar,
        *_whisker(score, _LEFT, y + (_BAR - 3) / 2, scale),
        text(end + 5, y + 8, f"{100 * score.pass_at_1:.0f}", kind="small"),
    ]


def _whisker(score: Score, left: float, y: float, scale: float) -> list[str]:
    if math.isnan(score.interval.low):
        return []
    low, high = left + scale * score.interval.low, left + scale * score.interval.high
    ends = [line(x, y - 2.5, x, y + 2.5, kind="whisker") for x in (low, high)]
    # the halo keeps it apart from a bar of nearly its own lightness
    return [line(low, y, high, y, kind="halo"), line(low, y, high, y, kind="whisker"), *ends]
