"""Do two lists put the same models in the same order?

Kendall's tau-b: of all pairs of models, those that both lists order alike less those that they order contrarily, over
the root of the pairs that the first does not tie times those that the second does not. Unlike a correlation of scores
it does not care how far apart models are. NaN where a list ties all of them: it has no order.

How does this benchmark stand to another one, over the same models?

The papers' three figures, and Kendall's tau. They do not state their formulas, and their own table gives other values
(3.28, 5.38, 0.67) than their text (3.13, 4.9, 0.50); so ours are stated here. Each is computed from two lists, one
score a model:
- Cohen's d: (mean b - mean a) / s, with s² = ((n-1) s_a² + (m-1) s_b²) / (n + m - 2) the pooled variance;
- Fisher's ratio: (mean a - mean b)² / (s_a² + s_b²), which is d²/2 when both lists are equally long;
- Spearman: Pearson's correlation of ranks, ties sharing the mean of theirs. p counts all orders of the models.
- Kendall: tau-b, as `orders` has it; p counts all orders as well.
Variances are divided by n - 1. All of it treats models as independent draws, which they are not: read it as a
description of these models, not as a test.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import fmean, variance

import numpy as np

from dlbench.scoring.intervals import Floats

MOST_ORDERED = 8
"""So many models have 40,320 orders; more are not counted out."""
_TIE = 1e-9
"""Scores that are closer are equal: a mean of the same shares, added up in another order."""


def sign_pairs(columns: Floats) -> Floats:
    """For each pair of rows (the first with each after it, and so on) 1, 0 or -1, in every column."""
    firsts, seconds = np.triu_indices(len(columns), 1)
    differences = columns[firsts] - columns[seconds]
    signs: Floats = np.where(np.abs(differences) < _TIE, 0.0, np.sign(differences))
    return signs


def kendall(first: Sequence[float], second: Sequence[float]) -> float:
    return float(kendall_columns(first, np.array([second], dtype=np.float64).T)[0])


def kendall_columns(first: Sequence[float], columns: Floats) -> Floats:
    """Of one list with each of several, which are columns: a row is a model."""
    fixed = sign_pairs(np.array([first], dtype=np.float64).T)
    return correlate_signs(fixed, sign_pairs(columns))


def correlate_signs(fixed: Floats, signs: Floats) -> Floats:
    """tau-b of signs as `sign_pairs` gives them; `fixed` has one column."""
    untied = np.sqrt(np.abs(fixed).sum() * np.abs(signs).sum(axis=0))
    tau: Floats = np.where(untied > 0, (fixed * signs).sum(axis=0) / np.maximum(untied, 1), np.nan)
    return tau


def kendall_p(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided, exact: the share of all orders of the models whose |tau| is as large; NaN beyond eight models."""
    observed = kendall(first, second)
    if math.isnan(observed) or len(first) > MOST_ORDERED:
        return math.nan
    orders = np.array(list(permutations(second)), dtype=np.float64).T
    return float(np.mean(np.abs(kendall_columns(first, orders)) >= abs(observed) - _TIE))


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
    """Two scores a model, in the same order and on the same scale."""
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
    """(mean first - mean second) / pooled standard deviation; NaN where that is 0 or a list has fewer than two."""
    n, m = len(first), len(second)
    if n < 2 or m < 2:
        return math.nan
    pooled = ((n - 1) * variance(first) + (m - 1) * variance(second)) / (n + m - 2)
    return (fmean(first) - fmean(second)) / math.sqrt(pooled) if pooled else math.nan


def fisher_ratio(first: Sequence[float], second: Sequence[float]) -> float:
    """(mean first - mean second)² / (variance first + variance second); NaN where that is 0."""
    if len(first) < 2 or len(second) < 2:
        return math.nan
    within = variance(first) + variance(second)
    return (fmean(first) - fmean(second)) ** 2 / within if within else math.nan


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """NaN for fewer than two models, and where one list says the same of all of them."""
    return _correlate(rank(first), rank(second))


def spearman_p(first: Sequence[float], second: Sequence[float]) -> float:
    """The share of all orders of the models whose |correlation| is as large, the order found among them."""
    observed = spearman(first, second)
    if math.isnan(observed) or len(first) > MOST_ORDERED:
        return math.nan
    fixed, moved = rank(first), rank(second)
    middle = fmean(fixed)
    # centred ranks: the correlation of an order is its product with them, over a constant
    centred = [each - middle for each in fixed]
    shift = abs(sum(map(_times, centred, moved))) - 1e-9
    orders = [abs(sum(map(_times, centred, order))) >= shift for order in permutations(moved)]
    return sum(orders) / len(orders)


def rank(values: Sequence[float]) -> list[float]:
    """1 for the smallest; equal values share the mean of their ranks."""
    ordered = sorted(values)
    first = {value: place for place, value in reversed(list(enumerate(ordered, 1)))}
    last = {value: place for place, value in enumerate(ordered, 1)}
    return [(first[value] + last[value]) / 2 for value in values]


def _correlate(first: Sequence[float], second: Sequence[float]) -> float:
    if len(first) < 2 or len(set(first)) == 1 or len(set(second)) == 1:
        return math.nan
    here, there = fmean(first), fmean(second)
    product = math.fsum((a - here) * (b - there) for a, b in zip(first, second, strict=True))
    squares = math.fsum((a - here) ** 2 for a in first) * math.fsum((b - there) ** 2 for b in second)
    return product / math.sqrt(squares)


def _times(a: float, b: float) -> float:
    return a * b
