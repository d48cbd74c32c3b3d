"""What stands where in a source file?

Parsed once for all its functions: a project's largest module holds hundreds of them.

Has a function to do with machine learning?

A deep-learning project also parses arguments, prints tables and finds files. That such a function is hard to write says
nothing about deep learning. What a module uses and how it speaks of itself decides, not the name of the project.
"""

import ast
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

from dlbench.construction.screening.paths import Binding, find_imports, name_module, name_package
from dlbench.dataset.target import Function, walk_code
from dlbench.parsing import parse

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_NAMES: dict[type[ast.AST], str] = {ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg", ast.keyword: "arg"}


@dataclass(frozen=True)
class Subject:
    """What a module is about, as far as our lists know it."""

    libraries: frozenset[str]
    """Those of machine learning and arrays that it imports, but not the project itself."""
    place: frozenset[str]
    """Words in its path below the project's own package."""
    words: frozenset[str]
    """Words in its docstring, in the names of what it defines, and in what it imports from the project."""

    def find_signs(self, qualname: str, function: Function) -> list[str]:
        """What shows that a function of it has to do with machine learning; nothing where that is too little."""
        known = read_known()["words"]
        strong = self.libraries | self.place | (known & split_words([qualname]))
        weak = self.words | (known & split_words(_identifiers(function)))
        return sorted(strong | weak) if strong or len(weak) > 1 else []


def find_subject(path: str, tree: ast.Module, imports: Iterable[Binding]) -> Subject:
    known = read_known()
    # the project's own name is no sign: everything in it would have to do with machine learning
    own, _, below = name_module(path).partition(".")
    bindings = list(imports)
    within = [node.name for node in walk_code(tree) if isinstance(node, Function | ast.ClassDef)]
    within += [binding.dotted.partition(".")[2] for binding in bindings if binding.library == own]
    return Subject(
        libraries=known["libraries"] & {binding.library for binding in bindings} - {own},
        place=known["words"] & split_words([below]),
        words=known["words"] & split_words([*within, ast.get_docstring(tree) or ""]),
    )


def split_words(names: Iterable[str]) -> set[str]:
    """`RandomCrop2D`, `random_crop` and "Random crops." in words, all in lower case."""
    return {word.lower() for name in names for word in _WORD.findall(name)}


@cache
def read_known() -> dict[str, frozenset[str]]:
    """Our lists of libraries and words."""
    text = files("dlbench.construction.screening").joinpath("words.toml").read_text(encoding="utf-8")
    return {name: frozenset(values) for name, values in tomllib.loads(text).items()}


def _identifiers(function: Function) -> list[str]:
    found = [getattr(node, _NAMES[type(node)]) for node in walk_code(function) if type(node) in _NAMES]
    return [name for name in found if name]


_GENERATED = re.compile(r"@generated|\b(auto-?)?generated (by|from|file|code)\b|\bdo not edit\b", re.IGNORECASE)


@dataclass(frozen=True)
class Module:
    path: str
    source: str
    tree: ast.Module
    imports: list[Binding]

    @cached_property
    def lines(self) -> list[str]:
        # as the parser counts them: str.splitlines also breaks at form feeds and the like
        return self.source.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    @cached_property
    def functions(self) -> dict[int, Function]:
        """By their first line, that of the first decorator where there is one."""
        return {
            min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]): node
            for node in walk_code(self.tree)
            if isinstance(node, Function)
        }

    @cached_property
    def subject(self) -> Subject:
        return find_subject(self.path, self.tree, self.imports)

    @cached_property
    def is_generated(self) -> bool:
        """Does a comment at its top say that a program wrote it?"""
        comments = [line for line in self.lines[:20] if line.startswith("#")]
        return any(_GENERATED.search(line) for line in comments)

    def text(self, first: int, last: int) -> str:
        return "\n".join(self.lines[first - 1 : last])


def parse_module(path: str, source: str) -> Module:
    """Raises SyntaxError, ValueError or RecursionError, as the parser does."""
    tree = parse(source)
    return Module(path, source, tree, find_imports(tree, name_package(path)))
