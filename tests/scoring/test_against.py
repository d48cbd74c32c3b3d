"""Benchmark comparisons follow their stated formulas."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.scoring.significance import cohen_d, compare_benchmarks, fisher_ratio, rank, spearman, spearman_p

# the papers' Table 1: pass@1 of seven models on DL-Bench and on DS-1000
DL_BENCH = [35.1, 30.5, 30.2, 30.5, 26.7, 23.9, 22.8]
DS_1000 = [61.0, 61.7, 51.1, 61.9, 40.9, 39.3, 57.3]


def test_papers_table_is_reproduced():
    found = compare_benchmarks(DL_BENCH, DS_1000)
    assert found.models == 7
    assert (found.mean_here, found.mean_there) == pytest.approx((28.5, 53.3), abs=0.05)
    assert found.cohen_d == pytest.approx(3.28, abs=0.005)
    assert found.fisher_ratio == pytest.approx(5.38, abs=0.005)
    assert found.spearman == pytest.approx(0.67, abs=0.005)


def test_cohen_d_and_fisher_match_hand_computation():
    # means 2 and 6, variances 1 and 4: d = 4 / √2.5, Fisher 16 / 5
    assert cohen_d([4, 6, 8], [1, 2, 3]) == pytest.approx(4 / math.sqrt(2.5))
    assert fisher_ratio([1, 2, 3], [4, 6, 8]) == pytest.approx(3.2)
    # unequal lengths, variances 1 (of 3) and 2 (of 2): pooled (2·1 + 1·2) / 3
    assert cohen_d([5, 7], [1, 2, 3]) == pytest.approx(4 / math.sqrt(4 / 3))


def test_spearman_matches_hand_computation():
    # 1 - 6 Σd² / n(n² - 1) = 1 - 12/60
    assert spearman([1, 2, 3, 4], [10, 30, 20, 40]) == pytest.approx(0.8)
    assert rank([10, 20, 20, 30]) == [1, 2.5, 2.5, 4]
    # of 3! orders, the two straight ones correlate as strongly
    assert spearman_p([1, 2, 3], [4, 5, 6]) == pytest.approx(2 / 6)
    # n = 4, |rho| ≥ .8: rho of 1, .8 (three orders), and the same below 0
    assert spearman_p([1, 2, 3, 4], [10, 30, 20, 40]) == pytest.approx(8 / 24)


@pytest.mark.parametrize(("here", "there"), [([], []), ([1.0], [2.0]), ([1.0, 1.0], [2.0, 2.0])])
def test_undefined_figures_are_nan(here, there):
    found = compare_benchmarks(here, there)
    assert all(map(math.isnan, (found.cohen_d, found.fisher_ratio, found.spearman, found.spearman_p)))


SCORES = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=2, max_size=6)


@given(SCORES)
def test_fisher_is_half_of_d_squared_and_spearman_is_scale_free(scores):
    here, there = ([float(pair[side]) for pair in scores] for side in (0, 1))
    found = compare_benchmarks(here, there)
    if not math.isnan(found.cohen_d):
        assert found.fisher_ratio == pytest.approx(found.cohen_d**2 / 2)
    if not math.isnan(found.spearman):
        assert -1 - 1e-9 <= found.spearman <= 1 + 1e-9
        assert spearman([value**3 for value in here], there) == pytest.approx(found.spearman)
        assert 0 < found.spearman_p <= 1
