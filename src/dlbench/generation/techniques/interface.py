"""What is a prompting technique?

Two functions: one chooses which other instances are shown as examples, one puts question and examples into words.
Neither knows of budgets, seeds or models. So the same cut, the same draw and the same record serve all techniques, and
a difference between two scores is a difference between two ways to ask.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dlbench.dataset.prompt_context import join_context, render_imports, render_neighbours, render_skeleton
from dlbench.dataset.records import Instance
from dlbench.dataset.target import Target, find_target, render_signature
from dlbench.generation.models import Message
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
class Shot:
    """Another instance with its solution, as an example. Read from the fetched source, never stored."""

    instance: Instance
    signature: str
    solution: str


class Examples(Protocol):
    """The instances that may be shown beside the asked one, in the order of a seeded draw."""

    @property
    def asked(self) -> Instance: ...

    def draw(self, fits: Callable[[Instance], bool]) -> list[Shot]:
        """As many as are wanted of those that fit, or all where there are fewer."""
        ...

    def predict_stage(self) -> str: ...


@dataclass(frozen=True)
class Choice:
    """The chosen examples, and what else of the choice belongs into the sample's record."""

    shots: tuple[Shot, ...] = ()
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
    word: Callable[[Question, Sequence[Shot]], Turns]
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
