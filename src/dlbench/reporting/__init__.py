"""Tables, reports, and what a run folder holds."""

from dlbench.reporting.report import write_report
from dlbench.reporting.sides import name_runs
from dlbench.reporting.standing import read_usage
from dlbench.runs import Run, open_run, read_run

__all__ = ["Run", "name_runs", "open_run", "read_run", "read_usage", "write_report"]
