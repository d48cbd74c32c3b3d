"""How are values spread? The few figures that every study's tables show."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np


@dataclass(frozen=True)
class Figures:
    """NaN where there are no values."""

    count: int
    mean: float
    deviation: float
    """Divided by n - 1."""
    low: float
    """A tenth lies below."""
    median: float
    high: float
    """A tenth lies above."""
    most: float


def find_figures(values: Sequence[float]) -> Figures:
    if not values:
        return Figures(0, *[math.nan] * 6)
    low, median, high = (float(share) for share in np.quantile(np.array(values, dtype=np.float64), (0.1, 0.5, 0.9)))
    deviation = stdev(values) if len(values) > 1 else math.nan
    return Figures(len(values), fmean(values), deviation, low, median, high, float(max(values)))


def count_bins(values: Sequence[float], ends: Sequence[float]) -> list[float]:
    """The share of values in each bin; `ends` are where a bin begins, and the last is open."""
    if not values:
        return [math.nan] * len(ends)
    places = np.searchsorted(np.array(ends, dtype=np.float64), np.array(values, dtype=np.float64), side="right") - 1
    counts = np.bincount(np.clip(places, 0, len(ends) - 1), minlength=len(ends))
    return [float(count) / len(values) for count in counts]
