"""Parse a source file once for all its functions, and decide whether they concern machine learning.

A deep-learning project also parses arguments, prints tables and finds files; such functions say nothing about deep
learning.
"""

import ast
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

from dlbench.construction.screening.paths import Binding, find_imports, name_module, name_package
from dlbench.dataset.target import Function, first_line, walk_code
from dlbench.parsing import parse

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
