"""Exact paired tests and effect sizes between two models, and rank correlations between two benchmarks.

Both models answer the same instances, so the variation between instances, by far the largest part of the noise,
cancels. The tests use neither a normal approximation nor random numbers. A comparison of benchmarks treats models as
independent draws, which they are not: it describes these models and tests nothing. Formulas: docs/scoring.md.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from statistics import correlation, fmean, variance

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
    before it. It bounds the probability of any false alarm. NaN means no test: it stays NaN and is not counted in m."""
    adjusted = [math.nan] * len(p_values)
    tested = [index for index, p in enumerate(p_values) if not math.isnan(p)]
    highest = 0.0
    for place, index in enumerate(sorted(tested, key=lambda index: p_values[index])):
        highest = max(highest, min(1.0, (len(tested) - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def cohen_h(share_a: float, share_b: float) -> float:
    """2 asin √a - 2 asin √b, a difference of shares: by Cohen 0.2 is small, 0.5 medium and 0.8 large."""
    return 2 * math.asin(math.sqrt(share_a)) - 2 * math.asin(math.sqrt(share_b))


def odds_ratio(only_a: int, only_b: int) -> float:
    """b / c, the odds that a discordant instance is A's; infinite when B solves none alone, NaN without any."""
    return only_a / only_b if only_b else math.inf if only_a else math.nan


MOST_ORDERED = 8
"""Eight models have 40,320 orders; p is NaN for more."""
_TIE = 1e-9
"""Scores closer than this are equal: a sum of the same shares in another order differs by rounding."""


@dataclass(frozen=True)
class BenchmarkComparison:
    models: int
    mean_here: float
    mean_there: float
    cohen_d: float
    """Positive when scores are higher there: this benchmark is the harder one."""
    fisher_ratio: float
    spearman: float
    spearman_p: float
    """Two-sided, exact; NaN beyond eight models."""
    kendall: float
    kendall_p: float


def compare_benchmarks(here: Sequence[float], there: Sequence[float]) -> BenchmarkComparison:
    """Two scores per model, in the same order and on the same scale."""
    return BenchmarkComparison(
        models=len(here),
        mean_here=fmean(here) if here else math.nan,
        mean_there=fmean(there) if there else math.nan,
        cohen_d=cohen_d(there, here),
        fisher_ratio=fisher_ratio(here, there),
        spearman=spearman(here, there),
        spearman_p=spearman_p(here, there),
        kendall=kendall(here, there),
        kendall_p=kendall_p(here, there),
    )


def cohen_d(first: Sequence[float], second: Sequence[float]) -> float:
    """NaN where the pooled deviation is 0 or a list has fewer than two scores."""
    n, m = len(first), len(second)
    if n < 2 or m < 2:
        return math.nan
    pooled = ((n - 1) * variance(first) + (m - 1) * variance(second)) / (n + m - 2)
    return (fmean(first) - fmean(second)) / math.sqrt(pooled) if pooled else math.nan


def fisher_ratio(first: Sequence[float], second: Sequence[float]) -> float:
    """NaN where both variances are 0 or a list has fewer than two scores."""
    if len(first) < 2 or len(second) < 2:
        return math.nan
    within = variance(first) + variance(second)
    return (fmean(first) - fmean(second)) ** 2 / within if within else math.nan


def rank(values: Sequence[float]) -> list[float]:
    """1 for the smallest; equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: list[float] = (np.cumsum(counts) - (counts - 1) / 2)[inverse].tolist()
    return ranks


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """NaN for fewer than two models, and where one list ties all of them."""
    if len(set(first)) < 2 or len(set(second)) < 2:
        return math.nan
    return correlation(rank(first), rank(second))


def spearman_p(first: Sequence[float], second: Sequence[float]) -> float:
    if math.isnan(spearman(first, second)):
        return math.nan
    # the correlation of an order is its product with the centred ranks, over a constant
    return _exact_p(rank(first), rank(second), lambda fixed, orders: (np.array(fixed) - fmean(fixed)) @ orders)


def kendall(first: Sequence[float], second: Sequence[float]) -> float:
    """NaN where a list ties all models: it has no order."""
    return float(kendall_columns(first, np.array([second], dtype=np.float64).T)[0])


def kendall_p(first: Sequence[float], second: Sequence[float]) -> float:
    return _exact_p(first, second, kendall_columns)


def kendall_columns(first: Sequence[float], columns: Floats) -> Floats:
    """tau-b of one list with each column; a row is a model."""
    return correlate_signs(sign_pairs(np.array([first], dtype=np.float64).T), sign_pairs(columns))


def sign_pairs(columns: Floats) -> Floats:
    """For each pair of rows (the first with each after it, and so on) 1, 0 or -1, in every column."""
    firsts, seconds = np.triu_indices(len(columns), 1)
    differences = columns[firsts] - columns[seconds]
    signs: Floats = np.where(np.abs(differences) < _TIE, 0.0, np.sign(differences))
    return signs


def correlate_signs(fixed: Floats, signs: Floats) -> Floats:
    """tau-b of signs as `sign_pairs` gives them; `fixed` has one column."""
    untied = np.sqrt(np.abs(fixed).sum() * np.abs(signs).sum(axis=0))
    tau: Floats = np.where(untied > 0, (fixed * signs).sum(axis=0) / np.maximum(untied, 1), np.nan)
    return tau


def _exact_p(
    first: Sequence[float], second: Sequence[float], correlate: Callable[[Sequence[float], Floats], Floats]
) -> float:
    """Two-sided: the share of all orders of the models whose correlation is at least as large as the observed one."""
    observed = abs(correlate(first, np.array([second], dtype=np.float64).T)[0])
    if math.isnan(observed) or len(first) > MOST_ORDERED:
        return math.nan
    orders = np.array(list(permutations(second)), dtype=np.float64).T
    return float(np.mean(np.abs(correlate(first, orders)) >= observed - _TIE))
