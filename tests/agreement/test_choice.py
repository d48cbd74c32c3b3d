"""The choice equals the formulas on cases worked by hand, and finds the right solutions where theory says it should."""

import math
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.agreement.populations import Kind, make_population
from dlbench.agreement.selection import RULES, choose
from dlbench.agreement.selection.consensus import find_sets, make_vote_matrix
from dlbench.agreement.selection.rules import are_near, find_equivalent, score_b4, score_codet, score_mbr
from dlbench.errors import DLBenchError

# two solutions agree on tests 0 and 1, one passes 0, 2 and 3, one passes nothing
HAND = [[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 1], [0, 0, 0, 0]]


def test_solutions_that_pass_the_same_tests_are_one_set_and_those_that_pass_none_are_left_out():
    sets = find_sets(make_vote_matrix(HAND))
    assert [(one.members, one.checks) for one in sets] == [((0, 1), (0, 1)), ((2,), (0, 2, 3))]


def test_codets_score_is_that_of_the_formula_worked_by_hand():
    ballot = make_vote_matrix(HAND)
    pair, single = find_sets(ballot)
    assert score_codet(ballot, pair) == pytest.approx(2 * math.sqrt(2))
    assert score_codet(ballot, single) == 3.0
    assert choose(ballot).solution == 2


def test_what_was_written_often_counts_often():
    """Solution 0 was written three times and test 1 twice: (1 + 2) x √4 = 6 beats 3 x √1."""
    ballot = make_vote_matrix(HAND, solutions=[3, 1, 1, 1], checks=[1, 2, 1, 1])
    pair, single = find_sets(ballot)
    assert (pair.solution_count, pair.check_count) == (4, 3)
    assert score_codet(ballot, pair) == pytest.approx(6.0)
    assert score_codet(ballot, single) == pytest.approx(3.0)
    assert choose(ballot).solution in {0, 1}


def beta(a: int, b: int) -> Fraction:
    return Fraction(math.factorial(a - 1) * math.factorial(b - 1), math.factorial(a + b - 1))


def test_b4s_score_is_that_of_the_formula_worked_by_hand():
    """The pair: 2 of 4 solutions, 2 of 4 tests; the others pass 1 of 4 meetings with its tests, 2 of 4 with the rest."""
    ballot = make_vote_matrix(HAND)
    pair, single = find_sets(ballot)
    by_hand = beta(2 + 1, 2 + 1) * beta(2 + 1, 2 + 1) * beta(1 + 1, 3 + 1) * beta(2 + 1, 2 + 2)
    assert score_b4(ballot, pair, beta_0=2, alpha_xy=1) == pytest.approx(math.log(by_hand))
    # alone: 1 of 4 solutions, 3 of 4 tests; the others pass test 0 twice of 9 meetings, test 1 twice of 3
    by_hand = beta(1 + 1, 3 + 1) * beta(3 + 1, 1 + 1) * beta(2 + 1, 7 + 1) * beta(2 + 1, 1 + 2)
    assert score_b4(ballot, single, beta_0=2, alpha_xy=1) == pytest.approx(math.log(by_hand))


def test_b4_with_counts_is_b4_of_everything_written_out():
    counted = make_vote_matrix(HAND, solutions=[2, 1, 3, 1], checks=[1, 2, 1, 1])
    rows = [[*row[:2], row[1], *row[2:]] for row in HAND]
    written_out = make_vote_matrix([rows[0], rows[0], rows[1], rows[2], rows[2], rows[2], rows[3]])
    for one, other in zip(find_sets(counted), find_sets(written_out), strict=True):
        assert score_b4(counted, one) == pytest.approx(score_b4(written_out, other))


def test_mbr_takes_the_solution_that_behaves_like_the_most_others():
    ballot = make_vote_matrix([[0, 0], [0, 0], [1, 1]], solutions=[2, 1, 2])
    assert score_mbr(ballot, find_equivalent(ballot)).tolist() == [3, 3, 2]
    assert choose(ballot, "mbr-exec").solution in {0, 1}


def test_outputs_that_differ_by_rounding_are_the_same_output():
    ballot = make_vote_matrix([[1], [1], [1]])
    outputs = [{0: [{"shape": [2], "values": [value, 1.0]}]} for value in (0.3, 0.1 + 0.2, 0.31)]
    assert score_mbr(ballot, find_equivalent(ballot, outputs)).tolist() == [2, 2, 1]
    assert score_mbr(ballot, find_equivalent(ballot)).tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("one", "other", "near"),
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
def test_near_means_the_same_structure_and_numbers_within_tolerance(one, other, near):
    assert are_near(one, other) is near
    assert are_near(other, one) is near


def test_where_nothing_passes_a_random_solution_answers_and_it_is_said():
    ballot = make_vote_matrix([[0, 0]] * 5)
    choices = [choose(ballot, seed=seed) for seed in range(40)]
    assert all(one.fell_back for one in choices)
    assert {one.solution for one in choices} == set(range(5))


def test_without_a_single_test_a_random_solution_answers():
    ballot = make_vote_matrix([[], [], []])
    assert all(choose(ballot, rule).solution in {0, 1, 2} for rule in RULES)
    assert all(choose(ballot, rule).fell_back for rule in ("codet", "b4", "mbr-exec"))


