"""Kendall's tau-b, Spearman and their p-values match scipy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from dlbench.scoring.significance import kendall, kendall_columns, kendall_p, spearman

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=12)


@given(PAIRS)
def test_tau_and_spearman_match_scipy_with_ties(pairs):
    first, second = ([float(pair[side]) for pair in pairs] for side in (0, 1))
    for ours, theirs in ((kendall, kendalltau), (spearman, spearmanr)):
        found = ours(first, second)
        if len(set(first)) == 1 or len(set(second)) == 1:
            assert math.isnan(found)
        else:
            assert found == pytest.approx(theirs(first, second).statistic)


@settings(max_examples=30)
@given(st.permutations(range(6)))
def test_kendall_p_matches_scipy(order):
    # scipy doubles one tail, and counts the middle twice where tau is 0
    expected = min(1.0, kendalltau(range(6), order, method="exact").pvalue)
    assert kendall_p([0, 1, 2, 3, 4, 5], [float(place) for place in order]) == pytest.approx(expected)


def test_tau_matches_hand_computation():
    # of 6 pairs 5 alike, 1 contrary
    assert kendall([1, 2, 3, 4], [10, 30, 20, 40]) == pytest.approx(4 / 6)
    assert kendall([1, 2, 3], [3, 2, 1]) == -1


def test_rounding_differences_are_ties():
    assert math.isnan(kendall([0.1 + 0.2, 0.3], [1, 2]))


def test_p_is_nan_beyond_eight_models():
    assert math.isnan(kendall_p(list(range(9)), list(range(9))))
    assert math.isnan(kendall_p([1], [1]))


def test_columns_are_correlated_independently():
    found = kendall_columns([1, 2, 3], np.array([[1.0, 3, 2], [2, 2, 2], [3, 1, 2]]))
    assert found[:2].tolist() == [1, -1]
    assert math.isnan(found[2])
