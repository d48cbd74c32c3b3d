"""Verdicts in, numbers out. Pure functions."""

from dlbench.scoring.passk import pass_at_k
from dlbench.scoring.summary import Score, Summary, summarise

__all__ = ["Score", "Summary", "pass_at_k", "summarise"]
