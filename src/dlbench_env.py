"""The environment `dlbench-env` of verifiers, which imports an environment as a top-level module of its name."""

from dlbench.bridges.verifiers import DLBenchEnv, DLBenchTaskset, OneAnswer

__all__ = ["DLBenchEnv", "DLBenchTaskset", "OneAnswer"]
