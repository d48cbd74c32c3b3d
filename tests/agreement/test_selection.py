"""Selection matches the formulas on manual examples, and finds right solutions where theory predicts it."""

import math
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.agreement.selection import (
    RULES,
    are_close,
    choose,
    find_equivalent,
    find_sets,
    make_vote_matrix,
    score_b4,
    score_codet,
    score_mbr,
)
from dlbench.errors import DLBenchError
from tests.agreement.populations import PopulationSpec, make_population

# two solutions agree on tests 0 and 1, one passes 0, 2 and 3, one passes nothing
HAND = [[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 1], [0, 0, 0, 0]]


def test_solutions_with_equal_results_form_a_set_and_those_without_passes_none():
    sets = find_sets(make_vote_matrix(HAND))
    assert [(one.members, one.tests) for one in sets] == [((0, 1), (0, 1)), ((2,), (0, 2, 3))]


def test_codet_score_matches_manual_calculation():
    votes = make_vote_matrix(HAND)
    pair, single = find_sets(votes)
    assert score_codet(votes, pair) == pytest.approx(2 * math.sqrt(2))
    assert score_codet(votes, single) == 3.0
    assert choose(votes).solution == 2


def test_multiplicity_counts():
    """Solution 0 was written three times and test 1 twice: (1 + 2) x √4 = 6 beats 3 x √1."""
    votes = make_vote_matrix(HAND, solution_counts=[3, 1, 1, 1], test_counts=[1, 2, 1, 1])
    pair, single = find_sets(votes)
    assert (pair.solution_count, pair.test_count) == (4, 3)
    assert score_codet(votes, pair) == pytest.approx(6.0)
    assert score_codet(votes, single) == pytest.approx(3.0)
    assert choose(votes).solution in {0, 1}


def beta(a: int, b: int) -> Fraction:
    return Fraction(math.factorial(a - 1) * math.factorial(b - 1), math.factorial(a + b - 1))


def test_b4_score_matches_manual_calculation():
    """The pair: 2 of 4 solutions, 2 of 4 tests; the others pass 1 of 4 runs of its tests, 2 of 4 runs of the rest."""
    votes = make_vote_matrix(HAND)
    pair, single = find_sets(votes)
    expected = beta(2 + 1, 2 + 1) * beta(2 + 1, 2 + 1) * beta(1 + 1, 3 + 1) * beta(2 + 1, 2 + 2)
    assert score_b4(votes, pair, beta_0=2, alpha_xy=1) == pytest.approx(math.log(expected))
    # the single one: 1 of 4 solutions, 3 of 4 tests; the others pass test 0 in 2 of 9 runs, test 1 in 2 of 3
    expected = beta(1 + 1, 3 + 1) * beta(3 + 1, 1 + 1) * beta(2 + 1, 7 + 1) * beta(2 + 1, 1 + 2)
    assert score_b4(votes, single, beta_0=2, alpha_xy=1) == pytest.approx(math.log(expected))


def test_b4_with_counts_equals_b4_of_repeated_rows():
    counted = make_vote_matrix(HAND, solution_counts=[2, 1, 3, 1], test_counts=[1, 2, 1, 1])
    rows = [[*row[:2], row[1], *row[2:]] for row in HAND]
    written_out = make_vote_matrix([rows[0], rows[0], rows[1], rows[2], rows[2], rows[2], rows[3]])
    for one, other in zip(find_sets(counted), find_sets(written_out), strict=True):
        assert score_b4(counted, one) == pytest.approx(score_b4(written_out, other))


def test_mbr_selects_the_most_common_behaviour():
    votes = make_vote_matrix([[0, 0], [0, 0], [1, 1]], solution_counts=[2, 1, 2])
    assert score_mbr(votes, find_equivalent(votes)).tolist() == [3, 3, 2]
    assert choose(votes, "mbr-exec").solution in {0, 1}


def test_outputs_that_differ_by_rounding_are_equal():
    votes = make_vote_matrix([[1], [1], [1]])
    outputs = [{0: [{"shape": [2], "values": [value, 1.0]}]} for value in (0.3, 0.1 + 0.2, 0.31)]
    assert score_mbr(votes, find_equivalent(votes, outputs)).tolist() == [2, 2, 1]
    assert score_mbr(votes, find_equivalent(votes)).tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("one", "other", "close"),
    [
        (1.0, 1.0 + 1e-9, True),
        (1.0, 1.001, False),
        (float("nan"), float("nan"), True),
        (float("inf"), float("inf"), True),
        (float("inf"), 1e300, False),
        (1, 1.0, True),
        (True, 1, False),
        ("a", "a", True),
        ([1, 2], [1, 2, 3], False),
        ({"shape": [1, 2], "values": [1, 2]}, {"shape": [2, 1], "values": [1, 2]}, False),
        (None, None, True),
        (None, 0, False),
    ],
)
def test_close_means_equal_structure_and_numbers_within_tolerance(one, other, close):
    assert are_close(one, other) is close
    assert are_close(other, one) is close


def test_falls_back_to_a_random_solution_if_nothing_passes():
    votes = make_vote_matrix([[0, 0]] * 5)
    choices = [choose(votes, seed=seed) for seed in range(40)]
    assert all(one.fell_back for one in choices)
    assert {one.solution for one in choices} == set(range(5))


