"""Estimate a speed-up from pairs of measurements, with its interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from dlbench.execution.optimise.family import Run

Floats = NDArray[np.float64]
PRECISION = 0.03
"""The half width of an interval that is narrow enough, as a share."""
_TOLERATED_SECONDS = 0.0002
"""For definitions of helpers on import."""
_RESAMPLES = 1000


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
    """The middle half's mean of the logarithms of the rounds' ratios, with its bootstrap interval at 95 %."""
    extra = find_extra(ours, theirs)
    pairs = zip(ours, theirs, strict=True)
    logs = np.array([log(one.seconds / max(1e-9, other.seconds + extra)) for one, other in pairs])
    low, high = _bound(logs)
    value = float(_average_middle(logs[None])[0])
    seconds = float(np.median([one.seconds for one in ours]))
    value, low, high = (round(exp(one), 4) for one in (value, low, high))
    return Ratio(value, low, high, len(logs), round(seconds, 5))


def find_extra(ours: Sequence[Run], theirs: Sequence[Run]) -> float:
    """What the candidate spends more than the reference outside of its calls, such as on import, in threads, and on
    answers that are computed when they are read: the lower end of the interval, in seconds."""
    more = np.array([other.besides - one.besides for one, other in zip(ours, theirs, strict=True)])
    return max(0.0, _bound(more)[0] - _TOLERATED_SECONDS)


def _bound(values: Floats) -> tuple[float, float]:
    drawn = np.random.default_rng(0).integers(0, len(values), (_RESAMPLES, len(values)))
    low, high = np.percentile(_average_middle(values[drawn]), [2.5, 97.5])
    return float(low), float(high)


def _average_middle(rows: Floats) -> Floats:
    cut = rows.shape[1] // 4
    middles: Floats = np.sort(rows, axis=1)[:, cut : rows.shape[1] - cut].mean(axis=1)
    return middles


def is_known(ratio: Ratio) -> bool:
    return log(ratio.high / ratio.low) / 2 <= log(1 + PRECISION)
