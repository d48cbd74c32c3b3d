"""One candidate in, one verdict out: splice, confine, run the instance's tests, judge."""

from dlbench.execution.engine import Engine
from dlbench.execution.judge import judge
from dlbench.execution.limits import Limits
from dlbench.execution.sandbox import choose_sandbox, find_sandboxes

__all__ = [
    "Engine",
    "Limits",
    "choose_sandbox",
    "find_sandboxes",
    "judge",
]