def test_falls_back_to_a_random_solution_without_tests():
    votes = make_vote_matrix([[], [], []])
    assert all(choose(votes, rule).solution in {0, 1, 2} for rule in RULES)
    assert all(choose(votes, rule).fell_back for rule in ("codet", "b4", "mbr-exec"))


def test_ties_depend_only_on_seed_and_instance():
    votes = make_vote_matrix([[1, 0], [0, 1]])
    assert {choose(votes, seed=seed).solution for seed in range(30)} == {0, 1}
    assert {choose(votes, key=key).solution for key in "abcdefghijkl"} == {0, 1}
    assert choose(votes, seed=3, key="x") == choose(votes, seed=3, key="x")


def test_draws_are_weighted_by_multiplicity():
    votes = make_vote_matrix([[0], [0]], solution_counts=[9, 1])
    drawn = [choose(votes, "random", seed=seed).solution for seed in range(400)]
    assert 320 < drawn.count(0) < 390


def test_unknown_rule_is_an_error():
    with pytest.raises(DLBenchError, match="selection rule"):
        choose(make_vote_matrix([[1]]), "codez")


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=6), st.integers(0, 9))
def test_selected_solution_passes_the_tests_of_its_set(rows, seed):
    votes = make_vote_matrix(rows)
    for rule in ("codet", "b4"):
        found = choose(votes, rule, seed=seed)
        assert found.fell_back == (not votes.passed.any())
        assert all(votes.passed[found.solution, test] for test in found.tests)
        assert found.solution in found.members


def find_shares(spec: PopulationSpec, rules: tuple[str, ...] = RULES, times: int = 400) -> dict[str, float]:
    """How often each rule selects a right solution, and how often there is one."""
    selected = dict.fromkeys([*rules, "oracle"], 0)
    for seed in range(times):
        population = make_population(spec, seed)
        for rule in rules:
            selected[rule] += population.is_right[choose(population.votes, rule, seed=seed).solution]
        selected["oracle"] += any(population.is_right)
    return {rule: count / times for rule, count in selected.items()}


@pytest.mark.parametrize("right_solutions", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("right_tests", [0.4, 0.7])
def test_agreement_finds_right_solutions_if_errors_are_independent(right_solutions, right_tests):
    shares = find_shares(PopulationSpec(right_solutions=right_solutions, right_tests=right_tests, lucky=0.3))
    assert shares["random"] == pytest.approx(right_solutions, abs=0.08)
    assert shares["codet"] > shares["oracle"] - 0.03
    assert shares["b4"] > shares["oracle"] - 0.03
    assert shares["codet"] > shares["random"] + 0.15


def test_more_right_tests_help_and_wrong_tests_alone_do_not():
    without = find_shares(PopulationSpec(right_solutions=0.4, right_tests=0.0, lucky=0.5))
    assert without["codet"] == pytest.approx(without["random"], abs=0.08)
    some = find_shares(PopulationSpec(right_solutions=0.4, right_tests=0.2, lucky=0.8, tests=10))
    many = find_shares(PopulationSpec(right_solutions=0.4, right_tests=0.9, lucky=0.8, tests=10))
    assert many["codet"] > some["codet"] > without["codet"]


def test_shared_mistake_wins_if_it_is_in_the_majority():
    """A limit of agreement: an error made by most solutions and expected by most tests is selected."""
    spec = PopulationSpec(right_solutions=0.25, right_tests=0.3, lucky=0.2, shared=1.0)
    shares = find_shares(spec)
    assert shares["codet"] < shares["random"]
    rare = find_shares(PopulationSpec(right_solutions=0.6, right_tests=0.7, lucky=0.2, shared=1.0))
    assert rare["codet"] > rare["random"] + 0.2


@pytest.mark.parametrize("output", [None, {"raised": True}, {"class": "Net"}, [1, {"class": "Net"}], {"cut": "list"}])
def test_uninformative_outputs_are_compared_by_result(output):
    """A function that raises correctly, one that returns None and one that does nothing return the same."""
    votes = make_vote_matrix([[True], [False], [False]])
    alike = find_equivalent(votes, [{0: [output]}, {0: [output]}, {0: [output]}])
    assert score_mbr(votes, alike).tolist() == [1, 2, 2]


def test_close_outputs_are_equivalent_even_if_an_exact_test_differs():
    votes = make_vote_matrix([[True], [False]])
    assert score_mbr(votes, find_equivalent(votes, [{0: [1.0]}, {0: [1.0 + 1e-9]}])).tolist() == [2, 2]


def test_mbr_needs_a_majority_of_right_solutions_if_errors_are_shared():
    few = find_shares(PopulationSpec(right_solutions=0.25, lucky=0.2, shared=1.0))
    many = find_shares(PopulationSpec(right_solutions=0.75, lucky=0.2, shared=1.0))
    assert few["mbr-exec"] < few["codet"]
    assert many["mbr-exec"] > 0.9


def test_right_solutions_of_a_population_form_one_set():
    """Right solutions pass all right tests and no others."""
    rng = Random(0)
    for seed in range(50):
        population = make_population(PopulationSpec(shared=rng.random()), seed)
        rows = {population.votes.passed[place].tobytes() for place, right in enumerate(population.is_right) if right}
        assert len(rows) <= 1
