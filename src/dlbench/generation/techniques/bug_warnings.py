"""Does it help to be warned? The task, and the mistakes that models often make in deep-learning code.

The warnings are made from a taxonomy of bugs, `bugs.toml`: its kinds that the writer of the code can avoid, the most
frequent first. They are the same for every instance, so they give nothing away about any of them.
"""

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from dlbench.generation.prompt import closing
from dlbench.generation.techniques.base import Example, Question, Technique, Turns, system, task_of, user

HEAD = "Code like this often fails in the following ways. Take care that yours does not:"


@cache
def read_warnings() -> tuple[str, ...]:
    content = tomllib.loads(Path(__file__).with_name("bugs.toml").read_text(encoding="utf-8"))
    bugs = sorted(content["bug"], key=lambda bug: -bug["seen"])
    return tuple(bug["warning"] for bug in bugs if "warning" in bug)


def render_bug_warnings(question: Question, shots: Sequence[Example]) -> Turns:
    warnings = "\n".join(f"- {warning}" for warning in read_warnings())
    return [[system(), user(task_of(question), f"{HEAD}\n{warnings}", closing(question.instance))]]


BUG_WARNINGS = Technique("guided", "with warnings of the mistakes that are often made", render_bug_warnings)
