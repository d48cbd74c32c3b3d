"""How does a picture stand on its own, outside a page? As a file that brings the page's colours along."""

import re
from functools import cache
from importlib.resources import files


def stand_alone(picture: str) -> str:
    """An SVG file of what `marks.draw` gave; light or dark as its reader prefers."""
    opening, rest = picture.split(">", 1)
    namespace = 'xmlns="http://www.w3.org/2000/svg"'
    return f"{opening.replace('<svg', f'<svg {namespace}', 1)}><style><![CDATA[{_read_style()}]]></style>{rest}\n"


@cache
def _read_style() -> str:
    colours = re.search(r":root \{.*?\n\}", _read("web/base.css"), re.DOTALL)
    assert colours is not None
    letters = "text { font-family: system-ui, sans-serif; }"
    return f"{colours.group()}\n{letters}\n{_read('reporting/page/pictures.css')}"


def _read(name: str) -> str:
    return files("dlbench").joinpath(name).read_text(encoding="utf-8")
