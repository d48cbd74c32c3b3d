"""How would a mean have come out, had other instances (or other projects) been drawn?

A bootstrap draws n of n things with replacement, a thousand times. One at a time that takes a second a row in plain
Python, too slow for a hundred runs; so how often each resample drew each thing stands in one matrix, and a product with
it gives every resample's sum at once, of as many columns of values as there are. Values are counted in whole units,
whose sums a float holds exactly: the result does not depend on the order in which a processor adds. Seeded: the same
runs give the same intervals everywhere.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from random import Random

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
SEED = 0
_UNIT = 100_000
"""Shares are counted in units of 1/100,000."""

_ROWS, _COLUMNS = 4, 62
"""Of one product: 248,000 multiplications with a thousand resamples. A larger one is shared out between threads, which
on a busy machine wait for one another at full speed: six times slower, measured."""

Floats = NDArray[np.float64]


def resample_means(values: Sequence[float]) -> Floats:
    """The mean of as many values (from 0 to 1) drawn with replacement, once for each resample."""
    means: Floats = resample_columns([values])[0]
    return means


def resample_columns(columns: Sequence[Sequence[float]] | Floats) -> Floats:
    """The same of several lists of values about the same things: a row for each, all with the same draws."""
    units = np.rint(np.asarray(columns, dtype=np.float64) * _UNIT)
    means: Floats = _resample_sums(units) / (_UNIT * units.shape[1])
    return means


class Clusters:
    """Which things belong together (instances of one project), and are drawn together."""

    def __init__(self, names: Iterable[str]) -> None:
        known: dict[str, int] = {}
        self._numbers = np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)
        self.count = len(known)
        self._sizes = np.bincount(self._numbers, minlength=self.count)

    def add_up(self, values: Sequence[float] | Floats | NDArray[np.int64]) -> Floats:
        """The sum of each cluster's values."""
        weights = np.asarray(values, dtype=np.float64)
        return np.bincount(self._numbers, weights=weights, minlength=self.count).astype(np.float64)

    def resample(self, values: Sequence[float] | Floats) -> Floats:
        """The mean over all values in as many clusters as there are, drawn with replacement and each taken whole."""
        means: Floats = self.resample_columns(np.array([values], dtype=np.float64))[0]
        return means

    def resample_columns(self, columns: Floats) -> Floats:
        """The same of several lists of values about the same things: a row for each."""
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
def _draw(things: int) -> Floats:
    """For each thing, how often each resample drew it. The same for every run that has as many things: paired."""
    places = draw_places(things) + things * np.arange(RESAMPLES)[:, None]
    counts = np.bincount(places.ravel(), minlength=things * RESAMPLES).reshape(RESAMPLES, things)
    return np.ascontiguousarray(counts.T, dtype=np.float64)


@lru_cache(maxsize=64)
def draw_places(things: int, seed: int = SEED) -> NDArray[np.int64]:
    """A row a resample: which things it drew, for figures that are no means."""
    numbers = np.frombuffer(Random(seed).randbytes(4 * things * RESAMPLES), dtype="<u4").astype(np.uint64)
    return (numbers * np.uint64(things) >> np.uint64(32)).astype(np.int64).reshape(RESAMPLES, things)
