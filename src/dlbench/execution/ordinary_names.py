"""Decide which names of libraries, and of the project itself, honest code may use."""

import ast
import builtins
import importlib
import re
import types
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from dlbench.execution.scopes import Function, get_root, get_text, list_bound_anywhere, list_stored
from dlbench.execution.unusual_names import CAREFUL
from dlbench.parsing import parse

_HARMLESS_MODULES = {
    "__future__", "array", "base64", "bisect", "calendar", "cmath", "collections", "csv", "datetime", "decimal",
    "fractions", "hashlib", "heapq", "itertools", "json", "math", "numbers", "random", "re", "secrets", "statistics",
    "struct", "textwrap", "time", "unicodedata", "uuid", "zlib",
}  # fmt: skip
"""Their public names are ordinary."""


GUESTS = frozenset({"pandas", "polars", "sklearn", "keras", "transformers", "narwhals"})
"""Libraries whose objects take attributes from texts. They are ordinary where the module imports them, too."""
_CLOSED = {"test", "tests", "testing"}
_ACTING = frozenset({"pack_into", "Struct", "setcontext", "setfirstweekday", "setstate"})
"""Names of these modules that write memory, or settings of all code."""


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
    names = set(found.get("__all__") or [name for name in found if not name.startswith("_")]) - _ACTING
    kept = [name for name in names if not isinstance(found[name], types.ModuleType)]
    return frozenset(
        name
        for name in kept
        if ("__all__" in found or getattr(found[name], "__module__", module) == module) and not name.startswith("User")
    )


def is_listed(chain: str, libraries: Collection[str] = GUESTS) -> bool:
    """`libraries`: those that the module of the target imports."""
    if (library := chain.partition(".")[0]) in GUESTS and library not in libraries:
        return False
    module, _, name = chain.rpartition(".")
    return chain in _load_list()[0] or (module in _HARMLESS_MODULES and name in _list_public(module))


def is_listed_module(name: str) -> bool:
    return name in _load_list()[1]


def _list_kept_types(tree: ast.Module) -> Iterator[str]:
    """Attributes to which the module assigns a `type(...)` and which none of its functions returns."""
    returned = {get_text(node.value) for node in ast.walk(tree) if isinstance(node, ast.Return) and node.value}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=attr)],
                value=value,
            ) if f"self.{attr}" not in returned and _asks_type(value):
                yield attr


def _asks_type(value: ast.expr) -> bool:
    return any(isinstance(one, ast.Call) and get_text(one.func) == "type" for one in ast.walk(value))


class ModuleFacts:
    """What the module of a target uses, read once for all its candidates."""

    def __init__(self, tree: ast.Module, name: str, file: Path | None = None) -> None:
        """`file`: of the module, in the project's tree; without it the project defines nothing else."""
        self.package = name.partition(".")[0]
        is_package = file is not None and file.name == "__init__.py"
        self.parents = name.split(".") if is_package else name.split(".")[:-1]
        self.root = file.parents[len(self.parents)] if file is not None else None
        self.imported = {name for name, _ in list_imports(tree)}
        self.aliases = [(bound, self._find_library(meaning) or meaning) for bound, meaning in list_aliases(tree)]
        meanings: dict[str, set[str]] = {}
        for bound, meaning in self.aliases:
            meanings.setdefault(bound, set()).add(meaning)
        self.chains = set(_list_chains(tree, meanings))
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        own = [node for node in nodes if isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}]
        self.own_attributes = {node.attr for node in own}
        self.set_attributes = {node.attr for node in own if isinstance(node.ctx, ast.Store)}
        self.kept_types = set(_list_kept_types(tree))
        self.classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        methods = {name for node in self.classes.values() for name in list_stored(node)}
        self.attributes = {node.attr for node in nodes} | methods
        """Names behind a dot, and those that its classes define."""
        self.libraries = {name.partition(".")[0] for name in [*self.imported, *(one for _, one in self.aliases)]}
        self.stored = list_stored(tree)
        self.defined = {node.name for node in tree.body if isinstance(node, Function | ast.ClassDef)}
        self.taken = self.stored | {bound for bound, _ in self.aliases} | set(dir(builtins))

    def skip_module(self, chain: str) -> list[str]:
        """The parts of a dotted name behind the module of the project that it begins with, if any."""
        parts = self._make_absolute(chain)
        count = next((count for count in range(len(parts), 0, -1) if self._find_file(parts[:count])), 0)
        return parts[count:] if count else chain.split(".")

    def has_attribute(self, name: str) -> bool:
        """Whether the module uses it behind a dot, or the project defines it for its own objects."""
        return name in self.attributes or (
            self.root is not None and not name.startswith("_") and name in _list_defined(self.root / self.package)
        )

    def may_bring(self, node: ast.stmt, holder: str) -> bool:
        """Whether an answer may add a statement to a class: it replaces nothing that the class inherits."""
        if not isinstance(node, Function | ast.Assign | ast.AnnAssign) or not self._is_root(holder.rpartition(".")[2]):
            return False
        if isinstance(node, Function):
            kinds = {get_text(one) for one in node.decorator_list}
            return not node.name.startswith("__") and kinds <= {"staticmethod", "classmethod"}
        names = node.targets if isinstance(node, ast.Assign) else [node.target]
        return all(isinstance(name, ast.Name) and not name.id.startswith("__") for name in names)

    def _is_root(self, name: str) -> bool:
        """Whether a class has no bases but those that only mark it, and nothing that changes it."""
        node = self.classes.get(name)
        if node is None or node.keywords or node.decorator_list:
            return False
        bases = [get_text(base.value if isinstance(base, ast.Subscript) else base) for base in node.bases]
        return all(base in {"object", "ABC", "abc.ABC", "Generic", "Protocol"} for base in bases)

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

    def _find_library(self, chain: str) -> str:
        """The library that it names, if another module of the project imports it under that name."""
        parts = self._make_absolute(chain) if self.is_internal(chain) else []
        file = self._find_file(parts[:-1]) if len(parts) > 1 else None
        return _find_library(file, parts[-1]) if file is not None else ""

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


_DEFINED = re.compile(
    r"^\s*(?:async )?def (\w+)|\bself\.(\w+)(?: *:[^=\n]+)? = |^[ \t]+(\w+) *: *[A-Za-z\"'\[]", re.MULTILINE
)


@cache
def _list_defined(package: Path) -> frozenset[str]:
    """Names of the functions, attributes and annotated fields that a project defines, except in its tests."""
    files = [file for file in package.rglob("*.py") if not _CLOSED & {*file.relative_to(package).parts}]
    found = {name for file in files for names in _DEFINED.findall(file.read_text(encoding="utf-8")) for name in names}
    return frozenset(found - CAREFUL)


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


@cache
def _find_library(file: Path, name: str) -> str:
    """The library that a module imports under a name, which means nothing else there but None."""
    tree = parse(file.read_text(encoding="utf-8"))
    found = {meaning for bound, meaning in list_aliases(tree) if bound == name}
    count = len(list_bound_anywhere([*ast.walk(tree)]).get(name, ()))
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                count -= sum((one.asname or one.name) == name for one in names)
            case ast.Assign(targets=[ast.Name(id=bound)], value=ast.Constant(value=None)):
                count -= bound == name
    return found.pop() if len(found) == 1 and not count else ""


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
