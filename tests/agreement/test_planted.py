"""A planted population is what it says: a known mix of right and wrong, the same for the same seed."""

from random import Random

import pytest

from dlbench.agreement.model_tests import read_project_tests
from dlbench.agreement.planted import (
    Material,
    Mix,
    alter,
    choose_checks,
    find_held_out,
    gather_material,
    make_solutions,
    turn_round,
)
from tests.conftest import TESTS

SPACE = {"scale": lambda values, factor=2: [value * factor for value in values]}


def holds(check, space):
    try:
        exec(check.code, dict(space))
    except AssertionError:
        return False
    return True


@pytest.fixture
def check():
    return read_project_tests("def test_1():\n    assert scale([1, 2], 3) == [3, 6]\n", {"test_1"}).checks[0]


def test_a_check_that_is_turned_round_passes_just_where_the_check_fails(check):
    turned = turn_round(check)
    wrong = {"scale": lambda values, factor=2: [value + factor for value in values]}
    assert (holds(check, SPACE), holds(turned, SPACE)) == (True, False)
    assert (holds(check, wrong), holds(turned, wrong)) == (False, True)


def test_a_check_with_a_changed_number_is_another_check(check):
    altered = [alter(check, Random(seed)) for seed in range(20)]
    assert check.id not in {one.id for one in altered}
    assert not any(holds(one, SPACE) for one in altered)


def test_a_check_without_a_number_has_none_to_change():
    (bare,) = read_project_tests("def test_1():\n    assert scale('a') == 'b'\n", {"test_1"}).checks
    assert alter(bare, Random(0)) is None


def test_tests_are_cut_out_by_name_and_by_class():
    found = read_project_tests(TESTS, {"test_scale", "TestCounter.test_step"})
    assert len(found.checks) == 4
    assert all("toy.core import" in one.code for one in found.checks)


def test_the_mix_of_checks_is_the_one_asked_for(check):
    texts = [f"def test_1():\n    assert scale([{number}]) == [{2 * number}]\n" for number in range(1, 13)]
    true = tuple(read_project_tests(text, {"test_1"}).checks[0] for text in texts)
    material = Material(true, tuple(alter(one, Random(1)) for one in true), tuple(map(turn_round, true)))
    chosen = choose_checks(material, [one.id for one in true], Mix(checks=10, wrong=0.4), "x")
    ids = {one.id for one in true}
    assert len(chosen) == 10
    assert sum(one.id in ids for one in chosen) == 6
    assert sum("it holds" in one.code for one in chosen) == 2
    assert chosen == choose_checks(material, [one.id for one in true], Mix(checks=10, wrong=0.4), "x")


def test_solutions_are_the_reference_and_its_mutants_in_a_drawn_order(engine, toy, toy_prepared):
    instance = toy.instances["toy/toy.core.scale"]
    first, second = (make_solutions(engine, toy_prepared, instance, Mix(6, 2, seed=seed)) for seed in (0, 0))
    assert first == second
    assert sum("_copy = " in one.code for one in first) == 2
    assert len({one.id for one in first}) == len(first) == 6


def test_only_half_of_the_tests_are_made_into_checks(toy, toy_prepared):
    """What the judge alone knows must tell, or the choice would be judged by what it was made with."""
    material = gather_material(toy_prepared, toy.instances["toy/toy.core.scale"], Mix())
    functions = {"test_scale", "test_scale_empty", "test_scale_zero"}
    used = {name for name in functions for one in material.true if f"def {name}(" in one.code}
    assert len(used) == 2
    held_out = find_held_out(toy.instances["toy/toy.core.scale"], Mix())
    assert {test.partition("::")[2].partition("[")[0] for test in held_out} == functions - used