def test_ties_fall_by_the_seed_and_the_instance_and_by_nothing_else():
    ballot = make_vote_matrix([[1, 0], [0, 1]])
    assert {choose(ballot, seed=seed).solution for seed in range(30)} == {0, 1}
    assert {choose(ballot, key=key).solution for key in "abcdefghijkl"} == {0, 1}
    assert choose(ballot, seed=3, key="x") == choose(ballot, seed=3, key="x")


def test_a_solution_written_often_is_drawn_often():
    ballot = make_vote_matrix([[0], [0]], solutions=[9, 1])
    drawn = [choose(ballot, "random", seed=seed).solution for seed in range(400)]
    assert 320 < drawn.count(0) < 390


def test_an_unknown_rule_is_refused_by_name():
    with pytest.raises(DLBenchError, match="rule of choice"):
        choose(make_vote_matrix([[1]]), "codez")


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=6), st.integers(0, 9))
def test_whoever_is_chosen_passes_what_the_set_passes(rows, seed):
    ballot = make_vote_matrix(rows)
    for rule in ("codet", "b4"):
        found = choose(ballot, rule, seed=seed)
        assert found.fell_back == (not ballot.passed.any())
        assert all(ballot.passed[found.solution, check] for check in found.checks)
        assert found.solution in found.members


def find_shares(kind: Kind, rules: tuple[str, ...] = RULES, times: int = 400) -> dict[str, float]:
    """How often each rule takes a right solution, and how often there is one."""
    taken = dict.fromkeys([*rules, "oracle"], 0)
    for seed in range(times):
        population = make_population(kind, seed)
        for rule in rules:
            taken[rule] += population.is_right[choose(population.ballot, rule, seed=seed).solution]
        taken["oracle"] += any(population.is_right)
    return {rule: count / times for rule, count in taken.items()}


@pytest.mark.parametrize("right_solutions", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("right_checks", [0.4, 0.7])
def test_agreement_finds_right_solutions_where_errors_are_independent(right_solutions, right_checks):
    shares = find_shares(Kind(right_solutions=right_solutions, right_checks=right_checks, lucky=0.3))
    assert shares["random"] == pytest.approx(right_solutions, abs=0.08)
    assert shares["codet"] > shares["oracle"] - 0.03
    assert shares["b4"] > shares["oracle"] - 0.03
    assert shares["codet"] > shares["random"] + 0.15


def test_more_right_tests_help_and_none_help_nothing():
    without = find_shares(Kind(right_solutions=0.4, right_checks=0.0, lucky=0.5))
    assert without["codet"] == pytest.approx(without["random"], abs=0.08)
    some = find_shares(Kind(right_solutions=0.4, right_checks=0.2, lucky=0.8, checks=10))
    many = find_shares(Kind(right_solutions=0.4, right_checks=0.9, lucky=0.8, checks=10))
    assert many["codet"] > some["codet"] > without["codet"]


def test_one_mistake_shared_by_solutions_and_tests_wins_where_it_is_in_the_majority():
    """What agreement cannot do: the same error, made by most solutions and expected by most tests, is chosen."""
    kind = Kind(right_solutions=0.25, right_checks=0.3, lucky=0.2, shared=1.0)
    shares = find_shares(kind)
    assert shares["codet"] < shares["random"]
    rare = find_shares(Kind(right_solutions=0.6, right_checks=0.7, lucky=0.2, shared=1.0))
    assert rare["codet"] > rare["random"] + 0.2


@pytest.mark.parametrize("told", [None, {"raised": True}, {"class": "Net"}, [1, {"class": "Net"}], {"cut": "list"}])
def test_where_outputs_do_not_tell_it_counts_whether_the_test_passed(told):
    """What raises as it should, what returns nothing and what does nothing all return the same."""
    ballot = make_vote_matrix([[True], [False], [False]])
    alike = find_equivalent(ballot, [{0: [told]}, {0: [told]}, {0: [told]}])
    assert score_mbr(ballot, alike).tolist() == [1, 2, 2]


def test_numbers_that_are_near_are_alike_though_an_exact_test_tells_them_apart():
    ballot = make_vote_matrix([[True], [False]])
    assert score_mbr(ballot, find_equivalent(ballot, [{0: [1.0]}, {0: [1.0 + 1e-9]}])).tolist() == [2, 2]


def test_mbr_needs_a_majority_of_right_solutions_where_errors_are_shared():
    few = find_shares(Kind(right_solutions=0.25, lucky=0.2, shared=1.0))
    many = find_shares(Kind(right_solutions=0.75, lucky=0.2, shared=1.0))
    assert few["mbr-exec"] < few["codet"]
    assert many["mbr-exec"] > 0.9


def test_the_truth_of_a_population_is_kept_by_its_table():
    """Right solutions pass the same tests, all of them and no others: what makes them a set."""
    chance = Random(0)
    for seed in range(50):
        population = make_population(Kind(shared=chance.random()), seed)
        rows = {population.ballot.passed[place].tobytes() for place, right in enumerate(population.is_right) if right}
        assert len(rows) <= 1
