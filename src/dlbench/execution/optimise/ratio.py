"""Estimate a speed-up from pairs of measurements, with its interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, exp, log

import numpy as np

from dlbench.execution.optimise.family import Run

PRECISION = 0.02
"""The half width of an interval that is narrow enough, as a share."""
_TOLERATED_SECONDS = 0.0002
"""For definitions of helpers on import."""


@dataclass(frozen=True)
class Ratio:
    """The reference's processor time divided by the candidate's: above 1 is faster."""

    value: float
    low: float
    high: float
    rounds: int
    seconds: float
    """The median of the reference."""


def estimate(ours: Sequence[Run], theirs: Sequence[Run]) -> Ratio:
    """The median of the rounds' ratios. Its interval holds at 95 % for any distribution: it ends at the rounds that a
    fair coin would reach."""
    pairs = zip(ours, _charge(ours, theirs), strict=True)
    logs = sorted(log(max(1e-9, one.seconds) / max(1e-9, seconds)) for one, seconds in pairs)
    count = len(logs)
    beyond = 0
    while sum(comb(count, few) for few in range(beyond + 2)) <= 0.025 * 2**count:
        beyond += 1
    bounds = float(np.median(logs)), logs[beyond], logs[-1 - beyond]
    value, low, high = (round(exp(one), 4) for one in bounds)
    return Ratio(value, low, high, count, round(float(np.median([one.seconds for one in ours])), 5))


def _charge(ours: Sequence[Run], theirs: Sequence[Run]) -> list[float]:
    """The candidate's seconds in each round, with what it spends besides the call and the reference hardly ever does:
    on import, in threads, and on answers that are computed when they are read. Judged by round: work that is done
    early in some rounds only is charged in these."""
    allowed = np.percentile([one.besides for one in ours], 90) + _TOLERATED_SECONDS
    return [one.seconds + max(0.0, one.besides - allowed) for one in theirs]


def is_known(ratio: Ratio) -> bool:
    return log(ratio.high / ratio.low) / 2 <= log(1 + PRECISION)
