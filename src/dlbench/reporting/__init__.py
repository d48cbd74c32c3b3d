"""Reports of runs: tables, pages, exports, the leaderboard and the dataset card."""

from dlbench import __version__
from dlbench.reporting.caveats import name_runs
from dlbench.reporting.report_data import ReportData, read_usage
from dlbench.reporting.sections import MARKDOWN, make_sections, render_markdown
from dlbench.runs import Run, open_run, read_run


def write_report(data: ReportData) -> str:
    """The report as Markdown: caveats, then every section."""
    lines = ["# DL-Bench report", "", f"dlbench {__version__}, benchmark {data.benchmark.version}.", ""]
    lines += [line for caveat in data.warnings for line in (caveat, "")]
    for _, title, blocks in make_sections(data, MARKDOWN):
        lines += [f"## {title}", "", *render_markdown(blocks)]
    return "\n".join(lines[:-1]) + "\n"


__all__ = ["Run", "name_runs", "open_run", "read_run", "read_usage", "write_report"]
