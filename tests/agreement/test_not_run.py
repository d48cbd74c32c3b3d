"""Runs without a result because of a harness error are reported, and are in no figure."""

from dataclasses import replace
from pathlib import Path

import pytest

from dlbench.agreement.answers import Answers
from dlbench.agreement.model_tests import read_model_tests
from dlbench.agreement.study import measure_quality
from dlbench.errors import DLBenchError
from dlbench.execution.cross_run import CrossRunPool

SCALE = "toy/toy.core.scale"


@pytest.fixture
def broken(engine, toy_prepared):
    """Nothing starts in it: its Python does not exist."""
    return {"toy": replace(toy_prepared, python=Path("/nowhere/python"), environment=Path("/nowhere"))}


def test_quality_is_an_error_if_nothing_ran(broken, engine, toy, tmp_path):
    answers = {SCALE: Answers({}, {0: read_model_tests("assert scale([1]) == [2]\n", "scale").tests})}
    with pytest.raises(DLBenchError, match="6 of 6 runs of solutions on tests have no result"):
        measure_quality(CrossRunPool(engine, broken), [toy.instances[SCALE]], answers, tmp_path / "q.jsonl")


def test_runs_without_result_are_in_no_share(engine, toy, toy_prepared, broken, tmp_path):
    """The second test never ran; it is neither right nor wrong."""
    path, instance = tmp_path / "q.jsonl", toy.instances[SCALE]
    tests = read_model_tests("assert scale([1]) == [2]\nassert scale([2]) == [4]\n", "scale").tests
    first = measure_quality(
        CrossRunPool(engine, {"toy": toy_prepared}), [instance], {SCALE: Answers({}, {0: tests[:1]})}, path
    )
    found = measure_quality(CrossRunPool(engine, broken), [instance], {SCALE: Answers({}, {0: tests})}, path)
    assert "6 of 12 runs" in found.not_run
    assert first.not_run == ""
    assert (found.distinct, found.right, found.killed) == (2, 1.0, first.killed)
