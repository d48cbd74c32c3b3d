"""Parse a source file once for all its functions: its kind by path, what its names refer to, and its subject.

Names are resolved through imports: by name alone, a parameter `jax` would count as a library and `F` would not. A
deep-learning project also parses arguments, prints tables and finds files; such functions say nothing about deep
learning.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import PurePosixPath

from dlbench.dataset.target import Function, first_line, walk_code
from dlbench.parsing import parse


@dataclass(frozen=True)
class Binding:
    """A name bound by an import statement, and the full dotted name it refers to."""

    name: str
    dotted: str

    @property
    def library(self) -> str:
        """The top-level package; empty for the standard library."""
        top = self.dotted.partition(".")[0]
        return "" if top in sys.stdlib_module_names or top == "__future__" else top


def find_imports(tree: ast.AST, package: str = "") -> list[Binding]:
    """All imports of the tree, in order; `package` is the base of relative imports."""
    return [binding for node in walk_code(tree) for binding in _bindings(node, package)]


def name_libraries(tree: ast.AST, imports: Iterable[Binding]) -> tuple[str, ...]:
    """The libraries of the names that the tree mentions, and of its own imports."""
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


_FOLDERS = {
    "test": "tests", "tests": "tests", "testdata": "tests", "example": "examples", "examples": "examples",
    "demo": "examples", "demos": "examples", "tutorials": "examples", "notebooks": "examples",
    "benchmark": "benchmarks", "benchmarks": "benchmarks", "doc": "documentation", "docs": "documentation",
    "script": "scripts", "scripts": "scripts", "_vendor": "vendored code", "vendor": "vendored code",
    "_vendored": "vendored code", "vendored": "vendored code", "third_party": "vendored code",
    "thirdparty": "vendored code", "external": "vendored code", "_external": "vendored code", "extern": "vendored code",
}  # fmt: skip
_TOP_LEVEL = {"tools": "scripts", "ci": "scripts", "setup.py": "scripts", "noxfile.py": "scripts"}
_HELPERS = {"testing", "_testing", "testing_utils", "test_utils", "test_util", "testutils", "test_helpers"}
ROOTS = {"src", "lib", "python"}


def classify_path(path: str) -> str:
    """Kind of a file: tests, examples, scripts, vendored code and so on; empty for project code."""
    *folders, file = parts = PurePosixPath(path).parts
    stem = PurePosixPath(file).stem
    for folder in folders:
        if folder.lower() in _FOLDERS:
            return _FOLDERS[folder.lower()]
    if parts[0] in _TOP_LEVEL:
        return _TOP_LEVEL[parts[0]]
    if _HELPERS & {*folders, stem}:
        return "helpers for tests"
    if stem in {"conftest", "test", "tests"} or stem.startswith("test_") or stem.endswith(("_test", "_tests")):
        return "tests"
    return ""


def name_module(path: str) -> str:
    """`src/toy/core.py` is imported as `toy.core`, `toy/__init__.py` as `toy`."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    if len(parts) > 1 and parts[0] in ROOTS:
        del parts[0]
    if parts[-1] == "__init__":
        del parts[-1]
    return ".".join(parts)


def name_package(path: str) -> str:
    """The package that relative imports in this file refer to."""
    module = name_module(path)
    return module if PurePosixPath(path).name == "__init__.py" else module.rpartition(".")[0]


def find_used_helpers(paths: Iterable[str], read_source: Callable[[str], str]) -> set[str]:
    """The files named like test helpers that a module of the project itself imports."""
    unique = sorted(set(paths))
    helpers = {path: name_module(path) for path in unique if classify_path(path) == "helpers for tests"}
    imported: set[str] = set()
    for path in unique if helpers else []:
        if not classify_path(path):
            try:
                tree = parse(read_source(path))
            except (OSError, SyntaxError, ValueError):
                continue
            imported |= {f"{binding.dotted}." for binding in find_imports(tree, name_package(path))}
    return {path for path, module in helpers.items() if any(one.startswith(f"{module}.") for one in imported)}


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_NAMES: dict[type[ast.AST], str] = {ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg", ast.keyword: "arg"}


@dataclass(frozen=True)
class Subject:
    """Signs of machine learning in a module, by the lists in `words.toml`."""

    libraries: frozenset[str]
    """Imported learning and array libraries, except the project itself."""
    path: frozenset[str]
    """Words in its path below the project's own package."""
    words: frozenset[str]
    """Words in its docstring, in the names it defines, and in its imports from the project."""

    def find_signs(self, qualname: str, function: Function) -> list[str]:
        """Signs that one of its functions concerns machine learning; empty if they are too few."""
        known = read_known()["words"]
        names = [getattr(node, _NAMES[type(node)]) for node in walk_code(function) if type(node) in _NAMES]
        strong = self.libraries | self.path | (known & split_words([qualname]))
        weak = self.words | (known & split_words(filter(None, names)))
        return sorted(strong | weak) if strong or len(weak) > 1 else []


def split_words(names: Iterable[str]) -> set[str]:
    """Split `RandomCrop2D`, `random_crop` and "Random crops." into lower-case words."""
    return {word.lower() for name in names for word in _WORD.findall(name)}


@cache
def read_known() -> dict[str, frozenset[str]]:
    """The lists of known libraries and words."""
    text = files("dlbench.construction.screening").joinpath("words.toml").read_text(encoding="utf-8")
    return {name: frozenset(values) for name, values in tomllib.loads(text).items()}


_GENERATED = re.compile(r"@generated|\b(auto-?)?generated (by|from|file|code)\b|\bdo not edit\b", re.IGNORECASE)


@dataclass(frozen=True)
class Module:
    path: str
    source: str
    tree: ast.Module
    imports: list[Binding]

    @cached_property
    def lines(self) -> list[str]:
        # As the parser counts them: str.splitlines also breaks at form feeds and the like.
        return self.source.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    @cached_property
    def functions(self) -> dict[int, Function]:
        """Functions by first line, including decorators."""
        return {first_line(node): node for node in walk_code(self.tree) if isinstance(node, Function)}

    @cached_property
    def subject(self) -> Subject:
        known = read_known()
        # The project's own name is no sign, since it would match every function.
        own, _, below = name_module(self.path).partition(".")
        within = [node.name for node in walk_code(self.tree) if isinstance(node, Function | ast.ClassDef)]
        within += [binding.dotted.partition(".")[2] for binding in self.imports if binding.library == own]
        return Subject(
            libraries=known["libraries"] & {binding.library for binding in self.imports} - {own},
            path=known["words"] & split_words([below]),
            words=known["words"] & split_words([*within, ast.get_docstring(self.tree) or ""]),
        )

    @cached_property
    def is_generated(self) -> bool:
        """Whether a comment at the top says that the file is generated."""
        return any(line.startswith("#") and _GENERATED.search(line) for line in self.lines[:20])

    def text(self, first: int, last: int) -> str:
        return "\n".join(self.lines[first - 1 : last])


def parse_module(path: str, source: str) -> Module:
    """Raises SyntaxError, ValueError or RecursionError like the parser."""
    tree = parse(source)
    return Module(path, source, tree, find_imports(tree, name_package(path)))
