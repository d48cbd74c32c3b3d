"""What does a test need of what was written around it?

A test that is run alone must bring its imports, its data and its helpers, and nothing else: another test's failing line
must not fail this one. Found from the names it uses, backwards: what binds them, what changes them in place, and what
those need in turn.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from dlbench.execution.names import find_changed, find_names

_SEEDS = ("seed", "manual_seed", "set_seed", "set_random_seed")


@dataclass(frozen=True)
class Part:
    """A statement that tests may need, and what is known of it: worked out once, for a file has many tests."""

    place: int
    statement: ast.stmt
    gives: frozenset[str]
    """Names that it binds, and names whose objects it changes in place."""
    used: frozenset[str]
    is_for_all: bool


def read_part(place: int, statement: ast.stmt) -> Part:
    text = _write([statement])
    names = find_names(text)
    return Part(place, statement, names.bound | find_changed(text), names.used, _is_for_all(statement))


def find_needed(test: Sequence[ast.stmt], around: Sequence[Part]) -> list[ast.stmt]:
    """Those statements of `around`, in their order, that the test cannot do without."""
    wanted = set(find_names(_write(test)).used)
    kept: list[ast.stmt] = []
    for part in reversed(around):
        if part.gives & wanted or part.is_for_all:
            kept.append(part.statement)
            wanted |= part.used
    return kept[::-1]


def _write(statements: Sequence[ast.stmt]) -> str:
    return ast.unparse(ast.Module(list(statements), []))


def _is_for_all(statement: ast.stmt) -> bool:
    """Names nobody can tell, and numbers that come of a seed."""
    match statement:
        case ast.ImportFrom(names=[ast.alias(name="*")]):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name))):
            return name in _SEEDS
    return False
