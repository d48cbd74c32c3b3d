"""Turn a candidate into a verdict: splice it in, confine it, run the instance's tests, map the outcome to a status."""

from dlbench.execution.engine import Engine
from dlbench.execution.judge import judge
from dlbench.execution.limits import Limits
from dlbench.execution.sandbox import choose_sandbox, find_sandboxes

__all__ = ["Engine", "Limits", "choose_sandbox", "find_sandboxes", "judge"]
