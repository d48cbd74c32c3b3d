"""The techniques: the bare task, reasoning, examples, a plan, warnings, more context, and repair after a verdict.

Examples precede the question as answered turns, so they also show the form of an answer. The warnings are the same for
every instance, so they reveal nothing about any of them.
"""

import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from dlbench.dataset.records import Instance
from dlbench.dataset.target import fenced
from dlbench.generation import techniques as t
from dlbench.generation.techniques import Technique
from dlbench.generation.techniques.examples import ExampleDraw
from dlbench.generation.techniques.explain import explain
from dlbench.runs.verdict import Outcome, Status, Verdict

PREDICTED_STAGE = "few-shot-predicted-stage"
REASONING_SYSTEM = (
    "You write Python for deep-learning projects. First think step by step, in short sentences and without code. Then "
    "give one Python code block that contains the complete definition asked for. Helper functions and imports are "
    "allowed in the same block. Write no tests and no examples."
)
PLANNING_SYSTEM = "You plan and write Python for deep-learning projects. In each turn, do what it asks and no more."
PLAN = (
    "Do not write code yet. Write a short numbered plan of how you will implement it: inputs and their shapes, checks "
    "and errors, each step of the computation, boundary cases, and what is returned."
)
# The rules of the zero-shot system message, stated in the turn that they apply to.
RULES = t.SYSTEM.split(". ", 1)[1]
WARNINGS_HEAD = "Code like this often fails in the following ways. Take care that yours does not:"


def _render(
    instructions: str, close: Callable[[Instance], str], answer: Callable[[str], str] = fenced
) -> Callable[[t.Question, Sequence[t.Example]], t.Turns]:
    """One turn: the examples, each with its `answer`, and the task."""

    def render(question: t.Question, examples: Sequence[t.Example]) -> t.Turns:
        messages = [t.system(instructions)]
        for example in examples:
            messages.append(t.user(t.describe(example.instance, example.signature), close(example.instance)))
            messages.append({"role": "assistant", "content": answer(example.solution)})
        return [[*messages, t.user(t.task_of(question), close(question.instance))]]

    return render


def _close_reasoning(instance: Instance) -> str:
    return f"Let's think step by step, and then {t.closing(instance).removeprefix('Now ')}"


def render_self_planning(question: t.Question, examples: Sequence[t.Example]) -> t.Turns:
    plan = [t.system(PLANNING_SYSTEM), t.user(t.task_of(question), PLAN)]
    return [plan, [t.user(f"Follow your plan. {t.closing(question.instance)}", RULES)]]


@cache
def read_warnings() -> tuple[str, ...]:
    content = tomllib.loads(Path(__file__).with_name("bugs.toml").read_text(encoding="utf-8"))
    bugs = sorted(content["bug"], key=lambda bug: -bug["seen"])
    return tuple(bug["warning"] for bug in bugs if "warning" in bug)


def render_bug_warnings(question: t.Question, examples: Sequence[t.Example]) -> t.Turns:
    warnings = "\n".join([WARNINGS_HEAD, *(f"- {warning}" for warning in read_warnings())])
    return [[t.system(), t.user(t.task_of(question), warnings, t.closing(question.instance))]]


def _choose(fits: Callable[[Instance, Instance], bool]) -> Callable[[ExampleDraw], t.Choice]:
    """Draw the examples for which `fits(instance, example)` holds."""
    return lambda examples: (examples.draw(lambda other: fits(examples.instance, other)), {})


def choose_predicted_stage(examples: ExampleDraw) -> t.Choice:
    stage = examples.pool.predictor.predict(examples.instance, examples.pool.others(examples.instance))
    return examples.draw(lambda other: other.labels.stage == stage), {"predicted_stage": str(stage)}


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


_any = _choose(lambda instance, other: True)
_same_stage = _choose(lambda instance, other: other.labels.stage == instance.labels.stage)
_same_project = _choose(lambda instance, other: other.project == instance.project)
_other_projects = _choose(lambda instance, other: other.project != instance.project)

render_plain = _render(t.SYSTEM, t.closing)
_reasoned = _render(REASONING_SYSTEM, _close_reasoning, lambda code: f"{explain(code)}\n\n{fenced(code)}")

_FAILED = "the task alone; after an answer that fails,"
_TECHNIQUES = (
    Technique("zero-shot", "the task alone", render_plain),
    Technique("zero-shot-cot", "reason step by step, then write the code", _reasoned),
    Technique("few-shot-random", "examples drawn at random", render_plain, _any),
    Technique("few-shot-same-stage", "examples with the instance's stage label", render_plain, _same_stage),
    Technique(PREDICTED_STAGE, "examples of the stage predicted from the prompt", render_plain, choose_predicted_stage),
    Technique("few-shot-same-project", "examples of the same project", render_plain, _same_project),
    Technique("few-shot-other-projects", "examples of other projects", render_plain, _other_projects),
    Technique("few-shot-cot", "random examples with generated reasoning", _reasoned, _any),
    Technique("self-planning", "a plan in the first turn, the code in the second", render_self_planning),
    Technique("guided", "with warnings about frequent bugs", render_bug_warnings),
    Technique("module-context", "with the signatures of the module's other definitions", render_plain, neighbours=True),
    Technique("repair", f"{_FAILED} the failed tests with their messages", render_plain, feedback=list_failures),
    Technique("repair-count", f"{_FAILED} the number of failed tests", render_plain, feedback=count_failures),
)
for _order, _technique in enumerate(_TECHNIQUES, 1):
    t.add_technique(_technique, order=_order)
