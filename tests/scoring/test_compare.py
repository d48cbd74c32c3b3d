"""Comparisons use common instances, exclude harness errors and control false alarms."""

import math
from random import Random

import pytest

from dlbench.scoring import compare, tally
from tests.scoring.made import make_benchmark, verdicts


def tallies(benchmark, *samples):
    return tally(verdicts(benchmark, *samples), benchmark)


def test_pair_matches_hand_computation():
    benchmark = make_benchmark(8, 2)
    found = compare({"a": tallies(benchmark, "11111100"), "b": tallies(benchmark, "10000001")}, benchmark)
    (pair,) = found.pairs
    assert pair.difference == pytest.approx(4 / 8)
    assert [one.split(".")[1] for one in pair.only_a] == ["f2", "f4", "f1", "f3", "f5"]
    assert [one.split(".")[1] for one in pair.only_b] == ["f7"]
    assert pair.mcnemar == pytest.approx(14 / 64)  # 5 against 1
    assert pair.permutation == pytest.approx(14 / 64)
    assert pair.odds_ratio == 5
    assert pair.cohen_h == pytest.approx(2 * math.asin(math.sqrt(0.75)) - 2 * math.asin(math.sqrt(0.25)))
    assert pair.interval.low <= pair.difference <= pair.interval.high
    a, b = found.standings
    assert (a.pass_at_1, a.solved, a.solved_alone) == (0.75, 6, 5)
    assert (b.pass_at_1, b.solved, b.solved_alone) == (0.25, 2, 1)


def test_several_samples_are_compared_by_share_and_solved_by_majority():
    benchmark = make_benchmark(3, 1)
    runs = {"a": tallies(benchmark, "111", "110", "100"), "b": tallies(benchmark, "100", "000", "000")}
    (pair,) = compare(runs, benchmark).pairs
    assert pair.difference == pytest.approx((2 / 3 + 2 / 3 + 1 / 3) / 3)
    assert len(pair.only_a) == 2
    assert pair.permutation == pytest.approx(2 / 8)  # only all of one sign reach the sum


def test_only_common_instances_are_compared():
    benchmark = make_benchmark(4, 2)
    whole, part = tallies(benchmark, "1111"), tallies(benchmark, "0000")
    missing = next(iter(part))
    del part[missing]
    found = compare({"whole": whole, "part": part}, benchmark)
    assert found.not_common == (missing,)
    assert missing not in found.instances
    assert len(found.pairs[0].only_a) == 3


def test_harness_errors_are_excluded_and_listed():
    benchmark = make_benchmark(4, 2)
    found = compare({"a": tallies(benchmark, "1111"), "b": tallies(benchmark, "!111")}, benchmark)
    assert found.harness_errors == ("p0/m.f0",)
    assert found.pairs[0].difference == 0
    assert found.pairs[0].only_a == ()


def test_holm_covers_all_pairs_or_those_with_the_first():
    benchmark = make_benchmark(8, 1)
    runs = {name: tallies(benchmark, marks) for name, marks in {"a": "11111111", "b": "0" * 8, "c": "01111111"}.items()}
    found = compare(runs, benchmark)
    assert [(pair.a, pair.b) for pair in found.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found.pairs[0].mcnemar_holm == pytest.approx(3 * 2 / 256)
    assert [(pair.a, pair.b) for pair in compare(runs, benchmark, only_first=True).pairs] == [("a", "b"), ("a", "c")]


def test_unequal_numbers_of_samples_omit_mcnemar():
    """The same answers, once and twice: more than half of two is both."""
    benchmark = make_benchmark(6, 1)
    (pair,) = compare({"a": tallies(benchmark, "111100"), "b": tallies(benchmark, "111100", "001111")}, benchmark).pairs
    assert not pair.samples_alike
    assert math.isnan(pair.mcnemar)
    assert math.isnan(pair.mcnemar_holm)
    assert math.isnan(pair.odds_ratio)
    assert pair.permutation == 1


def test_clustered_test_is_corrected_for_the_number_of_pairs():
    benchmark = make_benchmark(12, 6)
    marks = {"a": "1" * 12, "b": "0" * 12, "c": "0" * 11 + "1"}
    found = compare({name: tallies(benchmark, one) for name, one in marks.items()}, benchmark)
    assert found.pairs[0].permutation_clustered == pytest.approx(2 / 64)
    assert found.pairs[0].permutation_clustered_holm == pytest.approx(3 * 2 / 64)
    few = make_benchmark(8, 2)
    (pair,) = compare({"a": tallies(few, "1" * 8), "b": tallies(few, "0" * 8)}, few).pairs
    assert math.isnan(pair.permutation_clustered_holm)


def test_runs_without_common_instances_give_nan():
    benchmark = make_benchmark(2, 2)
    everything = tallies(benchmark, "11")
    first, second = ({one: everything[one]} for one in everything)
    (pair,) = compare({"a": first, "b": second}, benchmark).pairs
    assert math.isnan(pair.difference)
    assert pair.permutation == 1.0


def test_run_compared_with_itself_has_no_interval():
    benchmark = make_benchmark(40, 8)
    same = tallies(benchmark, "10" * 20)
    (pair,) = compare({"a": same, "b": same}, benchmark).pairs
    assert (pair.difference, pair.permutation, pair.mcnemar, pair.permutation_clustered) == (0, 1, 1, 1)
    assert math.isnan(pair.interval.low)


def draw(random, chances, samples):
    return ["".join("1" if random.random() < chance else "0" for chance in chances) for _ in range(samples)]


@pytest.mark.parametrize("samples", [1, 3])
def test_false_alarms_are_rare_and_real_differences_found(samples):
    """100 simulations: about 95 see no difference where there is none, and a planted one is found."""
    benchmark = make_benchmark(70, 7)
    random = Random(samples)
    chances = [random.betavariate(0.5, 0.8) for _ in range(70)]
    better = [min(1.0, chance + 0.35) for chance in chances]
    alarms = {"permutation": 0, "mcnemar": 0, "clustered": 0, "interval": 0}
    found = 0
    for _ in range(100):
        runs = {name: tallies(benchmark, *draw(random, chances, samples)) for name in "ab"}
        runs["better"] = tallies(benchmark, *draw(random, better, samples))
        same, planted, _ = compare(runs, benchmark).pairs
        alarms["permutation"] += same.permutation < 0.05
        alarms["mcnemar"] += same.mcnemar < 0.05
        alarms["clustered"] += same.permutation_clustered < 0.05
        alarms["interval"] += not same.interval.low <= 0 <= same.interval.high
        found += planted.permutation_holm < 0.05 and planted.difference < 0
    # more than 11 of 100 with a chance of 0.05 each: in four of 1,000 tries
    assert all(count <= 11 for count in alarms.values()), alarms
    assert found >= 95
