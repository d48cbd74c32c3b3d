"""Define prompting techniques, their registry, and the sentences that they share.

A prompt never holds the project's docstring or solution, which the model may have seen in training.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dlbench.dataset import target as targets
from dlbench.dataset.records import Instance
from dlbench.generation.model import Message
from dlbench.registry import Registry
from dlbench.runs.verdict import Verdict

if TYPE_CHECKING:
    from dlbench.generation.techniques.examples import ExampleDraw


@dataclass(frozen=True)
class Question:
    """The task in the pieces that a token limit can remove: neighbours first, then the skeleton."""

    instance: Instance
    signature: str
    imports: str = ""
    skeleton: str = ""
    neighbours: tuple[str, ...] = ()
    canary: str = ""

    @property
    def context(self) -> str:
        return targets.join_context(self.imports, self.skeleton, *self.neighbours)


def make_question(instance: Instance, module: ast.Module, target: targets.Target, canary: str = "") -> Question:
    """`module` and `target`: the trees of its module and of its function, whose names the question shows."""
    return Question(
        instance,
        targets.render_signature(target.node),
        targets.render_imports(module),
        targets.render_skeleton(target),
        targets.render_neighbours(module, instance.qualname),
        canary,
    )


@dataclass(frozen=True)
class Example:
    """Another instance with its solution, read from the fetched source and never stored."""

    instance: Instance
    signature: str
    solution: str


Choice = tuple[Sequence[Example], Mapping[str, Any]]
"""The chosen examples, and further fields of the sample's record."""

Turns = list[list[Message]]
"""Each turn is sent after the answer to the previous one; the last answer is the sample."""


def choose_none(examples: "ExampleDraw") -> Choice:
    return (), {}


@dataclass(frozen=True)
class Technique:
    """`summary` says what the prompt adds; `neighbours`: show the signatures of the module's other definitions;
    `feedback`: what the model is told of a verdict that is no pass, to answer again."""

    name: str
    summary: str
    render: Callable[[Question, Sequence[Example]], Turns]
    choose: Callable[["ExampleDraw"], Choice] = choose_none
    neighbours: bool = False
    feedback: Callable[[Verdict], str] | None = None

    @property
    def uses_examples(self) -> bool:
        return self.choose is not choose_none


TECHNIQUES: Registry[Technique] = Registry("technique", "dlbench.generation.techniques")
find_technique = TECHNIQUES.find


def add_technique(technique: Technique, *, order: int = 100) -> Technique:
    """Register a technique under its name; `order` is its place in help texts."""
    return TECHNIQUES.add(technique.name, technique, order=order)


@dataclass(frozen=True)
class Conversation:
    """Exactly what is sent. `notes` document how it was made, for the sample's record."""

    turns: Turns
    notes: Mapping[str, Any]


SYSTEM = (
    "You write Python for deep-learning projects. Answer with one Python code block that contains the complete "
    "definition asked for. Helper functions and imports are allowed in the same block. "
    "Write no tests, no examples and no explanations."
)


def system(text: str = SYSTEM) -> Message:
    return {"role": "system", "content": text}


def user(*parts: str) -> Message:
    return {"role": "user", "content": "\n\n".join(parts)}


def task_of(question: Question) -> str:
    return describe(question.instance, question.signature, question.context, question.canary)


def describe(instance: Instance, signature: str, context: str = "", canary: str = "") -> str:
    """The task without instructions. `context`: imports and class skeleton; `canary`: a string to find copies by."""
    owner = instance.qualname.rpartition(".")[0]
    kind = f"method `{instance.name}` of the class `{owner}`" if owner else f"function `{instance.name}`"
    parts = [f"Benchmark data, not to be trained on. Canary: {canary}"] if canary else []
    parts += [
        f"Project: {instance.project}\nModule: {instance.module}\nWrite the {kind}.",
        instance.prompt.strip(),
        f"Signature:\n\n{targets.fenced(signature)}",
    ]
    if context.strip():
        parts.append(f"What the module already has:\n\n{targets.fenced(context)}")
    return "\n\n".join(parts)


def closing(instance: Instance) -> str:
    return f"Now write the complete definition of `{instance.name}` in one Python code block."
