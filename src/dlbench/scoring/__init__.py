"""Verdicts in, numbers out. Pure functions."""

from dlbench.scoring.against import Against, set_against
from dlbench.scoring.compare import Comparison, Pair, Standing, compare
from dlbench.scoring.groups import BREAKDOWNS, CUTOFFS
from dlbench.scoring.intervals import Interval, wilson
from dlbench.scoring.passk import pass_at_k
from dlbench.scoring.spread import Spread, spread, spread_of_samples
from dlbench.scoring.summary import Score, Summary, summarise, summarise_all
from dlbench.scoring.tally import HARNESS_ERROR, Tally, tally
from dlbench.scoring.usage import Usage, total_usage

__all__ = [
    "BREAKDOWNS",
    "CUTOFFS",
    "HARNESS_ERROR",
    "Against",
    "Comparison",
    "Interval",
    "Pair",
    "Score",
    "Spread",
    "Standing",
    "Summary",
    "Tally",
    "Usage",
    "compare",
    "pass_at_k",
    "set_against",
    "spread",
    "spread_of_samples",
    "summarise",
    "summarise_all",
    "tally",
    "total_usage",
    "wilson",
]
