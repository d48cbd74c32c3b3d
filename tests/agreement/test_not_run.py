"""What our own fault kept from being run is said, and is no figure."""

from dataclasses import replace
from pathlib import Path

import pytest
from dlbench.agreement.planted import Mix
from dlbench.agreement.planting import run_planted

from dlbench.agreement.model_tests import read_model_tests
from dlbench.agreement.solutions import Answers
from dlbench.agreement.study import measure_quality
from dlbench.errors import DLBenchError
from dlbench.execution.cross_run import CrossRunPool
from dlbench.execution.pool import Pool

SCALE = "toy/toy.core.scale"


@pytest.fixture
def broken(engine, toy_prepared):
    """Nothing starts in it: its Python is not there."""
    return {"toy": replace(toy_prepared, python=Path("/nowhere/python"), environment=Path("/nowhere"))}


def test_where_no_reference_could_be_run_no_test_is_called_wrong(broken, engine, toy, tmp_path):
    answers = {SCALE: Answers({}, {0: read_model_tests("assert scale([1]) == [2]\n", "scale").checks})}
    with pytest.raises(DLBenchError, match="6 of 6 meetings of solutions and tests could not be run"):
        measure_quality(CrossRunPool(engine, broken), [toy.instances[SCALE]], answers, tmp_path / "q.jsonl")


def test_what_was_not_run_is_in_no_share_of_quality(engine, toy, toy_prepared, broken, tmp_path):
    """The second test was met by nobody yet; it is neither right nor wrong."""
    path, instance = tmp_path / "q.jsonl", toy.instances[SCALE]
    checks = read_model_tests("assert scale([1]) == [2]\nassert scale([2]) == [4]\n", "scale").checks
    first = measure_quality(
        CrossRunPool(engine, {"toy": toy_prepared}), [instance], {SCALE: Answers({}, {0: checks[:1]})}, path
    )
    found = measure_quality(CrossRunPool(engine, broken), [instance], {SCALE: Answers({}, {0: checks})}, path)
    assert "6 of 12 meetings" in found.not_run
    assert first.not_run == ""
    assert (found.distinct, found.right, found.killed) == (2, 1.0, first.killed)


def test_planted_tests_that_could_not_be_run_are_not_said_to_lean_on_others(broken, engine, toy, tmp_path):
    rooms, pool = CrossRunPool(engine, broken), Pool(engine, broken)
    with pytest.raises(DLBenchError, match="could not be run"):
        run_planted(toy, [toy.instances[SCALE]], rooms, pool, Mix(4, 2), tmp_path)
