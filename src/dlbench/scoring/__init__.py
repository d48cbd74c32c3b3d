"""Verdicts in, numbers out. Pure functions."""

from dlbench.scoring.breakdowns import BREAKDOWNS, CUTOFFS
from dlbench.scoring.compare import Comparison, Pair, RunScore, compare
from dlbench.scoring.intervals import Interval, wilson
from dlbench.scoring.significance import BenchmarkComparison, compare_benchmarks
from dlbench.scoring.summary import Score, Spread, Summary, spread, spread_of_samples, summarise, summarise_all
from dlbench.scoring.tally import HARNESS_ERROR, Tally, Usage, pass_at_k, tally, total_usage

__all__ = [
    "BREAKDOWNS", "CUTOFFS", "HARNESS_ERROR", "BenchmarkComparison", "Comparison", "Interval", "Pair", "RunScore",
    "Score", "Spread", "Summary", "Tally", "Usage", "compare", "compare_benchmarks", "pass_at_k", "spread",
    "spread_of_samples", "summarise", "summarise_all", "tally", "total_usage", "wilson",
]  # fmt: skip
