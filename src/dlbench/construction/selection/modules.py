"""What does a Python file define, import and explain?

Read as text, never run: the file is a stranger's, and the project's own dependencies are not here. What our Python
cannot parse is passed over and counted.
"""

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dlbench.parsing import parse as make_tree

MOST_BYTES = 2 << 20

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """`functions` and the methods of `classes` by name; `documented` counts those public ones with a docstring."""

    imports: frozenset[str]
    functions: frozenset[str]
    classes: dict[str, frozenset[str]]
    public: int
    documented: int


def parse(path: Path) -> ast.Module | None:
    try:
        if path.stat().st_size > MOST_BYTES:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # A stranger's odd escapes are no news to our user.
            return make_tree(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError, OSError):
        return None


def read_module(path: Path) -> Module | None:
    tree = parse(path)
    if tree is None:
        return None
    functions = {node.name: node for node in members(tree) if isinstance(node, Function)}
    classes = {node.name: node for node in members(tree) if isinstance(node, ast.ClassDef)}
    methods = {name: {f.name: f for f in members(node) if isinstance(f, Function)} for name, node in classes.items()}
    public = [function for name, function in functions.items() if _is_public(name)]
    for owner, inner in methods.items():
        public += [method for name, method in inner.items() if _is_public(owner) and _is_public(name)]
    return Module(
        imports=frozenset(imported(tree)),
        functions=frozenset(functions),
        classes={name: frozenset(inner) for name, inner in methods.items()},
        public=len(public),
        documented=sum(ast.get_docstring(function, clean=False) is not None for function in public),
    )


def members(owner: ast.Module | ast.ClassDef) -> Iterator[ast.stmt]:
    """Statements of a module or class, those under `if`, `try` and `with` too: code is often defined twice that way."""
    waiting: list[ast.stmt] = list(reversed(owner.body))
    while waiting:
        node = waiting.pop()
        yield node
        match node:
            case ast.If(body=first, orelse=second):
                waiting += reversed([*first, *second])
            case ast.Try(body=first, handlers=handlers, orelse=second, finalbody=last):
                caught = [statement for handler in handlers for statement in handler.body]
                waiting += reversed([*first, *caught, *second, *last])
            case ast.With(body=first):
                waiting += reversed(first)


def imported(tree: ast.AST) -> Iterator[str]:
    """First parts of the names of imported modules, wherever the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]


def _is_public(name: str) -> bool:
    return not name.startswith("_")
