"""What does a test need of what was written around it?

A test that is run alone must bring its imports, its data and its helpers, and nothing else: another test's failing line
must not fail this one. Found from the names it uses, backwards: what binds them, what changes them in place, and what
those need in turn.
"""

import ast
from collections.abc import Sequence

from dlbench.execution.names import find_changed, find_names

_SEEDS = ("seed", "manual_seed", "set_seed", "set_random_seed")


def find_needed(test: Sequence[ast.stmt], around: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Those statements of `around`, in their order, that the test cannot do without."""
    wanted = set(find_names(_write(test)).used)
    kept: list[ast.stmt] = []
    for statement in reversed(around):
        names = find_names(_write([statement]))
        if names.bound & wanted or find_changed(_write([statement])) & wanted or _is_for_all(statement):
            kept.append(statement)
            wanted |= names.used
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
