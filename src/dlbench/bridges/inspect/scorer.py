"""What is an answer worth to inspect?

1 when every test passed and 0 otherwise, by the verdict that `dlbench evaluate` would give, which stands whole in the
score's metadata: status, an outcome for every test, what went wrong. What was our own fault counts as 0, as in all our
scores, but never in silence: it is told in the log's messages and by the score's reason.
"""

from logging import getLogger

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState

from dlbench.bridges.inspect.judge import JudgeSettings, find_judge
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Outcome, Status, Verdict

CUT = ("max_tokens", "model_length")
"""Reasons to stop that mean: the answer is not whole."""

_log = getLogger(__name__)


@scorer(metrics=[accuracy(), stderr()])
def verdict(
    benchmark: str | None = None,
    sandbox: str = "auto",
    mode: str = "auto",
    timeout: float = 60.0,
    memory: int = 4096,
    workers: int | None = None,
) -> Scorer:
    """Judges by the project's own tests, confined, in warm workers. The options are those of `dlbench evaluate`."""
    terms = JudgeSettings(benchmark, sandbox, mode, timeout, memory, workers)

    async def score(state: TaskState, target: Target) -> Score:
        output = state.output
        sample = Sample(str(state.sample_id), state.epoch - 1, output.completion, is_cut=output.stop_reason in CUT)
        # a limiter of its own, since the shared one is for short calls and a verdict can take a minute
        found = await run_sync(find_judge(terms).judge, sample, limiter=CapacityLimiter(1), abandon_on_cancel=True)
        if found.status is Status.HARNESS_ERROR:
            _log.warning("harness error, counted as not passed: %s: %s", found.instance, found.message)
        return as_score(found, output.completion)

    return score


def as_score(found: Verdict, answer: str) -> Score:
    passed = sum(outcome is Outcome.PASSED for outcome in found.tests.values())
    told = f"{found.status}, {passed} of {len(found.tests)} tests passed"
    return Score(
        value=1.0 if found.passed else 0.0,
        answer=answer,
        explanation=f"{told}\n{found.message}" if found.message else told,
        reason=str(found.status) if found.status is Status.HARNESS_ERROR else None,
        metadata=found.as_record(),
    )
