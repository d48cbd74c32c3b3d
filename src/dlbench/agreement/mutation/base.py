"""Define what a mutation operator is, and the registry that operators add themselves to with `@operator(...)`."""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from random import Random

from dlbench.agreement.mutation.text import Piece, replace_pieces
from dlbench.dataset.records import Instance
from dlbench.dataset.target import Function, find_target
from dlbench.parsing import parse
from dlbench.registry import Registry


class Family(StrEnum):
    LEXICAL = "lexical"
    GRAMMATICAL = "grammatical"
    NAMING = "naming"


@dataclass(frozen=True)
class Original:
    """The prompt to paraphrase; `source` is the text of the instance's module, or empty if it is not available."""

    instance: Instance
    source: str = ""

    @cached_property
    def task(self) -> str:
        return self.instance.prompt.strip()

    @property
    def function(self) -> str:
        return self.instance.name

    @property
    def owner(self) -> str:
        """The class of a method; empty for a function."""
        return self.instance.qualname.rpartition(".")[0].rpartition(".")[2]

    @cached_property
    def node(self) -> Function | None:
        return find_target(self.source, self.instance.qualname).node if self.source else None

    @cached_property
    def taken(self) -> frozenset[str]:
        """Names that the module uses already; a renamed function or parameter must not take one of them."""
        found: set[str] = set()
        for node in ast.walk(parse(self.source)):
            match node:
                case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                    found.add(name)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    found.add(name)
                case ast.alias(name=path, asname=alias):
                    found |= {alias or path, path.split(".")[0]}
        return frozenset(found)

    def rewrite(
        self, changes: Iterable[tuple[Piece, str]], function: str = "", parameters: Mapping[str, str] | None = None
    ) -> "Paraphrase":
        """With other pieces of text, and perhaps other names."""
        return Paraphrase(replace_pieces(self.task, changes), function or self.function, parameters or {})


@dataclass(frozen=True)
class Paraphrase:
    """The result of an operator; `parameters` maps the project's parameter names to the new ones."""

    task: str
    function: str
    parameters: Mapping[str, str] = field(default_factory=dict)


class NotApplicable(Exception):
    """The operator cannot change this prompt; the text gives the reason."""


Rule = Callable[[Original, Random], Paraphrase]
"""Raises `NotApplicable` where there is nothing to change."""


@dataclass(frozen=True)
class Operator:
    """`rule`, if any, runs first; `instruction`, if any, is for a model where the rule is missing or not applicable."""

    name: str
    family: Family
    summary: str
    rule: Rule | None = None
    instruction: str = ""

    @property
    def source(self) -> str:
        return " or ".join(["rule"] * (self.rule is not None) + ["model"] * bool(self.instruction))


OPERATORS: Registry[Operator] = Registry("operator", "dlbench.agreement.mutation")


def operator(
    name: str, family: Family, summary: str, *, instruction: str = "", order: int = 100
) -> Callable[[Rule], Rule]:
    """Register the decorated rule as an operator. `order` places it in `OPERATORS`."""

    def register(rule: Rule) -> Rule:
        OPERATORS.add(name, Operator(name, family, summary, rule, instruction), order=order)
        return rule

    return register


def render_operators() -> str:
    """Render the Markdown table of operators for the documentation."""
    rows = [f"| `{one.name}` | {one.family} | {one.summary} | {one.source} |" for one in OPERATORS.values()]
    return "\n".join(["| operator | family | what it changes | made by |", "| --- | --- | --- | --- |", *rows]) + "\n"
