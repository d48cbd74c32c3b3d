"""Tables, reports, and what a run folder holds."""

from dlbench.reporting.report import write_report
from dlbench.reporting.runs import Run, open_run, read_run, read_usage
from dlbench.reporting.sides import name_runs

__all__ = ["Run", "name_runs", "open_run", "read_run", "read_usage", "write_report"]
