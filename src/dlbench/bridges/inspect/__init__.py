"""inspect-ai: our task, our judge as its scorer, and logs in both directions.

What does inspect find here by name? Its entry point loads this module, and so do logs that name our parts.
"""

from dlbench.bridges.inspect.task import baseline, converse, dl_bench, verdict

__all__ = ["baseline", "converse", "dl_bench", "verdict"]
