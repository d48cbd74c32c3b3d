"""Exact paired tests and effect sizes between two models.

Both models answer the same instances, so the variation between instances, by far the largest part of the noise,
cancels. The tests use neither a normal approximation nor random numbers.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dlbench.scoring.intervals import Floats


def mcnemar(only_a: int, only_b: int) -> float:
    """Exact McNemar, two-sided: each of the n = b + c instances that only one model solves is A's with probability 1/2.

    min(1, 2 Σ_{i ≤ min(b, c)} C(n, i) / 2ⁿ); 1 without a discordant instance.
    """
    discordant = only_a + only_b
    tail = term = 1
    for i in range(min(only_a, only_b)):
        term = term * (discordant - i) // (i + 1)
        tail += term
    return min(1.0, _divide(2 * tail, discordant))


def sign_flip(differences: Sequence[int] | NDArray[np.int64]) -> float:
    """Paired permutation test, two-sided: if A and B were swapped at random on each instance, how often would |Σ d| be
    at least as large as observed?

    All 2ⁿ swaps are counted, none is drawn: the coefficients of Π (1 + x^|dᵢ|) / 2 are the probabilities of each sum of
    the chosen |dᵢ|. All terms are positive, so small probabilities keep their digits; m factors of equal size s are a
    binomial distribution on every s-th coefficient.
    """
    units = np.asarray(differences, dtype=np.int64)
    observed = abs(int(units.sum()))
    if observed == 0:
        return 1.0
    shared = int(np.gcd.reduce(units))
    counts = np.bincount(np.abs(units) // shared)
    coefficients: Floats = np.ones(1)
    for size in np.flatnonzero(counts[1:]) + 1:
        coefficients = _multiply(coefficients, int(size), int(counts[size]))
    # Σ ±d = 2 (sum of the chosen) - Σ|d| reaches the observed value from this coefficient on
    first = (len(coefficients) - 1 + observed // shared) // 2
    return min(1.0, 2 * math.fsum(coefficients[first:].tolist()))


def poisson_binomial_test(successes: int, probabilities: Sequence[float]) -> float:
    """Two-sided: if each success had its own probability, how often would as many, or as few, successes occur?

    Twice the smaller tail of the Poisson binomial distribution. Against known probabilities the permutation test is not
    exact: where a probability is small, a success is a large difference and a failure a small one, never the reverse.
    """
    found: Floats = np.ones(1)
    for probability in probabilities:
        found = np.append(found * (1 - probability), 0.0) + np.append(0.0, found * probability)
    tails = math.fsum(found[: successes + 1].tolist()), math.fsum(found[successes:].tolist())
    return min(1.0, 2 * min(tails))


def _multiply(coefficients: Floats, size: int, times: int) -> Floats:
    """Multiply by ((1 + x^size) / 2)^times: factor by factor, or at once for each remainder of the index by size."""
    grown: Floats = np.zeros(len(coefficients) + size * times)
    if times <= size:
        grown[: len(coefficients)] = coefficients
        for _ in range(times):
            grown[size:] += grown[:-size].copy()
        grown *= 0.5**times
        return grown
    for remainder in range(min(size, len(coefficients))):
        grown[remainder::size] = np.convolve(coefficients[remainder::size], _binomial(times))
    return grown


@lru_cache(maxsize=1024)
def _binomial(times: int) -> Floats:
    """C(n, i) / 2ⁿ for every i."""
    return np.array([_divide(math.comb(times, taken), times) for taken in range(times + 1)])


def _divide(count: int, exponent: int) -> float:
    """count / 2^exponent, also where neither fits into a float."""
    extra = max(0, count.bit_length() - 64)
    return math.ldexp(count >> extra, extra - exponent)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the i-th smallest of m is multiplied by m - i + 1 and never falls below the one
    before it. It bounds the probability of any false alarm among all tests. NaN means no test: it stays NaN and does
    not count for the others."""
    adjusted = [math.nan] * len(p_values)
    tested = [index for index, p in enumerate(p_values) if not math.isnan(p)]
    highest = 0.0
    for place, index in enumerate(sorted(tested, key=lambda index: p_values[index])):
        highest = max(highest, min(1.0, (len(tested) - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def cohen_h(share_a: float, share_b: float) -> float:
    """2 asin √a - 2 asin √b: a difference of shares on a scale that is uniform near 0, ½ and 1.

    Cohen: 0.2 is small, 0.5 medium, 0.8 large.
    """
    return 2 * math.asin(math.sqrt(share_a)) - 2 * math.asin(math.sqrt(share_b))


def odds_ratio(only_a: int, only_b: int) -> float:
    """b / c, the odds that a discordant instance is A's; infinite when B solves none alone, NaN without any."""
    if only_b:
        return only_a / only_b
    return math.inf if only_a else math.nan
