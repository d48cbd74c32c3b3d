"""Heat maps: a grid of shares, darker for more, each cell with its number."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dlbench.reporting.charts import WIDTH, draw, rect, stand_alone, text
from dlbench.reporting.tables import number, percent

_ENDS = (0.05, 0.2, 0.4, 0.6, 0.8)
"""Where one shade ends and the next begins."""
_ROW = 26
_LETTER = 6.6


@dataclass(frozen=True)
class Cell:
    value: float
    """A share: gives the shade and, in percent, the number."""
    tip: str


def draw_grid(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[str, str], Cell],
    *,
    slant: bool = True,
) -> str:
    """`cells` by row and column; a missing or NaN value is an empty cell. `slant`: long headings."""
    left = min(150.0, 10 + _LETTER * max(map(len, rows), default=0))
    wide = min(52.0, (WIDTH - left - (52 if slant else 0)) / max(1, len(columns)))
    top = 92.0 if slant else 20.0
    parts: list[str] = []
    for place, column in enumerate(columns):
        x = left + wide * (place + 0.5)
        parts.append(text(x, top - 8, column, turn=-45) if slant else text(x, top - 6, column, anchor="middle"))
    for step, row in enumerate(rows):
        y = top + _ROW * step
        parts.append(text(left - 7, y + 17, row, anchor="end"))
        for place, column in enumerate(columns):
            parts += _draw_cell(left + wide * place, y, wide, cells.get((row, column)))
    return draw(title, top + _ROW * len(rows) + 4, parts)


def draw_shares(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    shares: Mapping[tuple[str, str], float],
    *,
    tip: Callable[[str, str, float], str] = lambda row, column, share: f"{row}, {column}: {percent(share)}",
    slant: bool = True,
) -> str:
    """A grid as a file of its own. `tip`: the tooltip for a row, a column and their share."""
    cells = {key: Cell(share, tip(*key, share)) for key, share in shares.items()}
    return stand_alone(draw_grid(title, rows, columns, cells, slant=slant))


def name_figure(row: str, column: str, value: float) -> str:
    """A tooltip for figures that are not shares."""
    return f"{row}, {column}: {number(value, '.3f')}"


def shade(value: float) -> int:
    return sum(value >= end for end in _ENDS)


def _draw_cell(x: float, y: float, wide: float, cell: Cell | None) -> list[str]:
    if cell is None or math.isnan(cell.value):
        return [rect(x + 1, y + 1, wide - 2, _ROW - 2, kind="none", tip=cell.tip if cell else "")]
    step = shade(cell.value)
    return [
        rect(x + 1, y + 1, wide - 2, _ROW - 2, kind=f"h{step}", tip=cell.tip),
        text(x + wide / 2, y + 17, f"{100 * cell.value:.0f}", anchor="middle", kind=f"t{step}"),
    ]
