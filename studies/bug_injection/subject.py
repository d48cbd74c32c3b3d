"""The function that bugs are injected into, and helpers to edit copies of it.

The subject is a reference without docstring and decorators; each injector changes a copy. The result must compile and
differ from the reference. Its category is the injector's, whatever the tests say later.
"""

import ast
import copy
import pickle
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from dlbench.analysis.bugs.evidence import ARRAYS, mentions
from dlbench.dataset.target import Function, find_body
from dlbench.parsing import parse


@dataclass(frozen=True)
class InjectedBug:
    category: str
    kind: str
    operator: str
    code: str
    prompt: str = ""
    """Replaces the instance's prompt; empty if that stays."""


@dataclass(frozen=True)
class Subject:
    function: Function
    prompt: str
    module: ast.Module
    rng: random.Random = field(default_factory=lambda: random.Random(0))

    @property
    def parameters(self) -> list[str]:
        arguments = self.function.args
        names = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        return [name for name in names if name not in ("self", "cls")]

    @cached_property
    def stored(self) -> list[str]:
        """Local variables that are not parameters."""
        names = [one.id for one in self.walk if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
        return [name for name in dict.fromkeys(names) if name not in self.parameters]

    @cached_property
    def is_numeric(self) -> bool:
        return any(isinstance(one, ast.Name) and one.id in ARRAYS for one in self.walk)

    @cached_property
    def walk(self) -> list[ast.AST]:
        return list(ast.walk(self.function))

    def shuffled(self, *kinds: type[ast.AST]) -> list[int]:
        """Indices of such nodes in the walk, in random order; they are valid in a copy too."""
        places = [place for place, node in enumerate(self.walk) if isinstance(node, kinds)]
        self.rng.shuffle(places)
        return places

    def copy_at(self, place: int) -> tuple[Function, ast.AST]:
        """A copy of the function, and the node at that index in it."""
        made = pickle.loads(self._packed)
        return made, list(ast.walk(made))[place]

    @cached_property
    def _packed(self) -> bytes:
        # Copied once per node; many times faster than `copy.deepcopy`.
        return pickle.dumps(self.function)


Injector = Callable[[Subject], Iterator[tuple[str, str, Function | str]]]
"""Yields subcategory, operator, and the changed function (text if it must not parse)."""


def make_subject(function: Function, prompt: str, module: ast.Module, seed: str) -> Subject:
    made = copy.deepcopy(function)
    made.decorator_list = []
    made.body = find_body(made) or [ast.Pass()]
    return Subject(made, prompt, module, random.Random(seed))


def write(function: Function) -> str:
    return ast.unparse(ast.fix_missing_locations(function)) + "\n"


def replace_node(function: Function, old: ast.AST, new: ast.AST) -> Function:
    """Replace one node in place."""
    for parent in ast.walk(function):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
                return function
            if isinstance(value, list) and any(item is old for item in value):
                setattr(parent, name, [new if item is old else item for item in value])
                return function
    return function


def replace_by_block(function: Function, old: ast.AST, block: Sequence[ast.AST]) -> Function:
    """Replace one statement by several, in place."""
    for parent in ast.walk(function):
        for name, value in ast.iter_fields(parent):
            if isinstance(value, list) and any(item is old for item in value):
                setattr(parent, name, [one for item in value for one in (block if item is old else [item])])
                return function
    return function


def prepend(function: Function, *lines: str) -> Function:
    made = copy.deepcopy(function)
    made.body = [*parse("\n".join(lines)).body, *made.body]
    return made


def parse_expression(text: str, **parts: ast.expr) -> ast.expr:
    """Parse an expression and replace names in it by other expressions."""

    class Substitute(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return copy.deepcopy(parts[node.id]) if node.id in parts else node

    made = Substitute().visit(parse(text, mode="eval")).body
    assert isinstance(made, ast.expr)
    return made


def cut_sentences(prompt: str, *literals: object) -> str:
    """The text without the sentences that mention one of these."""
    parts = re.split(r"(?<=[.!?;:])\s+|\n+", prompt)
    return " ".join(part for part in parts if not any(mentions(part, one) for one in literals))
