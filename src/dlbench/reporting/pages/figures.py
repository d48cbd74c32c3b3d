"""Write the plots of a report as SVG files, for papers.

The plots are those of the page's sections, so that no file can show other numbers. The page has one legend above
several plots; each file brings its own, to identify the runs.
"""

import re
from collections.abc import Iterator, Sequence

from dlbench.reporting.charts import Key, stand_alone
from dlbench.reporting.charts.svg import rect, run_class, shape
from dlbench.reporting.formatting import render_label
from dlbench.reporting.report_data import ReportData
from dlbench.reporting.sections import PAGE, Block, Gallery, Plot, SideBySide, make_sections

_TITLE = re.compile(r"""aria-label=["'](.*?)["']>""")
_STATUS = re.compile(r'class="status (\w+)"')


def draw_plots(data: ReportData) -> dict[str, str]:
    """SVG files by name, in the order of the page."""
    found: dict[str, str] = {}
    for _, _, blocks in make_sections(data, PAGE):
        for plot in _find_plots(blocks):
            title = _TITLE.search(plot.svg)
            assert title is not None
            name = plain = re.sub(r"[^a-z0-9]+", "-", title[1].lower()).strip("-") or "plot"
            count = 1
            while name in found:
                count += 1
                name = f"{plain}-{count}"
            found[name] = stand_alone(plot.svg, _make_legend(plot.svg, data.names))
    return found


def _find_plots(blocks: Sequence[Block]) -> Iterator[Plot]:
    for block in blocks:
        match block:
            case Plot() | SideBySide(plot=Plot()):
                yield block if isinstance(block, Plot) else block.plot
            case Gallery(plots):
                yield from plots


def _make_legend(svg: str, names: Sequence[str]) -> list[Key]:
    statuses = dict.fromkeys(_STATUS.findall(svg))
    if statuses:
        return [(rect(-4, -4, 8, 8, kind=f"status {status}"), render_label(status)) for status in statuses]
    used = [place for place in range(len(names)) if f'class="{run_class(place)}"' in svg]
    return [(shape(place, 0, 0), names[place]) for place in used]
