"""Draw plots of scores as SVG: few marks, all text escaped, colours by CSS class.

A plot is as wide as a phone and scales up, so its text is readable on both. The class `sN` is the colour of the N-th
run everywhere on a page; runs also have shapes, since not everybody can distinguish colours.
"""

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import unescape
from importlib.resources import files
from xml.sax.saxutils import escape, quoteattr

WIDTH = 340
RUN_COLOURS = 8
_OPENING = re.compile(r"""<svg class="plot" viewBox="0 0 (\S+) (\S+)" role="img" aria-label=("[^"]*"|'[^']*')>""")
_HEAD, _ROW = 24, 16
_SQUARE: list[tuple[float, float]] = [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]
_CORNERS = (_SQUARE, [(0, -1.2), (1.1, 0.8), (-1.1, 0.8)], [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)])
Key = tuple[str, str]
"""A mark around the origin, and its label."""


def draw(title: str, height: float, parts: Iterable[str], *, width: float = WIDTH, kind: str = "plot") -> str:
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
    size = f'width="{max(0.0, width):.1f}" height="{height:.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size}{named}>{_tooltip(tip)}</rect>'


def line(x1: float, y1: float, x2: float, y2: float, *, kind: str = "rule") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def shape(place: int, x: float, y: float, *, size: float = 4, tip: str = "") -> str:
    """The mark of the run with this index: circle, square, triangle or diamond, in its colour."""
    if place % 4 == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:g}" class="{run_class(place)}">{_tooltip(tip)}</circle>'
    corners = " ".join(f"{x + dx * size:.1f},{y + dy * size:.1f}" for dx, dy in _CORNERS[place % 4 - 1])
    return f'<polygon points="{corners}" class="{run_class(place)}">{_tooltip(tip)}</polygon>'


def _tooltip(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""


def run_class(place: int) -> str:
    return f"s{place % RUN_COLOURS}"


def find_top(values: Iterable[float], tops: Sequence[float] = (0.1, 0.25, 0.5, 1.0)) -> float:
    """Where an axis ends: below 100 % where all values are small, so that they can be distinguished."""
    most = max((value for value in values if not math.isnan(value)), default=1.0)
    return next((top for top in tops if most <= top), tops[-1])


def ticks(top: float) -> Sequence[float]:
    return [top * step / 4 for step in range(5)]


def stand_alone(plot: str, keys: Sequence[Key] = ()) -> str:
    """A plot as an SVG file: its title above it, its legend below, light or dark as its reader prefers."""
    found = _OPENING.match(plot)
    assert found is not None
    width, height, title = found.groups()
    box = f"0 {-_HEAD} {width} {float(height) + _HEAD + _ROW * len(keys):g}"
    legend = ""
    for place, (mark, label) in enumerate(keys):
        y = float(height) + _ROW * (place + 0.5)
        legend += f'<g transform="translate(8 {y:g})">{mark}</g>{text(18, y + 4, label)}'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="{box}" role="img" aria-label={title}>'
        f"<style><![CDATA[{_read_style()}]]></style>{text(2, 14 - _HEAD, unescape(title[1:-1]))}"
        f"{plot[found.end() :].removesuffix('</svg>')}{legend}</svg>\n"
    )


@cache
def _read_style() -> str:
    package = files("dlbench")
    base, plots = (package.joinpath(f"{name}.css").read_text("utf-8") for name in ("web/base", "reporting/pages/plots"))
    colours = re.search(r":root \{.*?\n\}", base, re.DOTALL)
    assert colours is not None
    return f"{colours.group()}\ntext {{ font-family: system-ui, sans-serif; }}\n{plots}"
