"""How many of each are there? Plain bars with their counts."""

from collections.abc import Mapping

from dlbench.reporting.pictures.marks import WIDTH, draw, rect, text

_LEFT, _ROW = 128, 22


def draw_counts(title: str, counts: Mapping[str, int]) -> str:
    most = max(counts.values(), default=0) or 1
    parts: list[str] = []
    for place, (name, count) in enumerate(counts.items()):
        y, length = _ROW * place, (WIDTH - _LEFT - 40) * count / most
        parts += [
            text(_LEFT - 8, y + 15, name, anchor="end"),
            rect(_LEFT, y + 4, length, _ROW - 8, kind="s0"),
            text(_LEFT + length + 6, y + 15, str(count), kind="soft"),
        ]
    return draw(title, _ROW * max(1, len(counts)), parts)
