"""inspect-ai: our task, our judge as its scorer, and logs in both directions. Its entry point loads this module."""

from dlbench.bridges.inspect.task import baseline, converse, dl_bench, verdict

__all__ = ["baseline", "converse", "dl_bench", "verdict"]
