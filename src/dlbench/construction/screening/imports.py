"""Which libraries do the names of a module stand for?

`np` is numpy only because the module says so. Guessing from the name alone calls a parameter `jax` a library, and does
not know that `F` is one.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dlbench.dataset.target import walk_code


@dataclass(frozen=True)
class Binding:
    """A name that an import statement binds, and the full dotted name that it stands for."""

    name: str
    dotted: str

    @property
    def library(self) -> str:
        """The package at the top; empty for the standard library."""
        top = self.dotted.partition(".")[0]
        return "" if top in sys.stdlib_module_names or top == "__future__" else top


def find_imports(tree: ast.AST, package: str = "") -> list[Binding]:
    """Everything imported anywhere in the tree, in order; `package` is what a relative import is relative to."""
    return [binding for node in walk_code(tree) for binding in _bindings(node, package)]


def name_libraries(tree: ast.AST, imports: Iterable[Binding]) -> tuple[str, ...]:
    """The libraries behind the names that the tree mentions, and those that it imports itself."""
    own = find_imports(tree)
    libraries = {binding.name: binding.library for binding in [*imports, *own]}
    mentioned = {node.id for node in walk_code(tree) if isinstance(node, ast.Name)} | {binding.name for binding in own}
    return tuple(sorted({libraries.get(name, "") for name in mentioned} - {""}))


def _bindings(node: ast.AST, package: str) -> Iterator[Binding]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Binding(alias.asname or alias.name.partition(".")[0], alias.name)
    elif isinstance(node, ast.ImportFrom):
        module = _absolute(node, package)
        for alias in node.names if module else []:
            yield Binding(alias.asname or alias.name, module if alias.name == "*" else f"{module}.{alias.name}")


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".") if package else []
    kept = parts[: len(parts) - node.level + 1]
    return ".".join([*kept, *([node.module] if node.module else [])]) if kept else ""
