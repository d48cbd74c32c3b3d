"""Assemble pages that are safe to open, and render the blocks of report sections as HTML.

Models write candidates, and people open the page where they are logged in. So text is data, in blocks that are not
executed. As a second barrier the page's policy forbids every request and every script but ours, identified by hash.
"""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from string import Template

from dlbench.reporting.sections import Block, Legend, Markup, Plot, SideBySide, Table, Text
from dlbench.reporting.tables import TEXT_COLUMNS, render_label

_STYLES = ("web/base.css", *(f"reporting/pages/{name}.css" for name in ("style", "plots", "explorer")))
_PARTS = ("dom", "theme", "text", "diff", "trajectory", "place", "list", "instance", "start")
_SCRIPTS = ("web/python.js", *(f"reporting/pages/{name}.js" for name in _PARTS))


def assemble(title: str, about: str, overview: str, data: Mapping[str, object]) -> str:
    """`about`: plain text under the title; `overview`: markup of ours; `data`: values by the id of their element."""
    style, script = ("\n" + "\n".join(map(_read, names)) for names in (_STYLES, _SCRIPTS))
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
    """Compressed JSON in base64; `unpack` of dom.js reads it."""
    return base64.b64encode(gzip.compress(json.dumps(value, separators=(",", ":")).encode(), 9, mtime=0)).decode()


def _block(name: str, value: object) -> str:
    text = json.dumps(value, separators=(",", ":"))  # ASCII: no line separators, no lone surrogates
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")  # no text can end its element
    return f'<script type="application/json" id="{escape(name)}">{text}</script>'


def _pin(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _read(name: str) -> str:
    return files("dlbench").joinpath(name).read_text(encoding="utf-8")


_WITH_INTERVAL = re.compile(r"([\d.]+ %) \((\d+ to \d+)\)( !)?")


def render_section(name: str, title: str, blocks: Sequence[Block]) -> str:
    """`name`: the anchor of the section."""
    return f'<section id="{escape(name)}"><h2>{escape(title)}</h2>{"".join(map(render_block, blocks))}</section>'


def render_block(block: Block) -> str:
    match block:
        case Text(text, kind):
            return f"<h3>{escape(text)}</h3>" if kind == "heading" else f'<p class="{kind}">{escape(text)}</p>'
        case Table():
            return _table(block)
        case Plot(svg, caption):
            return f"<figure><figcaption>{escape(caption)}</figcaption>{svg}</figure>"
        case list(plots):
            return f'<div class="gallery">{"".join(map(render_block, plots))}</div>'
        case SideBySide(plot, table, is_wide):
            return f'<div class="sides{" wide" if is_wide else ""}">{render_block(plot)}{_table(table)}</div>'
        case Legend(keys):
            items = "".join(
                f'<li><svg class="mark" viewBox="-6 -6 12 12" aria-hidden="true">{mark}</svg>{escape(label)}</li>'
                for mark, label in keys
            )
            return f'<ul class="legend">{items}</ul>'
        case Markup(html):
            return html


def _table(table: Table) -> str:
    """A wide table scrolls in its own frame."""
    headings, rows = table.content
    kinds = ["" if heading in TEXT_COLUMNS else ' class="number"' for heading in headings]
    head = "".join(f'<th scope="col"{kind}>{escape(cell)}</th>' for cell, kind in zip(headings, kinds, strict=True))
    body = []
    for first, *rest in rows:
        name = render_label(first) if table.has_labels else first
        kind = ' class="inner"' if first.startswith(" ") else kinds[0]
        cells = "".join(f"<td{kind}>{_cell(cell.strip())}</td>" for cell, kind in zip(rest, kinds[1:], strict=True))
        body.append(f'<tr><th scope="row"{kind}>{escape(name.strip())}</th>{cells}</tr>')
    markup = (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )
    return f"<details><summary>{escape(table.title)}</summary>{markup}</details>" if table.is_folded else markup


def _cell(text: str) -> str:
    """A score above its interval: side by side, a few runs would be too wide for a page."""
    found = _WITH_INTERVAL.fullmatch(text)
    return f"{escape(found[1] + (found[3] or ''))}<small>{escape(found[2])}</small>" if found else escape(text)
