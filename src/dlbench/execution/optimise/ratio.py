"""Estimate a speed-up from pairs of measurements, with its interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from dlbench.execution.optimise.family import Run

PRECISION = 0.03
"""The half width of an interval that is narrow enough, as a share."""
_TOLERATED_SHARE, _TOLERATED_SECONDS = 0.1, 0.001
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


def charge(ours: Run, theirs: Run) -> float:
    """The seconds that count for the candidate: of the call, and what it spends more than the reference outside of it,
    such as on import, on answers that are computed when they are read, and in threads."""
    allowed = ours.besides * (1 + _TOLERATED_SHARE) + _TOLERATED_SECONDS
    return theirs.seconds + max(0.0, theirs.besides - allowed)


def estimate(ours: Sequence[Run], theirs: Sequence[Run]) -> Ratio:
    """The middle half's mean of the logarithms of the rounds' ratios; its bootstrap interval at 95 %."""
    pairs = zip(ours, theirs, strict=True)
    logs = np.array([log(one.seconds / max(1e-9, charge(one, other))) for one, other in pairs])
    drawn = np.random.default_rng(0).integers(0, len(logs), (_RESAMPLES, len(logs)))
    middles = _average_middle(logs[drawn])
    low, high = np.percentile(middles, [2.5, 97.5])
    value = float(_average_middle(logs[None])[0])
    seconds = float(np.median([one.seconds for one in ours]))
    numbers = (round(exp(one), 4) for one in (value, low, high))
    return Ratio(*numbers, len(logs), round(seconds, 5))


def _average_middle(rows: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    cut = rows.shape[1] // 4
    middles: np.ndarray = np.sort(rows, axis=1)[:, cut : rows.shape[1] - cut].mean(axis=1)  # type: ignore[type-arg]
    return middles


def is_known(ratio: Ratio) -> bool:
    return log(ratio.high / ratio.low) / 2 <= log(1 + PRECISION)
