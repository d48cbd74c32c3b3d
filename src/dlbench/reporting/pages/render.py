"""How do our files and somebody else's text become one page that is safe to open?

Candidates are written by models, and a page that shows them is opened where people are logged in. So text is data: it
stands in blocks that are not run, and is put into the page as text. Should that ever fail, the page's own policy still
forbids every request and every script but ours, which it knows by their hash.

How do tables and pictures become markup? All text is escaped here, and columns of numbers stand to the right.
"""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from string import Template

from dlbench.reporting.charts.svg import draw, shape
from dlbench.reporting.tables import Tabled

_STYLES = ("web/base.css", *(f"reporting/pages/{name}.css" for name in ("style", "pictures", "explorer")))
_PARTS = ("dom", "theme", "text", "diff", "place", "list", "instance", "start")
_SCRIPTS = ("web/python.js", *(f"reporting/pages/{name}.js" for name in _PARTS))


def assemble(title: str, about: str, overview: str, data: Mapping[str, object]) -> str:
    """`about`: plain text under the title; `overview`: markup of ours; `data`: values by the id of their block."""
    style, script = _join(_STYLES), _join(_SCRIPTS)
    return Template(_read("reporting/pages/page.html")).substitute(
        policy=f"default-src 'none'; script-src {_pin(script)}; style-src {_pin(style)}; img-src data:;"
        " base-uri 'none'; form-action 'none'",
        title=escape(title),
        about=escape(about),
        overview=overview,
        style=style,
        script=script,
        data="\n".join(_block(name, value) for name, value in data.items()),
    )


def pack(value: object) -> str:
    """Squeezed JSON in letters that mean nothing to a browser; `unpack` of dom.js reads it."""
    return base64.b64encode(gzip.compress(json.dumps(value, separators=(",", ":")).encode(), 9, mtime=0)).decode()


def _block(name: str, value: object) -> str:
    text = json.dumps(value, separators=(",", ":"))  # ASCII: no line separators, no half surrogates
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")  # so that no text can end the block it stands in
    return f'<script type="application/json" id="{escape(name)}">{text}</script>'


def _pin(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _join(names: tuple[str, ...]) -> str:
    return "\n" + "\n".join(_read(name) for name in names)


@cache
def _read(name: str) -> str:
    return files("dlbench").joinpath(name).read_text(encoding="utf-8")


_WITH_INTERVAL = re.compile(r"([\d.]+ %) \((\d+ to \d+)\)( !)?")
_WORDS = {"", "axis", "label", "status", "pass@1 of", "run"}


def section(name: str, title: str, *parts: str) -> str:
    """`name`: what an address can point to."""
    return f'<section id="{escape(name)}"><h2>{escape(title)}</h2>{"".join(parts)}</section>'


def paragraph(words: str, kind: str = "note") -> str:
    return f'<p class="{kind}">{escape(words)}</p>'


def table(tabled: Tabled, about: str, *, words: Iterable[str] = _WORDS) -> str:
    """`words`: headings of columns that are words and not numbers; a wide table scrolls in its own frame."""
    headings, rows = tabled
    left = set(words)
    kinds = ["" if heading in left else ' class="number"' for heading in headings]
    head = "".join(f'<th scope="col"{kind}>{escape(cell)}</th>' for cell, kind in zip(headings, kinds, strict=True))
    body = "".join(f"<tr>{_row(row, kinds)}</tr>" for row in rows)
    return frame(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>", about)


def frame(markup: str, about: str) -> str:
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(about)}">{markup}</div>'


def figure(picture: str, caption: str) -> str:
    return f"<figure><figcaption>{escape(caption)}</figcaption>{picture}</figure>"


def side_by_side(*parts: str, wide: bool = False) -> str:
    """`wide`: too wide to stand beside one another."""
    return f'<div class="sides{" wide" if wide else ""}">{"".join(parts)}</div>'


def gallery(*figures: str) -> str:
    return f'<div class="gallery">{"".join(figures)}</div>'


def details(title: str, *parts: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{''.join(parts)}</details>"


def legend(names: Sequence[str]) -> str:
    """Which colour and shape is which run."""
    items = "".join(f"<li>{mark(place)}{escape(name)}</li>" for place, name in enumerate(names))
    return f'<ul class="legend">{items}</ul>'


def status_legend(statuses: Iterable[str]) -> str:
    items = "".join(
        f'<li><svg class="mark" viewBox="0 0 12 12" aria-hidden="true"><rect width="12" height="12"'
        f' class="status {escape(status)}"/></svg>{escape(status.replace("_", " "))}</li>'
        for status in statuses
    )
    return f'<ul class="legend">{items}</ul>'


def mark(place: int) -> str:
    return draw(f"run {place + 1}", 12, [shape(place, 6, 6, size=4.5)], width=12, kind="mark")


def _row(cells: list[str], kinds: list[str]) -> str:
    first, *rest = zip(cells, kinds, strict=True)
    told = "".join(f"<td{kind}>{_cell(cell.strip())}</td>" for cell, kind in rest)
    indented = ' class="inner"' if first[0].startswith(" ") else first[1]
    return f'<th scope="row"{indented}>{escape(first[0].strip())}</th>{told}'


def _cell(words: str) -> str:
    """A score above its interval: beside one another, a few runs would be too wide for a page."""
    found = _WITH_INTERVAL.fullmatch(words)
    return f"{escape(found[1] + (found[3] or ''))}<small>{escape(found[2])}</small>" if found else escape(words)
