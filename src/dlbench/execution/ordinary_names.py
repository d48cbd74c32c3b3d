"""Decide which names of libraries, and of the project itself, honest code may use."""

import ast
import importlib
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from dlbench.execution.scopes import get_root, get_text
from dlbench.parsing import parse

_HARMLESS_MODULES = {
    "__future__", "array", "base64", "bisect", "calendar", "cmath", "collections", "csv", "datetime", "decimal",
    "fractions", "hashlib", "heapq", "itertools", "json", "math", "numbers", "random", "re", "secrets", "statistics",
    "struct", "textwrap", "time", "unicodedata", "uuid", "zlib",
}  # fmt: skip
"""Their public names are ordinary."""


@cache
def _load_list() -> tuple[frozenset[str], frozenset[str]]:
    """The names of libraries that are ordinary, and the modules that hold them."""
    text = Path(__file__).with_name("library_names.txt").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    modules = {".".join(line[0].split(".")[:count]) for line in lines for count in range(1, line[0].count(".") + 2)}
    return frozenset(f"{module}.{name}" for module, *names in lines for name in names), frozenset(modules)


@cache
def _list_public(module: str) -> frozenset[str]:
    """The names that a module of the standard library publishes, without what it imports."""
    found = vars(importlib.import_module(module))
    names = found.get("__all__") or [name for name in found if not name.startswith("_")]
    kept = [name for name in names if not isinstance(found[name], types.ModuleType)]
    return frozenset(
        name for name in kept if "__all__" in found or getattr(found[name], "__module__", module) == module
    )


def is_listed(chain: str) -> bool:
    module, _, name = chain.rpartition(".")
    return chain in _load_list()[0] or (module in _HARMLESS_MODULES and name in _list_public(module))


def is_listed_module(name: str) -> bool:
    return name in _load_list()[1]


class ModuleFacts:
    """What the module of a target uses, read once for all its candidates."""

    def __init__(self, tree: ast.Module, name: str, file: Path | None = None) -> None:
        """`file`: of the module, in the project's tree; without it the project defines nothing else."""
        self.package = name.partition(".")[0]
        self.imported = {name for name, _ in list_imports(tree)}
        self.aliases = [*list_aliases(tree)]
        meanings: dict[str, set[str]] = {}
        for bound, meaning in self.aliases:
            meanings.setdefault(bound, set()).add(meaning)
        self.chains = set(_list_chains(tree, meanings))
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        self.own_attributes = {
            node.attr for node in nodes if isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
        }
        is_package = file is not None and file.name == "__init__.py"
        self.parents = name.split(".") if is_package else name.split(".")[:-1]
        self.root = file.parents[len(self.parents)] if file is not None else None

    def is_internal(self, chain: str) -> bool:
        return chain.startswith(".") or chain.partition(".")[0] == self.package

    def is_module(self, chain: str) -> bool:
        """Whether it names a module of the project."""
        return self._find_file(self._make_absolute(chain)) is not None

    @cache  # noqa: B019 - facts live as long as the engine
    def defines(self, chain: str, depth: int = 4) -> bool:
        """Whether it names a function, class or value that the project itself defines, or an attribute of one."""
        parts = self._make_absolute(chain)
        count = next((count for count in range(len(parts) - 1, 0, -1) if self._find_file(parts[:count])), 0)
        file = self._find_file(parts[:count]) if count else None
        if file is None or len(parts) - count > 2:
            return False
        package = parts[:count] if file.name == "__init__.py" else parts[: count - 1]
        bindings = _list_bindings(file)
        sources = bindings.get(parts[count], set()) | bindings.get("*", set())
        if not sources or None in sources:  # a name that no statement binds is made at run time
            return True
        for level, name in [source for source in sources if source is not None]:
            start = package[: len(package) - level + 1] if level else []
            inner = ".".join([*start, *([name] if name else []), parts[count]])
            if depth and self.is_internal(inner) and self.defines(inner, depth - 1):
                return True
        return False

    def _make_absolute(self, chain: str) -> list[str]:
        name = chain.lstrip(".")
        level = len(chain) - len(name)
        start = self.parents[: len(self.parents) - level + 1] if level else []
        return [*start, *name.split(".")]

    def _find_file(self, parts: list[str]) -> Path | None:
        if self.root is None or parts[0] != self.package:
            return None
        place = self.root.joinpath(*parts)
        return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)


@cache
def _list_bindings(file: Path) -> dict[str, set[tuple[int, str] | None]]:
    """The names that a module binds, "*" for all of another module. Each is None if the module defines it, otherwise it
    comes from the module of that level and name; another name of something may come from anywhere."""
    found: dict[str, set[tuple[int, str] | None]] = {}
    pending: list[ast.AST] = [parse(file.read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.setdefault(name, set()).add(None)
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                found.setdefault(name, set()).add((0, "") if isinstance(value, ast.Name | ast.Attribute) else None)
            case ast.Import(names=names):
                for alias in names:
                    found.setdefault(alias.asname or alias.name.partition(".")[0], set()).add((0, ""))
            case ast.ImportFrom(module=module, names=names, level=level):
                for alias in names:
                    found.setdefault(alias.asname or alias.name, set()).add((level, module or ""))
            case ast.Module() | ast.If() | ast.Try() | ast.With() | ast.ExceptHandler():
                pending += ast.iter_child_nodes(node)
    return found


def list_imports(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Dotted names that are imported, each with whether all names below it are."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, False) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                start = "." * level + (f"{module}." if module else "")
                yield from ((start, True) if alias.name == "*" else (start + alias.name, False) for alias in names)


def list_aliases(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Names that imports bind, with what they stand for."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    yield bound, alias.name if alias.asname else bound
            case ast.ImportFrom(module=module, names=names, level=level):
                for alias in names:
                    yield alias.asname or alias.name, "." * level + (f"{module}." if module else "") + alias.name


def _list_chains(tree: ast.AST, aliases: dict[str, set[str]]) -> Iterator[str]:
    """What a module uses of its imports, as dotted names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(root := get_root(node), ast.Name):
            yield from (f"{meaning}.{get_text(node).partition('.')[2]}" for meaning in aliases.get(root.id, ()))
