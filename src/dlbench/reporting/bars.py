"""How does a distribution look? Horizontal bars as an SVG that needs nothing else and can be read in light and dark."""

from collections.abc import Mapping
from xml.sax.saxutils import escape

_WIDTH, _ROW, _LEFT, _TOP = 560, 24, 190, 40


def draw_bars(title: str, counts: Mapping[str, float]) -> str:
    most = max(counts.values(), default=0) or 1
    height = _TOP + _ROW * len(counts) + 10
    room = _WIDTH - _LEFT - 60
    rows = []
    for place, (name, count) in enumerate(counts.items()):
        y = _TOP + place * _ROW
        length = room * count / most
        rows.append(
            f'<text x="{_LEFT - 8}" y="{y + 15}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{_LEFT}" y="{y + 3}" width="{length:.1f}" height="{_ROW - 7}" rx="2"/>'
            f'<text x="{_LEFT + length + 6:.1f}" y="{y + 15}">{count:g}</text>'
        )
    style = (
        "text{font:13px system-ui,sans-serif;fill:#333}rect{fill:#4878a8}.title{font-weight:600}"
        "@media(prefers-color-scheme:dark){text{fill:#ddd}rect{fill:#7aa6d6}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
        f' role="img"><title>{escape(title)}</title><style>{style}</style>'
        f'<text class="title" x="8" y="22">{escape(title)}</text>{"".join(rows)}</svg>\n'
    )
