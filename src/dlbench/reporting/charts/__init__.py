"""Pictures of scores: SVG that stands in a page and takes its colours from the page's style.

How does a picture stand on its own, outside a page? As a file that brings the page's colours along.
"""

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from xml.sax.saxutils import unescape

from dlbench.reporting.charts.bars import draw_counts, draw_mix, draw_range, draw_ranges
from dlbench.reporting.charts.heatmap import Cell, draw_grid
from dlbench.reporting.charts.points import Panel, Point, draw_course, draw_plane, draw_ratios, draw_scatter
from dlbench.reporting.charts.svg import text

__all__ = [
    "Cell",
    "Panel",
    "Point",
    "draw_counts",
    "draw_course",
    "draw_grid",
    "draw_mix",
    "draw_plane",
    "draw_range",
    "draw_ranges",
    "draw_ratios",
    "draw_scatter",
]


_OPENING = re.compile(r"""<svg class="picture" viewBox="0 0 (\S+) (\S+)" role="img" aria-label=("[^"]*"|'[^']*')>""")
_QUOTES = {"&quot;": '"', "&apos;": "'"}
_HEAD = 24
_ROW = 16
Key = tuple[str, str]
"""A mark around the origin, and what it stands for."""


def stand_alone(picture: str, keys: Sequence[Key] = ()) -> str:
    """An SVG file of what `marks.draw` gave, its title above it and its keys below; light or dark as its reader
    prefers."""
    found = _OPENING.match(picture)
    assert found is not None
    wide, tall, title = found.groups()
    box = f"0 {-_HEAD} {wide} {float(tall) + _HEAD + _ROW * len(keys):g}"
    rows = [float(tall) + _ROW * (place + 0.5) for place in range(len(keys))]
    told = "".join(
        f'<g transform="translate(8 {y:g})">{mark}</g>{text(18, y + 4, words)}'
        for y, (mark, words) in zip(rows, keys, strict=True)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" viewBox="{box}" role="img" aria-label={title}>'
        f"<style><![CDATA[{_read_style()}]]></style>{text(2, 14 - _HEAD, unescape(title[1:-1], _QUOTES))}"
        f"{picture[found.end() :].removesuffix('</svg>')}{told}</svg>\n"
    )


@cache
def _read_style() -> str:
    colours = re.search(r":root \{.*?\n\}", _read("web/base.css"), re.DOTALL)
    assert colours is not None
    letters = "text { font-family: system-ui, sans-serif; }"
    return f"{colours.group()}\n{letters}\n{_read('reporting/pages/pictures.css')}"


def _read(name: str) -> str:
    return files("dlbench").joinpath(name).read_text(encoding="utf-8")
