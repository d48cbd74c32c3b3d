"""How do the pictures of a report get into a paper? Each as a file of its own, with what its page says beside it.

Taken from the overview as it is, so that no picture can show another figure than the page does. On the page one legend
stands above several pictures; alone, each brings its own, or nobody could tell the runs apart.
"""

import re
from collections.abc import Sequence

from dlbench.reporting.charts import Key, stand_alone
from dlbench.reporting.charts.svg import rect, run_class, shape
from dlbench.reporting.pages.sections import render_overview
from dlbench.reporting.report_data import ReportData

_PICTURE = re.compile(r'<svg class="picture".*?</svg>', re.DOTALL)
_TITLE = re.compile(r"""aria-label=["'](.*?)["']>""")
_STATUS = re.compile(r'class="status (\w+)"')


def draw_plots(standing: ReportData) -> dict[str, str]:
    """SVG files by name, in the order of the page."""
    found: dict[str, str] = {}
    for picture in _PICTURE.findall(render_overview(standing)):
        title = _TITLE.search(picture)
        assert title is not None
        name = plain = re.sub(r"[^a-z0-9]+", "-", title[1].lower()).strip("-") or "picture"
        count = 1
        while name in found:
            count += 1
            name = f"{plain}-{count}"
        found[name] = stand_alone(picture, _explain(picture, standing.names))
    return found


def _explain(picture: str, names: Sequence[str]) -> list[Key]:
    statuses = dict.fromkeys(_STATUS.findall(picture))
    if statuses:
        return [(rect(-4, -4, 8, 8, kind=f"status {status}"), status.replace("_", " ")) for status in statuses]
    used = [place for place in range(len(names)) if f'class="{run_class(place)}"' in picture]
    return [(shape(place, 0, 0), names[place]) for place in used]
