"""Tables, reports, and what a run folder holds."""

from dlbench.reporting.report import write_report
from dlbench.reporting.runs import Run, open_run, read_run

__all__ = ["Run", "open_run", "read_run", "write_report"]
