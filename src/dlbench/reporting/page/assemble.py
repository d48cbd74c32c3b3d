"""How do our files and somebody else's text become one page that is safe to open?

Candidates are written by models, and a page that shows them is opened where people are logged in. So text is data: it
stands in blocks that are not run, and is put into the page as text. Should that ever fail, the page's own policy still
forbids every request and every script but ours, which it knows by their hash.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from string import Template

_STYLES = ("web/base.css", *(f"reporting/page/{name}.css" for name in ("style", "pictures", "explorer")))
_PARTS = ("dom", "theme", "text", "diff", "place", "list", "instance", "start")
_SCRIPTS = ("web/python.js", *(f"reporting/page/{name}.js" for name in _PARTS))


def assemble(title: str, about: str, overview: str, data: Mapping[str, object]) -> str:
    """`about`: plain text under the title; `overview`: markup of ours; `data`: values by the id of their block."""
    style, script = _join(_STYLES), _join(_SCRIPTS)
    return Template(_read("reporting/page/page.html")).substitute(
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
