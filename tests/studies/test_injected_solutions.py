"""The study of injected solutions has a known mix of right and wrong, the same for the same seed."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from injected_solutions.run import (
    Mix,
    TestPool,
    alter,
    choose_tests,
    find_held_out,
    invert,
    main,
    make_solutions,
    make_test_pool,
    run_study,
)

from dlbench.agreement.model_tests import read_project_tests
from dlbench.errors import DLBenchError
from dlbench.execution.cross_run import CrossRunPool
from dlbench.execution.pool import Pool
from tests.conftest import TESTS

SPACE = {"scale": lambda values, factor=2: [value * factor for value in values]}
SCALE = "toy/toy.core.scale"


def passes(test, space):
    try:
        exec(test.code, dict(space))
    except AssertionError:
        return False
    return True


@pytest.fixture
def test():
    return read_project_tests("def test_1():\n    assert scale([1, 2], 3) == [3, 6]\n", {"test_1"}).tests[0]


def test_inverted_test_passes_exactly_where_the_test_fails(test):
    inverted = invert(test)
    wrong = {"scale": lambda values, factor=2: [value + factor for value in values]}
    assert (passes(test, SPACE), passes(inverted, SPACE)) == (True, False)
    assert (passes(test, wrong), passes(inverted, wrong)) == (False, True)


def test_altered_test_is_another_test_that_fails(test):
    altered = [alter(test, Random(seed)) for seed in range(20)]
    assert test.id not in {one.id for one in altered}
    assert not any(passes(one, SPACE) for one in altered)


def test_without_numbers_cannot_be_altered():
    (bare,) = read_project_tests("def test_1():\n    assert scale('a') == 'b'\n", {"test_1"}).tests
    assert alter(bare, Random(0)) is None


def test_project_tests_are_read_by_name_and_class():
    found = read_project_tests(TESTS, {"test_scale", "TestCounter.test_step"})
    assert len(found.tests) == 4
    assert all("toy.core import" in one.code for one in found.tests)


def test_mix_of_tests_is_the_requested_one():
    texts = [f"def test_1():\n    assert scale([{number}]) == [{2 * number}]\n" for number in range(1, 13)]
    true = tuple(read_project_tests(text, {"test_1"}).tests[0] for text in texts)
    pool = TestPool(true, tuple(alter(one, Random(1)) for one in true), tuple(map(invert, true)))
    chosen = choose_tests(pool, [one.id for one in true], Mix(tests=10, wrong=0.4), "x")
    ids = {one.id for one in true}
    assert len(chosen) == 10
    assert sum(one.id in ids for one in chosen) == 6
    assert sum("it holds" in one.code for one in chosen) == 2
    assert chosen == choose_tests(pool, [one.id for one in true], Mix(tests=10, wrong=0.4), "x")


def test_solutions_are_the_reference_and_mutants_in_seeded_order(engine, toy, toy_prepared):
    first, second = (make_solutions(engine, toy_prepared, toy.instances[SCALE], Mix(6, 2, seed=0)) for _ in range(2))
    assert first == second
    assert sum("_copy = " in one.code for one in first) == 2
    assert len({one.id for one in first}) == len(first) == 6


def test_only_half_of_the_project_tests_serve_for_selection(toy, toy_prepared):
    """The held-out half must decide, or a choice would be judged by the tests it was made with."""
    pool = make_test_pool(toy_prepared, toy.instances[SCALE], Mix())
    functions = {"test_scale", "test_scale_empty", "test_scale_zero"}
    used = {name for name in functions for one in pool.true if f"def {name}(" in one.code}
    assert len(used) == 2
    held_out = find_held_out(toy.instances[SCALE], Mix())
    assert {test.partition("::")[2].partition("[")[0] for test in held_out} == functions - used


def test_tests_that_could_not_run_are_an_error(engine, toy, toy_prepared, tmp_path):
    """A sandbox that does not start must not read as "no test runs alone"."""
    broken = {"toy": replace(toy_prepared, python=Path("/nowhere/python"), environment=Path("/nowhere"))}
    with pytest.raises(DLBenchError, match="have no result"):
        run_study(toy, [toy.instances[SCALE]], CrossRunPool(engine, broken), Pool(engine, broken), Mix(4, 2), tmp_path)


def test_study_runs_the_whole_pipeline(toy_root, tmp_path, capsys):
    assert main(["--benchmark", str(toy_root), "--out", str(tmp_path / "p"), "--wrong", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["comparison"]) == {"all tests", "held-out tests"}
    for comparison in found["comparison"].values():
        standings = {one["name"]: one["pass_at_1"] for one in comparison["standings"]}
        assert standings["codet"] >= standings["random choice"]
        assert standings["best possible"] == 1.0


def test_more_references_than_solutions_is_an_error(toy_root, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--benchmark", str(toy_root), "--out", str(tmp_path / "p"), "--solutions", "2", "--right", "5"])
    assert "--right: 5 of 2 solutions cannot be the reference" in capsys.readouterr().err
    assert not (tmp_path / "p").exists()
