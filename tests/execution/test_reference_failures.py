"""A reference that does not pass on this machine is a harness error, found once, and never held against a candidate."""

import contextlib
from dataclasses import replace

import pytest

from dlbench.dataset import load
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution import judge as judge_fresh
from dlbench.execution import reference_profile as profiles
from dlbench.execution.evaluate import evaluate
from dlbench.execution.judge import Warm
from dlbench.execution.pool import Pool
from dlbench.runs.samples import Sample
from dlbench.workspace import prepare
from tests.cli.test_judging import ID, RIGHT, WRONG
from tests.conftest import write_toy

BROKEN = {
    "missing file": ("tests/test_core.py", "open('weights.bin')\n", "weights.bin"),
    "wrong dependency": ("tests/test_core.py", "import numpy_of_the_future\n", "numpy_of_the_future"),
    "conftest that writes into the tree": ("tests/conftest.py", "open(__file__ + '.log', 'w')\n", "conftest.py.log"),
    "another result": ("toy/base.py", "OFFSET = 1\n", "assert [2, 3] == [1, 2]"),
}


@pytest.fixture
def count_runs(monkeypatch):
    """The fresh runs of references."""
    runs = []

    def run(engine, prepared, instance, candidate, **options):
        runs.append(candidate)
        return run_fresh(engine, prepared, instance, candidate, **options)

    run_fresh = profiles.run_fresh
    monkeypatch.setattr(profiles, "run_fresh", run)
    return runs


def prepare_toy(root, path="", line=""):
    benchmark = write_toy(root)
    if path:
        file = root / "source" / path
        file.write_text(line + file.read_text() if path.startswith("tests") else line)
    toy = load(benchmark)
    return toy, prepare(toy.projects["toy"], toy.root)


@pytest.mark.parametrize("mode", ["auto", "fresh"])
@pytest.mark.parametrize("name", BROKEN)
def test_candidates_of_a_failing_reference_are_harness_errors(name, mode, tmp_path, count_runs):
    path, line, message = BROKEN[name]
    toy, prepared = prepare_toy(tmp_path, path, line)
    pool = Pool(Engine(choose_sandbox(), Limits(test_seconds=10)), {"toy": prepared}, workers=2, mode=mode)
    samples = [Sample(ID, number, answer) for number, answer in enumerate([RIGHT, WRONG, RIGHT, "def scale(:\n"])]
    verdicts = evaluate(toy, pool, samples, tmp_path / "out")
    assert [str(verdict.status) for verdict in verdicts] == ["harness_error"] * 3 + ["syntax_error"]
    for verdict in verdicts[:3]:
        assert "the reference does not pass on this machine" in verdict.message
        assert message in verdict.message
    assert count_runs == [None] * 3, "profiled with and without hidden tests, and run once plainly"


def test_reference_that_fails_only_while_profiled_is_no_obstacle(tmp_path, engine, monkeypatch):
    monkeypatch.setattr(profiles, "parse_profile", lambda *arguments: None)
    toy, prepared = prepare_toy(tmp_path)
    engine = replace(engine, failed_references={})
    assert judge_fresh(engine, prepared, toy.instances[ID], RIGHT).passed
    assert Warm(engine, prepared).judge(toy.instances[ID], WRONG).status == "fail"


def test_profile_of_one_sandbox_is_not_used_in_another(toy, toy_prepared, engine):
    """An unconfined reference may read what a confined one may not."""
    instance = toy.instances[ID]
    fewer = instance.model_copy(update={"tests": instance.tests[1:]})  # which no other test profiles
    for one in (engine, unconfined := replace(engine, confinement=choose_sandbox("unconfined"))):
        profiles.profile_path(one, toy_prepared, fewer).unlink(missing_ok=True)
    assert profiles.profile_reference(unconfined, toy_prepared, fewer).passes
    assert profiles.load_profile(unconfined, toy_prepared, fewer) is not None
    assert profiles.load_profile(engine, toy_prepared, fewer) is None


def test_first_profile_of_a_project_costs_no_interpreter_of_its_own(tmp_path, engine, count_runs):
    """Most of its time would go into imports that the worker repeats."""
    toy, prepared = prepare_toy(tmp_path, "toy/base.py", f"OFFSET = 0  # {tmp_path}\n")
    with contextlib.closing(Warm(engine, prepared)) as warm:
        assert warm.judge(toy.instances[ID], RIGHT).mode == "in_place"
    assert count_runs == []
