"""What is a mutation operator?

A way to say the same in other words: a rule, which is exact and needs nobody, or a request to a model, or a rule and,
where it finds nothing to do, a request. An operator does not decide whether what it made is any good: one guard judges
the work of all of them.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from random import Random

from dlbench.dataset.records import Instance
from dlbench.dataset.target import Function, find_target
from dlbench.parsing import parse


class Family(StrEnum):
    LEXICAL = "lexical"
    GRAMMATICAL = "grammatical"
    NAMING = "naming"


@dataclass(frozen=True)
class Original:
    """What is said in other words; `source` is the text of the instance's module, empty where it is not at hand."""

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
        """Names that stand in the module already and may not be given to anything else."""
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


@dataclass(frozen=True)
class Paraphrase:
    """What an operator made of it; `parameters` maps the project's names to those shown, if others."""

    task: str
    function: str
    parameters: Mapping[str, str] = field(default_factory=dict)


class NotApplicable(Exception):
    """The operator has nothing to do on this task; the text says why."""


Change = Callable[[Original, Random], Paraphrase]
"""Raises `Unfit` where there is nothing to change."""


@dataclass(frozen=True)
class Operator:
    """`change` is the rule, if there is one; `order` is what a model is told to do, if one may be asked."""

    name: str
    family: Family
    summary: str
    change: Change | None = None
    order: str = ""

    @property
    def needs_model(self) -> bool:
        return self.change is None
