"""How likely is it that one of k samples passes, and how many tests pass on average?

The unbiased estimator over n samples, not "the best of the first k". What cannot be computed is NaN, never 0.
"""

import math
from collections.abc import Iterable
from functools import cache


@cache  # few counts, asked for again in every row of every table
def pass_at_k(samples: int, passed: int, k: int) -> float:
    """1 - C(n-c, k) / C(n, k): the chance that k of the n samples, drawn without order, hold one that passes."""
    if not 0 <= passed <= samples:
        raise ValueError(f"{passed} of {samples} samples cannot have passed")
    if k < 1 or samples < k:
        return math.nan
    return 1.0 - math.comb(samples - passed, k) / math.comb(samples, k)


def mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known) if known else math.nan
