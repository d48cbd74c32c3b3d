"""Do two models differ, or did one of them get lucky?

Both were asked the same instances, so the tests are paired: only instances that went differently say anything, and the
differences between instances, by far the largest part of the noise, drop out. Both tests are exact, without a normal
approximation and without random numbers. Many pairs tested at 5 % each give false alarms: Holm's correction bounds it.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dlbench.scoring.intervals import Floats


def mcnemar(only_a: int, only_b: int) -> float:
    """Exact McNemar, two-sided: of n = b + c instances that one of two solves, each is A's with chance 1/2.

    min(1, 2 Σ_{i ≤ min(b, c)} C(n, i) / 2ⁿ). Without a discordant instance there is nothing to tell apart: 1.
    """
    discordant = only_a + only_b
    tail = term = 1
    for i in range(min(only_a, only_b)):
        term = term * (discordant - i) // (i + 1)
        tail += term
    return min(1.0, _divide(2 * tail, discordant))


def sign_flip(differences: Sequence[int] | NDArray[np.int64]) -> float:
    """Paired permutation test, two-sided: were A and B swapped on each instance at random, how often would |Σ d| be as
    large as it is?

    All 2ⁿ swaps are counted, none is drawn: the coefficients of Π (1 + x^|dᵢ|) / 2 are the chances of each sum of those
    taken. Everything added is positive, so that small chances keep their digits; m factors of one size s are a binomial
    distribution on every s-th place.
    """
    units = np.asarray(differences, dtype=np.int64)
    observed = abs(int(units.sum()))
    if observed == 0:
        return 1.0
    shared = int(np.gcd.reduce(units))
    counts = np.bincount(np.abs(units) // shared)
    chances: Floats = np.ones(1)
    for size in np.flatnonzero(counts[1:]) + 1:
        chances = _multiply(chances, int(size), int(counts[size]))
    # Σ ±d = 2 (sum of those taken) - Σ|d|, which is as large as observed from here on
    first = (len(chances) - 1 + observed // shared) // 2
    return min(1.0, 2 * math.fsum(chances[first:].tolist()))


def poisson_binomial_test(successes: int, chances: Sequence[float]) -> float:
    """Two-sided: were each success drawn with its own chance, how often would as many, or as few, come out?

    Twice the smaller tail of the Poisson binomial distribution. Against known chances the permutation test is not
    exact: where a chance is small, a success is a large difference and a failure a small one, never the other way
    round.
    """
    found: Floats = np.ones(1)
    for chance in chances:
        found = np.append(found * (1 - chance), 0.0) + np.append(0.0, found * chance)
    tails = math.fsum(found[: successes + 1].tolist()), math.fsum(found[successes:].tolist())
    return min(1.0, 2 * min(tails))


def _multiply(chances: Floats, size: int, times: int) -> Floats:
    """By ((1 + x^size) / 2)^times: as often as need be, or at once for each remainder of the place by size."""
    grown: Floats = np.zeros(len(chances) + size * times)
    if times <= size:
        grown[: len(chances)] = chances
        for _ in range(times):
            grown[size:] += grown[:-size].copy()
        grown *= 0.5**times
        return grown
    for remainder in range(min(size, len(chances))):
        grown[remainder::size] = np.convolve(chances[remainder::size], _binomial(times))
    return grown


@lru_cache(maxsize=1024)
def _binomial(times: int) -> Floats:
    """C(n, i) / 2ⁿ for every i."""
    return np.array([_divide(math.comb(times, taken), times) for taken in range(times + 1)])


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the i-th smallest of m is multiplied by m - i + 1, and never falls below the one
    before it. The chance of one false alarm or more among all of them then stays below the level. Where there was no
    test (NaN) there is no correction, and none counts for the others."""
    adjusted = [math.nan] * len(p_values)
    tested = [index for index, p in enumerate(p_values) if not math.isnan(p)]
    highest = 0.0
    for place, index in enumerate(sorted(tested, key=lambda index: p_values[index])):
        highest = max(highest, min(1.0, (len(tested) - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def cohen_h(share_a: float, share_b: float) -> float:
    """2 asin √a - 2 asin √b: a difference of shares, alike near 0, ½ and 1. Cohen: 0.2 small, 0.5 medium, 0.8 large."""
    return 2 * math.asin(math.sqrt(share_a)) - 2 * math.asin(math.sqrt(share_b))


def odds_ratio(only_a: int, only_b: int) -> float:
    """b / c, the odds that a discordant instance is A's; infinite when B solves none alone, NaN without any."""
    if only_b:
        return only_a / only_b
    return math.inf if only_a else math.nan


def _divide(count: int, exponent: int) -> float:
    """count / 2^exponent, also where neither fits into a float."""
    extra = max(0, count.bit_length() - 64)
    return math.ldexp(count >> extra, extra - exponent)
