"""Which names does a candidate use that nobody has?

Found without running it: names that neither the candidate, nor its module, nor Python binds; attributes of `self` that
the module's text never mentions; and what it takes from libraries, to be looked up in the project's environment.
"""

import ast
import builtins
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from dlbench.dataset.target import dotted_name
from dlbench.execution.names import find_names
from dlbench.parsing import parse

_BUILTINS = frozenset(dir(builtins)) | {"__class__", "__file__", "__name__"}


@dataclass(frozen=True)
class Names:
    undefined: tuple[str, ...] = ()
    called: tuple[str, ...] = ()
    """Those of the undefined that are called, or look like a class."""
    unknown_of_self: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    """What is taken from libraries: `numpy.foo`, as a path of names; what the module takes itself is left out."""


def study_names(code: str, tree: ast.Module, source: str) -> Names:
    """`source`: the module around the candidate."""
    around = read_module(source)
    found = find_names(code)
    undefined = found.used - found.bound - around.bound - _BUILTINS
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    objects = {
        node.value.id for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    made_up = {name for name in undefined if name in called or (name[:1].isupper() and name in objects)}
    own = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }
    stored = {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    return Names(
        undefined=tuple(sorted(undefined)),
        called=tuple(sorted(made_up)),
        unknown_of_self=tuple(sorted(own - stored - around.words)),
        wanted=tuple(sorted(_find_wanted(tree, around))),
    )


@dataclass(frozen=True)
class Around:
    """What a module's text holds."""

    bound: frozenset[str]
    imports: dict[str, str]
    """A name, and the path that it stands for."""
    words: frozenset[str]
    """Every name and attribute."""
    used: frozenset[str]
    """Paths into libraries that the module takes itself, and that therefore exist."""


@lru_cache(maxsize=256)
def read_module(source: str) -> Around:
    tree = parse(source)
    imports = read_imports(tree.body)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    words = names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    words |= {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    bound = find_names(source).bound | set(imports)
    return Around(frozenset(bound), imports, frozenset(words), frozenset(find_paths(tree, imports)))


def read_imports(statements: Iterable[ast.stmt]) -> dict[str, str]:
    """Absolute imports only: what a module takes from its own package cannot be looked up without running it."""
    found: dict[str, str] = {}
    for node in statements:
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def find_paths(tree: ast.AST, imports: dict[str, str]) -> set[str]:
    """`np.linalg.norm` as `numpy.linalg.norm`, for every name that an import brought."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            root, _, rest = dotted_name(node).partition(".")
            if root in imports and _is_path(node):
                found.add(f"{imports[root]}.{rest}")
    return found


def _is_path(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _find_wanted(tree: ast.Module, around: Around) -> set[str]:
    own = read_imports(node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    paths = find_paths(tree, around.imports | own) | set(own.values())
    return paths - around.used - set(around.imports.values())
