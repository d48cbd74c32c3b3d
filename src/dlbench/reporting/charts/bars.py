"""Horizontal bars: counts, statuses by run, and scores with their 95 % intervals."""

import math
from collections.abc import Mapping, Sequence

from dlbench.reporting.charts import WIDTH, draw, find_top, line, rect, run_class, text, ticks
from dlbench.reporting.tables import score_cell
from dlbench.scoring import Score

_COUNT_LEFT, _COUNT_ROW, _LETTER = 128.0, 22, 6.0


def draw_counts(title: str, counts: Mapping[str, float]) -> str:
    most = max(counts.values(), default=0) or 1
    left = max(_COUNT_LEFT, 14 + _LETTER * max(map(len, counts), default=0))
    parts: list[str] = []
    for place, (name, count) in enumerate(counts.items()):
        y, length = _COUNT_ROW * place, (WIDTH - left - 40) * count / most
        parts += [
            text(left - 8, y + 15, name, anchor="end"),
            rect(left, y + 4, length, _COUNT_ROW - 8, kind="s0"),
            text(left + length + 6, y + 15, f"{count:g}", kind="soft"),
        ]
    return draw(title, _COUNT_ROW * max(1, len(counts)), parts)


_MIX_BAR, _MIX_HEAD = 16, 18


def draw_mix(title: str, counts: Mapping[str, Mapping[str, int]]) -> str:
    """One bar per run, all of equal length. `counts`: by run, the number of verdicts of each status."""
    parts: list[str] = []
    y = 0.0
    for name, found in counts.items():
        total = sum(found.values()) or 1
        parts += [text(2, y + 13, name), text(WIDTH - 2, y + 13, str(sum(found.values())), anchor="end", kind="soft")]
        x, y = 2.0, y + _MIX_HEAD
        for status, count in found.items():
            wide = (WIDTH - 4) * count / total
            parts.append(rect(x, y, wide, _MIX_BAR, kind=f"status {status}", tip=f"{status}: {count} of {total}"))
            x += wide
        y += _MIX_BAR + 10
    return draw(title, max(y, 1), parts)


_RANGE_LEFT, _RANGE_RIGHT, _RANGE_BAR, _RANGE_HEAD = 4, 38, 11, 20


def draw_ranges(title: str, groups: Mapping[str, Sequence[Score | None]], names: Sequence[str]) -> str:
    """Bars with their intervals as whiskers. `groups`: by label, the score of each run in the order of `names`."""
    known = [one for scores in groups.values() for one in scores if one is not None]
    top = find_top(one.interval.high for one in known)
    plot_width = WIDTH - _RANGE_LEFT - _RANGE_RIGHT
    parts: list[str] = []
    y = 4.0
    for label, scores in groups.items():
        counted = max((one.instances for one in scores if one), default=0)
        parts += [text(_RANGE_LEFT, y + 12, label), text(WIDTH, y + 12, f"n = {counted}", anchor="end", kind="soft")]
        y += _RANGE_HEAD
        for place, (name, score) in enumerate(zip(names, scores, strict=True)):
            parts += _draw_bar(place, name, score, y, plot_width / top)
            y += _RANGE_BAR
        y += 8
    rules, axis = [], []
    for tick in ticks(top):
        x = _RANGE_LEFT + plot_width * tick / top
        rules.append(line(x, _RANGE_HEAD, x, y - 4))
        axis.append(text(x, y + 8, f"{100 * tick:.3g}", anchor="middle" if tick else "start", kind="soft"))
    return draw(title, y + 14, [*rules, *parts, *axis, text(WIDTH, y + 8, "%", anchor="end", kind="soft")])


def draw_range(score: Score, place: int, top: float) -> str:
    """One bar with its whisker, for a cell of a table."""
    plot_width = 156
    parts = [rect(2, 6, plot_width, 4, kind="track")]
    if not math.isnan(score.pass_at_1):
        parts.append(rect(2, 3, plot_width * score.pass_at_1 / top, 10, kind=run_class(place)))
        parts += _whisker(score, 2, 8, plot_width / top)
    return draw(f"pass@1 {score_cell(score)}", 16, parts, width=plot_width + 4, kind="spark")


def _draw_bar(place: int, name: str, score: Score | None, y: float, scale: float) -> list[str]:
    if score is None or math.isnan(score.pass_at_1):
        return [text(_RANGE_LEFT, y + 8, "n/a", kind="soft small")]
    tip, height = f"{name}: {score_cell(score)}", _RANGE_BAR - 3
    bar = rect(_RANGE_LEFT, y, scale * score.pass_at_1, height, kind=run_class(place), tip=tip)
    end = _RANGE_LEFT + scale * max(score.pass_at_1, score.interval.high)
    label = text(end + 5, y + 8, f"{100 * score.pass_at_1:.0f}", kind="small")
    return [bar, *_whisker(score, _RANGE_LEFT, y + height / 2, scale), label]


def _whisker(score: Score, left: float, y: float, scale: float) -> list[str]:
    if math.isnan(score.interval.low):
        return []
    low, high = left + scale * score.interval.low, left + scale * score.interval.high
    ends = [line(x, y - 2.5, x, y + 2.5, kind="whisker") for x in (low, high)]
    # the halo separates it from a bar of nearly the same lightness
    return [line(low, y, high, y, kind="halo"), line(low, y, high, y, kind="whisker"), *ends]
