"""What are pictures made of? Few marks, all text escaped, and colours by class.

A picture is as wide as a phone and scaled up where there is room: its words stay readable on both. The class `sN` is
the colour of the N-th run everywhere on a page, and runs have shapes beside it: not everybody can tell colours apart.
"""

import math
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

WIDTH = 340
RUN_COLOURS = 8
_TOPS = (0.1, 0.25, 0.5, 1.0)


def draw(title: str, height: float, parts: Iterable[str], *, width: float = WIDTH, kind: str = "picture") -> str:
    return (
        f'<svg class="{kind}" viewBox="0 0 {width:g} {height:g}" role="img" aria-label={quoteattr(title)}>'
        f"{''.join(parts)}</svg>"
    )


def text(x: float, y: float, words: str, *, anchor: str = "start", kind: str = "", turn: float = 0) -> str:
    turned = f' transform="rotate({turn:g} {x:.1f} {y:.1f})"' if turn else ""
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}{turned}>{escape(words)}</text>'


def rect(x: float, y: float, width: float, height: float, *, kind: str = "", tip: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    told = f"<title>{escape(tip)}</title>" if tip else ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" height="{height:.1f}"{named}>{told}</rect>'


def line(x1: float, y1: float, x2: float, y2: float, *, kind: str = "rule") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def shape(place: int, x: float, y: float, *, size: float = 4, tip: str = "") -> str:
    """The mark of the run at this place: circle, square, triangle or diamond, in its colour."""
    points: dict[int, list[tuple[float, float]]] = {
        1: [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        2: [(0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
        3: [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
    }
    told = f"<title>{escape(tip)}</title>" if tip else ""
    if place % 4 not in points:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:g}" class="{run_class(place)}">{told}</circle>'
    corners = " ".join(f"{x + dx * size:.1f},{y + dy * size:.1f}" for dx, dy in points[place % 4])
    return f'<polygon points="{corners}" class="{run_class(place)}">{told}</polygon>'


def run_class(place: int) -> str:
    return f"s{place % RUN_COLOURS}"


def find_top(values: Iterable[float]) -> float:
    """Where the axis of a share ends: not at 100 % where all are small, or nothing could be told apart."""
    most = max((value for value in values if not math.isnan(value)), default=1.0)
    return next((top for top in _TOPS if most <= top), 1.0)


def ticks(top: float, count: int = 4) -> Sequence[float]:
    return [top * step / count for step in range(count + 1)]


def tick_label(value: float) -> str:
    return f"{100 * value:.3g}"
