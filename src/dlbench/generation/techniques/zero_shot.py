"""The techniques without examples: the bare task, reasoning, a plan, warnings, and more context.

The warnings come from a taxonomy of bugs, `bugs.toml`: the kinds that the author of the code can avoid, most frequent
first. They are the same for every instance, so they reveal nothing about any of them. The signatures of the module's
other definitions are shown without bodies, which could contain the answer.
"""

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from dlbench.generation.techniques.base import (
    REASONING_SYSTEM,
    SYSTEM,
    Example,
    Question,
    Technique,
    Turns,
    add_technique,
    closing,
    reasoning_closing,
    system,
    task_of,
    user,
)

PLANNING_SYSTEM = "You plan and write Python for deep-learning projects. In each turn, do what it asks and no more."
PLAN = (
    "Do not write code yet. Write a short numbered plan of how you will implement it: inputs and their shapes, checks "
    "and errors, each step of the computation, boundary cases, and what is returned."
)
# The rules of the zero-shot system message, stated in the turn that they apply to.
RULES = SYSTEM.split(". ", 1)[1]
WARNINGS_HEAD = "Code like this often fails in the following ways. Take care that yours does not:"


def render_zero_shot(question: Question, examples: Sequence[Example]) -> Turns:
    return [[system(), user(task_of(question), closing(question.instance))]]


def render_chain_of_thought(question: Question, examples: Sequence[Example]) -> Turns:
    return [[system(REASONING_SYSTEM), user(task_of(question), reasoning_closing(question.instance))]]


def render_self_planning(question: Question, examples: Sequence[Example]) -> Turns:
    plan = [system(PLANNING_SYSTEM), user(task_of(question), PLAN)]
    return [plan, [user(f"Follow your plan. {closing(question.instance)}", RULES)]]


@cache
def read_warnings() -> tuple[str, ...]:
    content = tomllib.loads(Path(__file__).with_name("bugs.toml").read_text(encoding="utf-8"))
    bugs = sorted(content["bug"], key=lambda bug: -bug["seen"])
    return tuple(bug["warning"] for bug in bugs if "warning" in bug)


def render_bug_warnings(question: Question, examples: Sequence[Example]) -> Turns:
    warnings = "\n".join([WARNINGS_HEAD, *(f"- {warning}" for warning in read_warnings())])
    return [[system(), user(task_of(question), warnings, closing(question.instance))]]


add_technique(Technique("zero-shot", "the task alone", render_zero_shot), order=1)
add_technique(Technique("zero-shot-cot", "reason step by step, then write the code", render_chain_of_thought), order=2)
add_technique(
    Technique("self-planning", "a plan in the first turn, the code in the second", render_self_planning), order=9
)
add_technique(Technique("guided", "with warnings about frequent bugs", render_bug_warnings), order=10)
add_technique(
    Technique(
        "module-context", "with the signatures of the module's other definitions", render_zero_shot, neighbours=True
    ),
    order=11,
)
