"""Overlap of two runs is counted on common instances; kappa corrects for chance."""

import math

import pytest

from dlbench.scoring import tally
from dlbench.scoring.compare import find_overlaps
from tests.scoring.made import make_benchmark, verdicts


def overlap(a, b):
    benchmark = make_benchmark(len(a))
    return find_overlaps(
        {"a": tally(verdicts(benchmark, a), benchmark), "b": tally(verdicts(benchmark, b), benchmark)}
    )["a", "b"]


def test_outcomes_of_both_runs_are_counted():
    found = overlap("110010", "101010")
    assert (found.both, found.only_a, found.only_b, found.neither) == (2, 1, 1, 2)
    assert found.share == pytest.approx(4 / 6)


def test_kappa_matches_hand_computation():
    # A solves 3 of 6, B 3 of 6: by chance they go alike on 1/4 + 1/4; (4/6 - 1/2) / (1 - 1/2) = 1/3
    assert overlap("110010", "101010").kappa == pytest.approx(1 / 3)
    assert overlap("111000", "111000").kappa == pytest.approx(1)
    assert overlap("111000", "000111").kappa == pytest.approx(-1)


def test_kappa_is_nan_where_agreement_is_certain():
    assert math.isnan(overlap("000", "000").kappa)
    assert overlap("000", "000").share == 1


def test_instances_of_one_run_only_are_ignored():
    benchmark = make_benchmark(4)
    all_of_them, some = (tally(verdicts(benchmark, "1100")[:count], benchmark) for count in (4, 2))
    assert find_overlaps({"a": all_of_them, "b": some})["a", "b"].instances == 2
    assert math.isnan(find_overlaps({"a": all_of_them, "b": {}})["a", "b"].share)
