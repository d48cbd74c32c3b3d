"""How far can a score be trusted?

A bare pass@1 hides that another choice of instances would have given another number. Three answers, all at 95 %:
- bootstrap: percentiles of the score over resampled instances;
- Wilson: where a cell is small, or all its instances went alike and resampling them would claim certainty;
- clustered: percentiles over resampled projects, since functions of one project stand and fall together. The honest one
  for "would it hold on other projects?", and mostly the widest. n/a in small cells and with fewer than five projects.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from statistics import NormalDist

import numpy as np

from dlbench.scoring.passk import mean
from dlbench.scoring.resample import Clusters, Floats, resample_columns

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
    return find_intervals(np.array([values], dtype=np.float64), [mean(values)])[0]


def find_intervals(columns: Floats, means: Sequence[float]) -> list[Interval]:
    """The same for several figures of the same instances, a row each, whose resamples are drawn once."""
    size = columns.shape[1]
    spreading = _find_spreading(columns)
    bounds = _bound_rows(resample_columns(columns[spreading]), "bootstrap") if spreading else []
    found = dict(zip(spreading, bounds, strict=True))
    return [found.get(row) or wilson(share, size) for row, share in enumerate(means)]


def find_clustered(values: Sequence[float], clusters: Clusters) -> Interval:
    """Of the mean over all values, when whole clusters (projects) are drawn. Values that are all alike: n/a."""
    return find_all_clustered(np.array([values], dtype=np.float64), clusters)[0]


def find_all_clustered(columns: Floats, clusters: Clusters) -> list[Interval]:
    """The same for several figures of the same instances."""
    spreading = _find_spreading(columns) if clusters.count >= FEWEST_CLUSTERS else []
    bounds = _bound_rows(clusters.resample_columns(columns[spreading]), "clustered") if spreading else []
    found = dict(zip(spreading, bounds, strict=True))
    return [found.get(row, NOTHING) for row in range(len(columns))]


def _find_spreading(columns: Floats) -> list[int]:
    """Rows that can be resampled: of enough instances, which did not all go alike."""
    if columns.shape[1] < SMALL:
        return []
    return [int(row) for row in np.flatnonzero(columns.min(axis=1) < columns.max(axis=1))]


@lru_cache(maxsize=8192)  # small groups have few shares, and the same ones in every run
def wilson(share: float, size: int, level: float = LEVEL) -> Interval:
    """(p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n).

    Made for single yes and no; an instance with several samples is counted as one, which makes it rather wide.
    """
    if size < 1 or math.isnan(share):
        return NOTHING
    z = _normal_quantile((1 + level) / 2)
    middle = share + z * z / (2 * size)
    reach = z * math.sqrt(max(0.0, share * (1 - share)) / size + z * z / (4 * size * size))
    scale = 1 + z * z / size
    # the interval holds the share, and ends at 0 and 1; rounding errors must not change that
    low, high = max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)
    return Interval(min(low, share), max(high, share), "wilson")


@cache
def _normal_quantile(share: float) -> float:
    return NormalDist().inv_cdf(share)


def bound(replicates: Sequence[float] | Floats, kind: str, level: float = LEVEL) -> Interval:
    """The percentiles that leave out the same share on both sides, interpolated between neighbours."""
    return _bound_rows(np.array([replicates], dtype=np.float64), kind, level)[0]


def _bound_rows(replicates: Floats, kind: str, level: float = LEVEL) -> list[Interval]:
    ordered = np.sort(replicates, axis=1)
    lows, highs = (_quantiles(ordered, share) for share in ((1 - level) / 2, (1 + level) / 2))
    return [Interval(low, high, kind) for low, high in zip(lows, highs, strict=True)]


def _quantiles(ordered: Floats, share: float) -> list[float]:
    place = share * (ordered.shape[1] - 1)
    below = math.floor(place)
    low, high = ordered[:, below], ordered[:, min(below + 1, ordered.shape[1] - 1)]
    return [float(value) for value in low + (place - below) * (high - low)]
