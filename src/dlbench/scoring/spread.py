"""How much does a score move when the same model is asked again?

Mean, variance and standard deviation (divided by n - 1) over several runs of one model, or over the samples of one run,
of which the first of every instance make one run, the second ones another. What two numbers need cannot be said of one.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Any


@dataclass(frozen=True)
class Spread:
    runs: int
    mean: float
    variance: float
    deviation: float


def spread(values: Sequence[float]) -> Spread:
    """Σ(x - mean)² / (n - 1) and its root; NaN for fewer than two values."""
    if not values:
        return Spread(0, math.nan, math.nan, math.nan)
    found = variance(values) if len(values) > 1 else math.nan
    return Spread(len(values), fmean(values), found, math.sqrt(found))


def spread_of_samples(records: Iterable[dict[str, Any]]) -> Spread:
    """Over sample numbers, of the share of instances that pass; only numbers that every instance has."""
    passed: defaultdict[int, dict[str, bool]] = defaultdict(dict)
    instances = set()
    for record in records:
        passed[record["sample"]][record["instance"]] = record["status"] == "pass"
        instances.add(record["instance"])
    return spread([fmean(found.values()) for found in passed.values() if len(found) == len(instances)])
