"""Do two lists put the same models in the same order?

Kendall's tau-b: of all pairs of models, those that both lists order alike less those that they order contrarily, over
the root of the pairs that the first does not tie times those that the second does not. Unlike a correlation of scores
it does not care how far apart models are. NaN where a list ties all of them: it has no order.
"""

import math
from collections.abc import Sequence
from itertools import permutations

import numpy as np

from dlbench.scoring.resample import Floats

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
