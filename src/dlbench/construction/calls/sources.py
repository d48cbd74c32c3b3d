"""What does each file of a project define, and what do its names stand for?

A name leads through imports, aliases and re-exports to one definition or to several, where branches define it twice.
Names that lead out of the project lead nowhere here: third-party functions are not in the graph.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from dlbench.construction.collect import is_test_code
from dlbench.construction.extract import name_module
from dlbench.construction.selection.source_layout import members, parse
from dlbench.dataset.target import Function


@dataclass(frozen=True, eq=False)
class FunctionDef:
    """`owner` is the class in whose body it stands."""

    module: "Module"
    qualname: str
    node: Function
    owner: "ClassDef | None"

    @property
    def id(self) -> str:
        return f"{self.module.path}::{self.qualname}"

    @cached_property
    def decorators(self) -> frozenset[str]:
        return frozenset(last_name(decorator) for decorator in self.node.decorator_list)

    @property
    def is_property(self) -> bool:
        return bool(self.decorators & {"property", "cached_property", "lazy_property", "setter"})


@dataclass(frozen=True, eq=False)
class ClassDef:
    module: "Module"
    qualname: str
    node: ast.ClassDef
    members: dict[str, "list[FunctionDef | ClassDef | ast.expr]"] = field(default_factory=dict)


@dataclass(eq=False)
class Module:
    """`imports`: local name to dotted names; `stars`: modules whose every name is taken in."""

    path: str
    name: str
    tree: ast.Module
    is_package: bool
    names: dict[str, list[FunctionDef | ClassDef | ast.expr]] = field(default_factory=dict)
    imports: dict[str, list[str]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)

    @property
    def is_test_code(self) -> bool:
        return is_test_code(self.path)


def last_name(node: ast.expr) -> str:
    """`fixture` of `@pytest.fixture(scope=...)`."""
    inner = node.func if isinstance(node, ast.Call) else node
    return inner.attr if isinstance(inner, ast.Attribute) else inner.id if isinstance(inner, ast.Name) else ""


class Sources:
    """All Python files of a tree, by path and by the dotted name under which they are imported."""

    def __init__(self, tree: Path, import_root: str) -> None:
        self.by_path: dict[str, Module] = {}
        self.by_name: dict[str, Module] = {}
        self.methods: dict[str, list[FunctionDef]] = {}
        """Methods of the project itself by their bare names."""
        self.top: dict[str, list[FunctionDef | ClassDef]] = {}
        """What modules of the project define at their top, by bare names."""
        for path in sorted(tree.rglob("*.py")):
            relative = path.relative_to(tree).as_posix()
            parsed = parse(path)
            if parsed is not None:
                self._take(relative, parsed, import_root)

    def _take(self, path: str, parsed: ast.Module, import_root: str) -> None:
        name = name_module(path, import_root) or name_module(path, ".")
        module = Module(path, name, parsed, path.endswith("/__init__.py"))
        self.by_path[path] = module
        if name:
            self.by_name.setdefault(name, module)
        for statement in members(parsed):
            self._define(module, statement, module.names, "", None)
        for node in ast.walk(parsed):
            if isinstance(node, ast.Import | ast.ImportFrom):
                _take_import(module, node)

    def _define(
        self,
        module: Module,
        statement: ast.stmt,
        names: dict[str, list[FunctionDef | ClassDef | ast.expr]],
        prefix: str,
        owner: ClassDef | None,
    ) -> None:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                function = FunctionDef(module, f"{prefix}{name}", statement, owner)
                names.setdefault(name, []).append(function)
                if not module.is_test_code:
                    if owner:
                        self.methods.setdefault(name, []).append(function)
                    else:
                        self.top.setdefault(name, []).append(function)
            case ast.ClassDef(name=name):
                inner = ClassDef(module, f"{prefix}{name}", statement)
                names.setdefault(name, []).append(inner)
                if not module.is_test_code and owner is None:
                    self.top.setdefault(name, []).append(inner)
                for part in members(statement):
                    self._define(module, part, inner.members, f"{prefix}{name}.", inner)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    for name in _names_of(target):
                        names.setdefault(name, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                names.setdefault(name, []).append(value)

    def find_module(self, dotted: str) -> Module | None:
        return self.by_name.get(dotted)


def _names_of(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _names_of(part)


def _take_import(module: Module, node: ast.Import | ast.ImportFrom) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            dotted = alias.name if alias.asname else alias.name.partition(".")[0]
            module.imports.setdefault(alias.asname or dotted, []).append(dotted)
        return
    base = node.module or ""
    if node.level:
        parts = module.name.split(".")
        above = parts[: len(parts) - node.level + (1 if module.is_package else 0)]
        base = ".".join([*above, base] if base else above)
    for alias in node.names:
        if alias.name == "*":
            module.stars.append(base)
        else:
            module.imports.setdefault(alias.asname or alias.name, []).append(f"{base}.{alias.name}")
