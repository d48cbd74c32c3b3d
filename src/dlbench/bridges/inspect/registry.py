"""What does inspect find here by name? Its entry point loads this module, and so do logs that name our parts."""

from dlbench.bridges.inspect.scorer import verdict
from dlbench.bridges.inspect.solvers import baseline, converse
from dlbench.bridges.inspect.task import dl_bench

__all__ = ["baseline", "converse", "dl_bench", "verdict"]
