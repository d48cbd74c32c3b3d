"""Intervals have the right coverage and never claim certainty."""

import math
from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.scoring.intervals import (
    RESAMPLES,
    Clusters,
    bound,
    find_clustered,
    find_interval,
    resample_columns,
    wilson,
)

SHARES = st.floats(0, 1, allow_nan=False)


@pytest.mark.parametrize(
    ("share", "size", "low", "high"),
    [
        # z = 1.959964, z² = 3.841459. 5 of 10: centre 1/2, reach z √(.025 + z²/400) / (1 + z²/10) = .263407
        (0.5, 10, 0.236593, 0.763407),
        # none of 10: from 0 to z² / (n + z²) = 3.841459 / 13.841459
        (0.0, 10, 0.0, 0.277533),
        (1.0, 10, 0.722467, 1.0),
        # 1 of 4: (.25 + z²/8 ± z √(.25·.75/4 + z²/64)) / (1 + z²/4) = (.730182 ± .640578) / 1.960365
        (0.25, 4, 0.045587, 0.699358),
    ],
)
def test_wilson_matches_hand_computation(share, size, low, high):
    found = wilson(share, size)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-5)


@given(SHARES, st.integers(1, 500))
def test_wilson_contains_the_share_and_stays_between_0_and_1(share, size):
    found = wilson(share, size)
    assert 0 <= found.low <= share <= found.high <= 1


def test_percentiles_match_hand_computation():
    # of 0 … 100, 2.5 % lies at place 2.5, halfway between neighbours
    found = bound([float(number) for number in reversed(range(101))], "bootstrap")
    assert (found.low, found.high) == pytest.approx((2.5, 97.5))


def test_bootstrap_of_binary_values_matches_the_binomial_distribution():
    # Binomial(100, 0.3): P(X ≤ 20) = .0165, P(X ≤ 21) = .0288; P(X ≤ 38) = .966, P(X ≤ 39) = .979
    found = find_interval([1.0] * 30 + [0.0] * 70)
    assert found.kind == "bootstrap"
    assert found.low == pytest.approx(0.21, abs=0.011)
    assert found.high == pytest.approx(0.39, abs=0.011)


def test_resampled_means_have_the_theoretical_variance():
    values = [0.0, 0.2, 0.5, 1.0] * 25
    means = resample_columns([values])[0]
    middle = sum(values) / len(values)
    variance = sum((value - middle) ** 2 for value in values) / len(values) / len(values)
    assert len(means) == RESAMPLES
    assert sum(means) / RESAMPLES == pytest.approx(middle, abs=4 * math.sqrt(variance / RESAMPLES))
    assert sum((mean - middle) ** 2 for mean in means) / RESAMPLES == pytest.approx(variance, rel=0.2)


def test_clusters_are_drawn_as_a_whole():
    # two draws of {two passes, one failure}: 1 and 0 with chance ¼ each, both clusters (2 of 3) with ½
    found = Counter(round(mean, 6) for mean in Clusters("aab").resample_columns([[1.0, 1.0, 0.0]])[0])
    assert set(found) == {0.0, 0.666667, 1.0}
    assert found[0.666667] / RESAMPLES == pytest.approx(0.5, abs=0.06)
    assert found[1.0] / RESAMPLES == pytest.approx(0.25, abs=0.06)


def test_correlated_projects_widen_the_interval():
    values = [float(number // 10 % 2) for number in range(100)]
    alone = find_interval(values)
    [together] = find_clustered(np.array([values]), Clusters(str(number // 10) for number in range(100)))
    assert together.high - together.low > 2 * (alone.high - alone.low)


@pytest.mark.parametrize("values", [[0.0] * 10, [1.0] * 200, [0.0, 1.0, 1.0]])
def test_small_and_uniform_groups_get_wilson(values):
    found = find_interval(values)
    assert found.kind == "wilson"
    assert found.high - found.low > 0.01


def test_no_values_and_too_few_projects_give_nan():
    assert math.isnan(find_interval([]).low)
    assert math.isnan(find_clustered(np.array([[0.0, 1.0] * 30]), Clusters("aab" * 20))[0].low)


def test_intervals_are_deterministic():
    values = [Random(3).random() for _ in range(60)]
    assert find_interval(values) == find_interval(list(values))


def test_coverage_is_about_95_percent():
    random = Random(7)
    held = 0
    for _ in range(200):
        found = find_interval([float(random.random() < 0.4) for _ in range(80)])
        held += found.low <= 0.4 <= found.high
    assert 180 <= held <= 199


@settings(max_examples=30)
@given(st.lists(SHARES, min_size=1, max_size=40))
def test_bootstrap_interval_stays_within_the_values(values):
    found = find_interval(values)
    if found.kind == "bootstrap":
        assert min(values) - 1e-5 <= found.low <= found.high <= max(values) + 1e-5
    else:
        assert 0 <= found.low <= found.high <= 1
