"""What became of the answers? One bar a run, cut into statuses, all bars as long."""

from collections.abc import Mapping

from dlbench.reporting.pictures.marks import WIDTH, draw, rect, text

_BAR, _HEAD = 16, 18


def draw_mix(title: str, counts: Mapping[str, Mapping[str, int]]) -> str:
    """`counts`: by run, how many verdicts have each status."""
    parts: list[str] = []
    y = 0.0
    for name, found in counts.items():
        total = sum(found.values()) or 1
        parts += [text(2, y + 13, name), text(WIDTH - 2, y + 13, str(sum(found.values())), anchor="end", kind="soft")]
        y += _HEAD
        x = 2.0
        for status, count in found.items():
            wide = (WIDTH - 4) * count / total
            parts.append(rect(x, y, wide, _BAR, kind=f"status {status}", tip=f"{status}: {count} of {total}"))
            x += wide
        y += _BAR + 10
    return draw(title, max(y, 1), parts)
