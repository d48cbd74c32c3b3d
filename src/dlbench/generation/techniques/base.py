"""What is a prompting technique?

Two functions: one chooses which other instances are shown as examples, one puts question and examples into words.
Neither knows of budgets, seeds or models. So the same cut, the same draw and the same record serve all techniques, and
a difference between two scores is a difference between two ways to ask.

Which sentences do several techniques share?

A technique that words the task in its own way would measure its wording. So all of them show the task as zero-shot
does, and add to it.
"""

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dlbench.dataset.prompt_context import fenced, join_context, render_imports, render_neighbours, render_skeleton
from dlbench.dataset.records import Instance
from dlbench.dataset.target import Target, find_target, render_signature
from dlbench.generation.model import Message
from dlbench.generation.prompt import SYSTEM, closing, describe
from dlbench.parsing import parse


@dataclass(frozen=True)
class Question:
    """What is asked, in the pieces that a budget can take away: neighbours first, then the skeleton."""

    instance: Instance
    signature: str
    imports: str = ""
    skeleton: str = ""
    neighbours: tuple[str, ...] = ()
    canary: str = ""

    @property
    def context(self) -> str:
        return join_context(self.imports, self.skeleton, *self.neighbours)


def read_question(instance: Instance, source: str, canary: str = "") -> Question:
    """`source`: the text of the instance's module."""
    return make_question(instance, parse(source), find_target(source, instance.qualname), canary)


def make_question(instance: Instance, module: ast.Module, target: Target, canary: str = "") -> Question:
    """For who has the module parsed already; the names shown are those of the trees."""
    return Question(
        instance,
        render_signature(target.node),
        render_imports(module),
        render_skeleton(target),
        render_neighbours(module, instance.qualname),
        canary,
    )


@dataclass(frozen=True)
class Example:
    """Another instance with its solution, as an example. Read from the fetched source, never stored."""

    instance: Instance
    signature: str
    solution: str


class Examples(Protocol):
    """The instances that may be shown beside the asked one, in the order of a seeded draw."""

    @property
    def asked(self) -> Instance: ...

    def draw(self, fits: Callable[[Instance], bool]) -> list[Example]:
        """As many as are wanted of those that fit, or all where there are fewer."""
        ...

    def predict_stage(self) -> str: ...


@dataclass(frozen=True)
class Choice:
    """The chosen examples, and what else of the choice belongs into the sample's record."""

    shots: tuple[Example, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)


Turns = list[list[Message]]
"""Each turn is asked after the answer to the one before; the answer to the last one counts."""


def choose_none(examples: Examples) -> Choice:
    return Choice()


@dataclass(frozen=True)
class Technique:
    """`choose` is `choose_none` for a technique without examples; `neighbours`: the question shows their signatures."""

    name: str
    summary: str
    word: Callable[[Question, Sequence[Example]], Turns]
    choose: Callable[[Examples], Choice] = choose_none
    neighbours: bool = False

    @property
    def wants_shots(self) -> bool:
        return self.choose is not choose_none


@dataclass(frozen=True)
class Conversation:
    """Exactly what is sent. `notes` say how it came about, for the sample's record."""

    turns: Turns
    notes: Mapping[str, Any]


THINKING_SYSTEM = (
    "You write Python for deep-learning projects. First think step by step, in short sentences and without code. Then "
    "give one Python code block that contains the complete definition asked for. Helper functions and imports are "
    "allowed in the same block. Write no tests and no examples."
)
THINK = "Let's think step by step, and then"


def system(text: str = SYSTEM) -> Message:
    return {"role": "system", "content": text}


def user(*parts: str) -> Message:
    return {"role": "user", "content": "\n\n".join(parts)}


def task_of(question: Question) -> str:
    return describe(question.instance, question.signature, question.context, question.canary)


def thoughtful_closing(question: Question | Example) -> str:
    plain = closing(question.instance)
    return f"{THINK} {plain.removeprefix('Now ')}"


def show(shots: Iterable[Example]) -> list[Message]:
    """Each example as a turn that was asked and answered, in the words of the question itself."""
    messages: list[Message] = []
    for shot in shots:
        messages.append(user(describe(shot.instance, shot.signature, ""), closing(shot.instance)))
        messages.append({"role": "assistant", "content": fenced(shot.solution)})
    return messages
