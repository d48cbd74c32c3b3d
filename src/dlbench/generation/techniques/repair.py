"""Repair: the model is told the outcome of its answer, and answers again."""

from dlbench.generation.techniques.base import Technique, add_technique
from dlbench.generation.techniques.catalogue import render_plain
from dlbench.runs.verdict import Outcome, Status, Verdict

_MOST_TESTS = 10


def count_failures(verdict: Verdict) -> str:
    failed = sum(outcome is not Outcome.PASSED for outcome in verdict.tests.values())
    return f"I ran the project's tests on your answer: {failed} of {len(verdict.tests)} do not pass."


def list_failures(verdict: Verdict) -> str:
    """The first failed tests with their messages; the status and its message if the tests did not run to the end."""
    head = count_failures(verdict)
    if verdict.status is not Status.FAIL:
        return f"{head} Outcome: {verdict.status}. {verdict.message}".strip()
    errors = verdict.extra.get("errors", {})
    failed = {test: str(outcome) for test, outcome in verdict.tests.items() if outcome is not Outcome.PASSED}
    lines = [f"- {test}: {errors.get(test) or outcome}" for test, outcome in failed.items()]
    more = [f"- and {len(lines) - _MOST_TESTS} more"] if len(lines) > _MOST_TESTS else []
    return "\n".join([head, "", *lines[:_MOST_TESTS], *more])


_SUMMARY = "the task alone; after an answer that fails,"
add_technique(
    Technique("repair", f"{_SUMMARY} the failed tests with their messages", render_plain, feedback=list_failures),
    order=20,
)
add_technique(
    Technique("repair-count", f"{_SUMMARY} the number of failed tests", render_plain, feedback=count_failures),
    order=21,
)
