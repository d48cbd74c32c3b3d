"""Paired tests are exact: they match hand computations and full enumeration."""

import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.scoring.significance import cohen_h, holm, mcnemar, odds_ratio, poisson_binomial_test, sign_flip


@pytest.mark.parametrize(
    ("only_a", "only_b", "p"),
    [
        (1, 5, 14 / 64),  # 2 (C(6,0) + C(6,1)) / 2⁶
        (0, 5, 2 / 32),
        (5, 0, 2 / 32),
        (2, 8, 112 / 1024),  # 2 (1 + 10 + 45) / 2¹⁰
        (3, 3, 1.0),
        (0, 0, 1.0),
    ],
)
def test_mcnemar_matches_hand_computation(only_a, only_b, p):
    assert mcnemar(only_a, only_b) == pytest.approx(p)


def test_mcnemar_does_not_overflow():
    assert mcnemar(3000, 3000) == 1.0
    assert 0 < mcnemar(2400, 2600) < 0.01
    assert mcnemar(0, 3000) == 0.0


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([1, 1, 1, -1], 10 / 16),  # |Σ| ≥ 2 for sums of ±4 (2 ways) and ±2 (8 ways) of 16
        ([5, 5, 10], 2 / 8),  # only all of one sign reach 20
        ([5, -5, 10], 6 / 8),  # |Σ| ≥ 10: all but ±(5 + 5 - 10)
        ([3], 1.0),
        ([0, 0], 1.0),
        ([], 1.0),
        ([1, -1], 1.0),
    ],
)
def test_sign_flip_matches_hand_computation(differences, p):
    assert sign_flip(differences) == p


@settings(max_examples=50)
@given(st.lists(st.fractions(0, 1, max_denominator=8), max_size=7), st.data())
def test_poisson_binomial_test_matches_enumeration(chances, data):
    seen = data.draw(st.integers(0, len(chances)))
    ways = {
        each: math.prod(chance if success else 1 - chance for chance, success in zip(chances, each, strict=True))
        for each in product((0, 1), repeat=len(chances))
    }
    few = sum(way for each, way in ways.items() if sum(each) <= seen)
    many = sum(way for each, way in ways.items() if sum(each) >= seen)
    assert poisson_binomial_test(seen, [float(one) for one in chances]) == pytest.approx(
        min(1, 2 * float(min(few, many)))
    )


@given(st.lists(st.integers(-6, 6), max_size=9))
def test_sign_flip_matches_enumeration(units):
    flipped = [abs(sum(map(int.__mul__, units, signs))) for signs in product((1, -1), repeat=len(units))]
    assert sign_flip(units) == sum(each >= abs(sum(units)) for each in flipped) / len(flipped)


@settings(max_examples=50)
@given(st.lists(st.integers(-10, 10), max_size=120))
def test_sign_flip_of_many_matches_stepwise_distribution(units):
    chances = {0: 1.0}
    for unit in units:
        added = dict.fromkeys({total + sign * unit for total in chances for sign in (1, -1)}, 0.0)
        for total, chance in chances.items():
            added[total + unit] += chance / 2
            added[total - unit] += chance / 2
        chances = added
    p = math.fsum(chance for total, chance in chances.items() if abs(total) >= abs(sum(units)))
    assert sign_flip(units) == pytest.approx(min(1.0, p), abs=1e-12)


@given(st.integers(0, 200), st.integers(0, 200), st.integers(0, 20))
def test_sign_flip_of_single_samples_equals_mcnemar(only_a, only_b, alike):
    p = sign_flip([1] * only_a + [-1] * only_b + [0] * alike)
    assert p == pytest.approx(mcnemar(only_a, only_b), abs=1e-13)


@given(st.lists(st.integers(-100, 100), max_size=30))
def test_sign_flip_is_symmetric(differences):
    assert sign_flip(differences) == sign_flip([-difference for difference in differences])


def test_holm_matches_hand_computation():
    # .01·3 = .03; .03·2 = .06; .04·1 = .04, which may not fall below .06
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
    without = holm([0.02, math.nan, 0.01])  # where there was no test there is none to correct for
    assert without[::2] == pytest.approx([0.02, 0.02])
    assert math.isnan(without[1])


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_never_lowers_a_p_value_and_keeps_the_order(p_values):
    adjusted = holm(p_values)
    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    assert sorted(range(len(adjusted)), key=lambda i: (adjusted[i], p_values[i])) == sorted(
        range(len(p_values)), key=lambda i: (p_values[i],)
    )


def test_effect_sizes_match_hand_computation():
    assert cohen_h(1, 0) == pytest.approx(math.pi)
    assert cohen_h(0.75, 0.25) == pytest.approx(math.pi / 3)  # asin √¾ = π/3, asin ½ = π/6
    assert cohen_h(0.3, 0.3) == 0
    assert odds_ratio(6, 4) == 1.5
    assert odds_ratio(6, 0) == math.inf
    assert math.isnan(odds_ratio(0, 0))
