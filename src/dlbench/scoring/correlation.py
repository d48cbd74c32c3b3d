"""Compare two benchmarks over the same models: effect sizes and rank correlations.

All of it treats models as independent draws, which they are not: read it as a description of these models, not as a
test. The formulas are in docs/scoring.md.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import correlation, fmean, variance

import numpy as np

from dlbench.scoring.intervals import Floats

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
