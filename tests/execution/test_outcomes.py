"""What the engine makes of the messages of an execution: outcomes cannot be taken back, and the guards must have run."""

import pytest

from dlbench.execution.fresh import to_status
from dlbench.execution.inside.channel import CONTROL_AFTER, CONTROL_BEFORE, OUTCOMES
from dlbench.execution.supervise import Observation
from dlbench.runs.verdict import Outcome, Status

PASSED, FAILED = OUTCOMES.index("passed"), OUTCOMES.index("failed")


def judge(toy, engine, *ranks: int, controls=CONTROL_BEFORE + CONTROL_AFTER, checked=True):
    """The status and the outcome of a test that has these reports."""
    instance = toy.instances["toy/toy.core.scale"]
    instance = instance.model_copy(update={"tests": instance.tests[:1]})
    test = instance.tests[0]
    outcomes = [("control", rank) for rank in controls[: len(CONTROL_BEFORE)]]
    outcomes += [(test, rank) for rank in ranks]
    outcomes += [("control", rank) for rank in controls[len(CONTROL_BEFORE) :]]
    observation = Observation()
    observation.messages.taken = [
        {"kind": "ready", "network": False, "user": 1},
        *({"kind": "outcome", "id": name, "rank": rank} for name, rank in outcomes),
        {"kind": "test", "id": test, "message": ""},
        *([{"kind": "checked"}] if checked else []),
        {"kind": "end"},
    ]
    status, _, tests = to_status(observation, instance, engine.confinement)
    return status, tests[test]


def test_pass_needs_everything(toy, engine):
    assert judge(toy, engine, PASSED) == (Status.PASS, Outcome.PASSED)


@pytest.mark.parametrize("ranks", [(FAILED, PASSED), (PASSED, FAILED)])
def test_failure_cannot_be_taken_back(ranks, toy, engine):
    assert judge(toy, engine, *ranks) == (Status.FAIL, Outcome.FAILED)


def test_test_without_a_report_has_not_passed(toy, engine):
    assert judge(toy, engine) == (Status.FAIL, Outcome.ERROR)


@pytest.mark.parametrize("place", range(len(CONTROL_BEFORE + CONTROL_AFTER)))
def test_control_test_with_the_wrong_outcome_is_tampering(place, toy, engine):
    controls = list(CONTROL_BEFORE + CONTROL_AFTER)
    controls[place] = PASSED + FAILED - controls[place]
    assert judge(toy, engine, PASSED, controls=controls)[0] is Status.TAMPERED


def test_pass_without_its_guards_is_tampering(toy, engine):
    assert judge(toy, engine, PASSED, checked=False)[0] is Status.TAMPERED
    assert judge(toy, engine, PASSED, controls=CONTROL_BEFORE)[0] is Status.TAMPERED
