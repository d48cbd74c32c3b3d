"""How would a mean have come out, had other instances (or other projects) been drawn?

A bootstrap draws n of n things with replacement, a thousand times. One at a time that takes a second a row in plain
Python, too slow for a hundred runs; so all resamples are summed at once. For each thing, how often each resample drew
it stands in one long integer, a slot of 32 bits a resample; multiplying by the thing's value and adding up gives every
resample's sum, slot by slot, at the speed of the integers. Seeded: the same runs give the same intervals everywhere.
"""

import sys
from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from random import Random

RESAMPLES = 1000
SEED = 0
_UNIT = 100_000
"""Shares are counted in units of 1/100,000, so that sums are whole numbers."""
_SLOT = 4
_LARGEST = 2 ** (8 * _SLOT) - 1


def resample_means(values: Sequence[float]) -> list[float]:
    """The mean of as many values (from 0 to 1) drawn with replacement, once for each resample."""
    scale = _UNIT * len(values)
    return [total / scale for total in _resample_sums([round(value * _UNIT) for value in values])]


def resample_clustered(clusters: Sequence[Sequence[float]]) -> list[float]:
    """The mean over all values in as many clusters as there are, drawn with replacement and each taken whole."""
    totals = _resample_sums([round(sum(cluster) * _UNIT) for cluster in clusters])
    sizes = _resample_sizes(tuple(map(len, clusters)))
    return [total / size for total, size in zip(totals, sizes, strict=True)]


def _resample_sums(values: Sequence[int]) -> "array[int]":
    if len(values) * max(values) > _LARGEST:
        raise ValueError(f"{len(values)} values up to {max(values)} do not fit into a slot")
    drawn_with: defaultdict[int, int] = defaultdict(int)  # few values are distinct, and adding is quicker
    for value, drawn in zip(values, _draw(len(values)), strict=True):
        if value:
            drawn_with[value] += drawn
    total = sum(value * drawn for value, drawn in drawn_with.items())
    return array("I", total.to_bytes(_SLOT * RESAMPLES, sys.byteorder))


@lru_cache(maxsize=256)
def _resample_sizes(sizes: tuple[int, ...]) -> list[int]:
    """In units, as the sums are."""
    return [size * _UNIT for size in _resample_sums(sizes)]


@lru_cache(maxsize=256)
def _draw(things: int) -> tuple[int, ...]:
    """For each thing, how often each resample drew it. The same for every run that has as many things: paired."""
    random = Random(SEED)
    counts = [array("I", bytes(_SLOT * RESAMPLES)) for _ in range(things)]
    for resample in range(RESAMPLES):
        drawn = array("I", random.randbytes(4 * things))
        for thing, times in Counter([number * things >> 32 for number in drawn]).items():
            counts[thing][resample] = times
    return tuple(int.from_bytes(each.tobytes(), sys.byteorder) for each in counts)
