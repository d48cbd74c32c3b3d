"""Write verdicts as inspect's scores, and attempts as its epochs."""

from logging import getLogger

from inspect_ai import Epochs
from inspect_ai.scorer import Score

from dlbench.errors import DLBenchError
from dlbench.runs.verdict import Outcome, Status, Verdict
from dlbench.scoring.summary import KS

_log = getLogger(__name__)


def warn_of_fault(found: Verdict) -> None:
    if found.status is Status.HARNESS_ERROR:
        _log.warning("harness error, counted as a failure: %s: %s", found.instance, found.message)


def make_epochs(samples: int) -> Epochs:
    if samples < 1:
        raise DLBenchError(f"samples must be at least 1, you passed {samples}", fix="pass -T samples=1 or more")
    return Epochs(samples, ["mean", *(f"pass_at_{k}" for k in KS if 1 < k <= samples)])


def as_score(found: Verdict, answer: str) -> Score:
    passed = sum(outcome is Outcome.PASSED for outcome in found.tests.values())
    outcome = f"{found.status}, {passed} of {len(found.tests)} tests passed"
    return Score(
        value=1.0 if found.passed else 0.0,
        answer=answer,
        explanation=f"{outcome}\n{found.message}" if found.message else outcome,
        reason=str(found.status) if found.status is Status.HARNESS_ERROR else None,
        metadata=found.as_record(),
    )
