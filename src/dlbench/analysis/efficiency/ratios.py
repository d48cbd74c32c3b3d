"""By how much does one series of measures lie above another, and could it be noise?

The ratio of the two medians, with the percentiles of that ratio when rounds are drawn anew: a round is one measure of
each, taken side by side, and stays together. What the reference shows against itself is noise by construction: a ratio
no further from 1 than that says nothing, whatever its interval.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from dlbench.scoring.intervals import LEVEL, NOTHING, SEED, Floats, Interval, bound, draw_places

FEWEST_ROUNDS = 3
"""With fewer there is no interval."""
FEWEST_INSTANCES = 5
"""With fewer, a mean over instances has no interval."""


Measures = tuple[Sequence[float], Sequence[float]]
"""A candidate's and the reference's, round by round."""
_ROUNDS_SEED = SEED + 1
"""Not that of the instances: nine rounds and nine instances would be drawn alike."""


@dataclass(frozen=True)
class Ratio:
    value: float
    """NaN where there is nothing to divide by."""
    interval: Interval
    candidate: float
    """The median of its rounds."""
    reference: float
    rounds: int


@dataclass(frozen=True)
class Noise:
    """What the reference shows against itself, an instance a value."""

    instances: int
    reach: float
    """95 % of instances lie between 1/reach and reach."""
    holding: float
    """The share of instances whose interval holds 1; were it exact, 95 %."""
    mean: float
    """Geometric, over instances: what the mean of a run has to be told from."""
    interval: Interval


def find_ratio(candidate: Sequence[float], reference: Sequence[float]) -> Ratio:
    """Of measures by round, as many of one as of the other."""
    above, below = (np.array(values, dtype=np.float64) for values in (candidate, reference))
    if not len(above) or not np.all(below > 0):
        return Ratio(math.nan, NOTHING, math.nan, math.nan, len(above))
    medians = float(np.median(above)), float(np.median(below))
    interval = bound(_resample(candidate, reference), "bootstrap") if len(above) >= FEWEST_ROUNDS else NOTHING
    return Ratio(medians[0] / medians[1], interval, *medians, len(above))


def _resample(candidate: Sequence[float], reference: Sequence[float]) -> Floats:
    places = draw_places(len(candidate), _ROUNDS_SEED)
    above, below = (np.median(np.array(values)[places], axis=1) for values in (candidate, reference))
    ratios: Floats = above / below
    return ratios


def find_noise(itself: Sequence[Measures]) -> Noise:
    """From the measures of references beside themselves."""
    measured = [(find_ratio(*one), one) for one in itself]
    known = [ratio for ratio, _ in measured if ratio.value > 0]
    if not known:
        return Noise(0, math.nan, math.nan, math.nan, NOTHING)
    sides = [max(one.value, 1 / one.value) for one in known]
    told = [one.interval for one in known if one.interval is not NOTHING]
    held = [one.low <= 1 <= one.high for one in told]
    mean, interval = average([[one] for ratio, one in measured if ratio.value > 0])
    return Noise(
        instances=len(known),
        reach=float(np.quantile(sides, LEVEL)),
        holding=sum(held) / len(held) if held else math.nan,
        mean=mean,
        interval=interval,
    )


def average(instances: Sequence[Sequence[Measures]]) -> tuple[float, Interval]:
    """The geometric mean of ratios: over an instance's samples, and then over instances.

    Its percentiles when instances are drawn anew, and in each of them the rounds: instances whose errors happen to
    agree would otherwise look sure.
    """
    if not instances:
        return math.nan, NOTHING
    mean = math.exp(fmean(fmean(math.log(find_ratio(*one).value) for one in samples) for samples in instances))
    if len(instances) < FEWEST_INSTANCES:
        return mean, NOTHING
    drawn = np.array([np.mean([np.log(_resample(*one)) for one in samples], axis=0) for samples in instances])
    places = draw_places(len(instances))
    return mean, bound(np.exp(drawn[places, np.arange(len(places))[:, None]].mean(axis=1)), "bootstrap")


def find_side(ratio: Ratio, noise: Noise) -> int:
    """1 where it is larger, -1 where it is smaller, and 0 where nothing can be told.

    Larger: the whole interval lies above 1, and the ratio further from 1 than noise.
    """
    if ratio.interval.low > 1 and ratio.value > noise.reach:
        return 1
    return -1 if ratio.interval.high < 1 and ratio.value < 1 / noise.reach else 0
