"""Compute 95 % intervals of scores: bootstrap over instances, Wilson's, and bootstrap over projects.

docs/scoring.md says which is used where; where all instances have the same outcome, resampling would claim certainty.
One matrix holds how often each of a thousand resamples drew each item, and a product with it gives all sums: in plain
Python a row takes a second. Values are counted in whole units, whose sums a float holds exactly: the result does not
depend on the order of additions. The seed is fixed: the same runs give the same intervals everywhere.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dlbench.scoring.tally import mean

RESAMPLES = 1000
SEED = 0
_UNIT = 100_000
_ROWS, _COLUMNS = 4, 62
"""Size of one product: 248,000 multiplications with a thousand resamples. BLAS splits a larger one between threads that
spin while they wait for one another on a busy machine: measured six times slower."""
Floats = NDArray[np.float64]
LEVEL = 0.95
SMALL = 30
"""Groups with fewer instances get Wilson's interval."""
FEWEST_CLUSTERS = 5


@dataclass(frozen=True)
class Interval:
    low: float
    high: float
    kind: str
    """bootstrap, wilson, clustered, or n/a where there is no interval."""


NOTHING = Interval(math.nan, math.nan, "n/a")


def resample_columns(columns: Sequence[Sequence[float]] | Floats) -> Floats:
    """By figure (a row with a value from 0 to 1 for each item) and resample, the mean of the items drawn."""
    units = np.rint(np.asarray(columns, dtype=np.float64) * _UNIT)
    means: Floats = _resample_sums(units) / (_UNIT * units.shape[1])
    return means


class Clusters:
    """Which items belong together (instances of one project) and are drawn together."""

    def __init__(self, names: Iterable[str]) -> None:
        known: dict[str, int] = {}
        self._numbers = np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)
        self.count = len(known)
        self._sizes = np.bincount(self._numbers, minlength=self.count)

    def add_up(self, values: Sequence[float] | Floats | NDArray[np.int64]) -> Floats:
        """The sum of each cluster's values."""
        weights = np.asarray(values, dtype=np.float64)
        return np.bincount(self._numbers, weights=weights, minlength=self.count).astype(np.float64)

    def resample_columns(self, columns: Sequence[Sequence[float]] | Floats) -> Floats:
        """As the function, where clusters are drawn with replacement, each as a whole."""
        totals = [np.rint(self.add_up(values) * _UNIT) for values in columns]
        *sums, counts = _resample_sums(np.array([*totals, self._sizes], dtype=np.float64))
        means: Floats = np.array(sums) / (counts * _UNIT)
        return means


def _resample_sums(units: Floats) -> Floats:
    count, size = units.shape
    drawn = _draw(size)
    sums = np.zeros((count, RESAMPLES))
    for row in range(0, count, _ROWS):
        part, total = units[row : row + _ROWS], sums[row : row + _ROWS]
        for start in range(0, size, _COLUMNS):
            total += part[:, start : start + _COLUMNS] @ drawn[start : start + _COLUMNS]
    return sums


@lru_cache(maxsize=64)
def _draw(items: int) -> Floats:
    """How often each resample drew each item. Equal for every run with as many items, so that runs are paired."""
    places = draw_places(items) + items * np.arange(RESAMPLES)[:, None]
    counts = np.bincount(places.ravel(), minlength=items * RESAMPLES).reshape(RESAMPLES, items)
    return np.ascontiguousarray(counts.T, dtype=np.float64)


@lru_cache(maxsize=64)
def draw_places(items: int, seed: int = SEED) -> NDArray[np.int64]:
    """One row per resample: the indices it drew. For figures that are not means."""
    numbers = np.frombuffer(Random(seed).randbytes(4 * items * RESAMPLES), dtype="<u4").astype(np.uint64)
    return (numbers * np.uint64(items) >> np.uint64(32)).astype(np.int64).reshape(RESAMPLES, items)


def find_interval(values: Sequence[float]) -> Interval:
    """Of the mean of values between 0 and 1, one per instance."""
    return find_intervals(np.array([values], dtype=np.float64), [mean(values)])[0]


def find_intervals(columns: Floats, means: Sequence[float]) -> list[Interval]:
    """The same for several figures of the same instances, a row each."""
    found = _bound_spreading(columns, resample_columns, "bootstrap")
    return [found.get(row) or wilson(share, columns.shape[1]) for row, share in enumerate(means)]


def find_clustered(columns: Floats, clusters: Clusters) -> list[Interval]:
    """The same when whole clusters (projects) are drawn; n/a where all values are equal."""
    is_known = clusters.count >= FEWEST_CLUSTERS
    found = _bound_spreading(columns, clusters.resample_columns, "clustered") if is_known else {}
    return [found.get(row, NOTHING) for row in range(len(columns))]


def _bound_spreading(columns: Floats, resample: Callable[[Floats], Floats], kind: str) -> dict[int, Interval]:
    """By row, for those that can be resampled: enough instances, and not all with the same value."""
    if columns.shape[1] < SMALL:
        return {}
    rows = np.flatnonzero(columns.min(axis=1) < columns.max(axis=1)).tolist()
    return dict(zip(rows, _bound_rows(resample(columns[rows]), kind), strict=True)) if rows else {}


@lru_cache(maxsize=8192)  # small groups have few distinct shares, and the same ones in every run
def wilson(share: float, size: int) -> Interval:
    """(p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n).

    Made for yes/no outcomes; an instance with several samples counts as one, which makes the interval rather wide.
    """
    if size < 1 or math.isnan(share):
        return NOTHING
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    middle = share + z * z / (2 * size)
    reach = z * math.sqrt(max(0.0, share * (1 - share)) / size + z * z / (4 * size * size))
    scale = 1 + z * z / size
    # rounding must not move the interval off the share or beyond 0 and 1
    low, high = max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)
    return Interval(min(low, share), max(high, share), "wilson")


def bound(replicates: Sequence[float] | Floats, kind: str) -> Interval:
    """The percentiles that leave out the same share on both sides, linearly interpolated."""
    return _bound_rows(np.array([replicates], dtype=np.float64), kind)[0]


def _bound_rows(replicates: Floats, kind: str) -> list[Interval]:
    ordered = np.sort(replicates, axis=1)
    ends = []
    for share in ((1 - LEVEL) / 2, (1 + LEVEL) / 2):
        place = share * (ordered.shape[1] - 1)
        below = math.floor(place)
        low, high = ordered[:, below], ordered[:, min(below + 1, ordered.shape[1] - 1)]
        ends.append((low + (place - below) * (high - low)).tolist())
    return [Interval(low, high, kind) for low, high in zip(*ends, strict=True)]
