"""What is a variant of a prompt, and how is it told apart from the original?

A variant that forgot under which names it asked could not be judged: the answer defines `f1(a, b)` where the project
calls `scale(x, factor)`. So a variant carries the names it showed, and every later step (answers, tests, the matrix,
the study) reads them from here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

ORIGINAL = "original"


@dataclass(frozen=True, slots=True)
class Variant:
    """One wording of one instance's task.

    `index` counts the variants of one instance from 0, the original first; `task` is the prompt's text; `function` is
    the name under which the function is asked for; `parameters` maps the project's names to those shown, if others.
    """

    instance: str
    index: int
    operator: str
    task: str
    function: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_original(self) -> bool:
        """The untouched prompt, against which the others are compared."""
        return self.operator == ORIGINAL
