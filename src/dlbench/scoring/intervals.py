"""How far can a score be trusted?

A bare pass@1 hides that another choice of instances would have given another number. Three answers, all at 95 %:
- bootstrap: percentiles of the score over resampled instances;
- Wilson: where a cell is small, or all its instances went alike and resampling them would claim certainty;
- clustered: percentiles over resampled projects, since functions of one project stand and fall together. The honest one
  for "would it hold on other projects?", and mostly the widest. n/a in small cells and with fewer than five projects.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import NormalDist

from dlbench.scoring.passk import mean
from dlbench.scoring.resample import resample_clustered, resample_means

LEVEL = 0.95
SMALL = 30
"""Cells with fewer instances get Wilson's interval."""
FEWEST_CLUSTERS = 5


@dataclass(frozen=True)
class Interval:
    low: float
    high: float
    kind: str
    """bootstrap, wilson, clustered, or n/a where nothing can be said."""


NOTHING = Interval(math.nan, math.nan, "n/a")


def find_interval(values: Sequence[float]) -> Interval:
    """Of the mean of values between 0 and 1, one for each instance."""
    if not values:
        return NOTHING
    if len(values) < SMALL or min(values) == max(values):
        return wilson(mean(values), len(values))
    return bound(resample_means(values), "bootstrap")


def find_clustered(clusters: Mapping[str, Sequence[float]]) -> Interval:
    """Of the mean over all values, when whole clusters (projects) are drawn. Clusters that all went alike: n/a."""
    values = list(chain.from_iterable(clusters.values()))
    if len(values) < SMALL or len(clusters) < FEWEST_CLUSTERS or min(values) == max(values):
        return NOTHING
    return bound(resample_clustered(list(clusters.values())), "clustered")


def wilson(share: float, size: int, level: float = LEVEL) -> Interval:
    """(p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n).

    Made for single yes and no; an instance with several samples is counted as one, which makes it rather wide.
    """
    if size < 1:
        return NOTHING
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle = share + z * z / (2 * size)
    reach = z * math.sqrt(max(0.0, share * (1 - share)) / size + z * z / (4 * size * size))
    scale = 1 + z * z / size
    # the interval holds the share, and ends at 0 and 1; rounding errors must not change that
    low, high = max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)
    return Interval(min(low, share), max(high, share), "wilson")


def bound(replicates: Sequence[float], kind: str, level: float = LEVEL) -> Interval:
    """The percentiles that leave out the same share on both sides, interpolated between neighbours."""
    ordered = sorted(replicates)
    return Interval(_quantile(ordered, (1 - level) / 2), _quantile(ordered, (1 + level) / 2), kind)


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
