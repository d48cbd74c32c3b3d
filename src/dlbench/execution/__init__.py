"""One candidate in, one verdict out: splice, confine, run the instance's tests, judge."""

from dlbench.execution.engine import Engine
from dlbench.execution.judge import judge
from dlbench.execution.limits import Limits
from dlbench.execution.sandbox import choose_confinement, find_confinements
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Outcome, Status, Verdict

__all__ = [
    "Engine",
    "Limits",
    "Outcome",
    "Sample",
    "Status",
    "Verdict",
    "choose_confinement",
    "find_confinements",
    "judge",
]
