"""Reduce modules: function bodies are removed, and what shows the interface stays.

For a rebuild every body of a module goes, and docstrings stay. For a component, both go in some definitions.

A comment or a helper that stays behind would give away the answer, and a changed line outside the bodies would change
the task. So bodies are cut by line and column, and the text around them is not touched.
"""

import ast
import hashlib
import io
import tokenize
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from dlbench.dataset.target import Function, dotted_name, find_body, first_line
from dlbench.parsing import parse

_RAISE = "raise NotImplementedError"
_PLAIN_DECORATORS = {
    "staticmethod", "classmethod", "property", "cached_property", "setter", "cache", "lru_cache", "no_grad",
    "contextmanager", "wraps",
}  # fmt: skip
"""Decorators whose function may be removed: they have no effect beside the function itself."""
_MOST_MODULES = 1024
"""Parsed modules that are kept: the tasks of a project share them, and large projects take a minute to parse."""


@dataclass(frozen=True)
class Definition:
    """A function or method of a module, with the block of statements that it is in."""

    qualname: str
    node: Function
    block: list[ast.stmt]

    @property
    def is_empty(self) -> bool:
        """Whether its body holds nothing to remove."""
        return all(_is_placeholder(statement) for statement in find_body(self.node))

    @property
    def is_removable(self) -> bool:
        """Whether it is a private helper that may go altogether."""
        name = self.node.name
        if not name.startswith("_") or (name.startswith("__") and name.endswith("__")) or self.is_empty:
            return False
        decorators = {dotted_name(one).rpartition(".")[2] for one in self.node.decorator_list}
        return decorators <= _PLAIN_DECORATORS


def _is_placeholder(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=ast.Name() | ast.Call() as error):
            return dotted_name(error) == "NotImplementedError"
    return False


@dataclass(frozen=True)
class Reduction:
    text: str
    lines: int
    """Lines of code that were removed; blank lines, comments and docstrings do not count."""
    definitions: int
    """Functions and methods that lost their bodies, or were removed."""


class Module:
    """A parsed module that can be reduced."""

    def __init__(self, source: str) -> None:
        self.source = source.replace("\r\n", "\n").replace("\r", "\n")
        self.lines = self.source.split("\n")
        self.tree = parse(self.source)
        self.definitions = list(_walk(self.tree.body, ""))
        self.classes = dict(_walk_classes(self.tree.body, ""))

    @cached_property
    def _tokens(self) -> list[tokenize.TokenInfo]:
        return list(tokenize.generate_tokens(io.StringIO(self.source).readline))

    @cached_property
    def _code_lines(self) -> set[int]:
        layout = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        tokens = (token for token in self._tokens if token.type not in layout)
        return {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}

    @cached_property
    def _colons(self) -> list[tuple[int, int]]:
        return [token.start for token in self._tokens if token.type == tokenize.OP and token.string == ":"]

    def find(self, line: int) -> str:
        """The qualified name of the definition around a line; empty if there is none."""
        names = (one.qualname for one in self.definitions if first_line(one.node) <= line <= _end(one.node))
        return next(names, "")

    def list_names(self, kept: Collection[str], used: Collection[str]) -> set[str]:
        """The names in what stays of the module. `used`: names of private helpers that are not removed."""
        gone: set[int] = set()
        found = set()
        for one in self.definitions:
            if one.qualname in kept or one.is_empty:
                found.add(one.node.name)
            elif one.is_removable and one.node.name not in used:
                gone.add(id(one.node))
            else:
                found.add(one.node.name)
                gone |= set(map(id, find_body(one.node)))
        return found | list_names(self.tree, gone)

    def measure(self, one: Definition) -> int:
        """Lines of code of its body."""
        body = find_body(one.node)
        return len(self._code_lines & set(range(first_line(body[0]), _end(one.node) + 1))) if body else 0

    def list_inside(self, asked: Collection[str]) -> set[str]:
        """The qualified names of these definitions and of all that are inside of them."""
        known = {one.qualname for one in self.definitions} | self.classes.keys()
        return {name for name in known if any(name == one or name.startswith(f"{one}.") for one in asked)}

    def reduce(self, kept: Collection[str], used: Collection[str], bare: Collection[str] = ()) -> Reduction:
        """`bare`: definitions that also lose their docstrings."""
        edits: dict[int, tuple[int, list[str]]] = {}
        """By the first line: the last line, and the lines that replace them."""
        removed: set[int] = set()
        code: set[int] = set()
        count = 0
        for one in self.definitions:
            if one.qualname in kept or one.is_empty:
                if one.qualname in bare:
                    edits |= self._cut_docstring(one.node)
                continue
            count += 1
            body, node = find_body(one.node), one.node
            edits |= dict.fromkeys(self._list_trailing_comments(node), (0, []))
            if one.is_removable and node.name not in used:
                removed.add(id(node))
                code |= set(range(first_line(node), node.body[0].lineno))
                edits[self._find_comments_above(node)] = (_end(node), self._write_pass(one, removed))
            else:
                edits |= self._cut_body(node, body, one.qualname in bare)
            code |= set(range(first_line(body[0]), _end(node) + 1))
        for name, owner in self.classes.items():
            if name in bare:
                edits |= self._cut_docstring(owner)
        kept_lines: list[str] = []
        number = 1
        while number <= len(self.lines):
            last, replacement = edits.get(number, (number, [self.lines[number - 1]]))
            kept_lines += replacement
            number = max(number, last) + 1
        return Reduction("\n".join(kept_lines), len(code & self._code_lines), count)

    def _cut_docstring(self, node: Function | ast.ClassDef) -> dict[int, tuple[int, list[str]]]:
        text, *rest = node.body
        is_shared = bool(rest) and rest[0].lineno == _end(text)
        if ast.get_docstring(node, clean=False) is None or is_shared:
            return {}
        before = self.lines[text.lineno - 1][: self._column(text.lineno, text.col_offset)]
        return {text.lineno: (_end(text), [] if rest and not before.strip() else [f"{before}pass"])}

    def _cut_body(self, node: Function, body: list[ast.stmt], is_bare: bool) -> dict[int, tuple[int, list[str]]]:
        start = (first_line(node.body[0]), self._column(node.body[0].lineno, node.body[0].col_offset))
        header = max(colon for colon in self._colons if colon < start)[0]
        last = _end(node)
        if start[0] == header:  # the body begins in the line of the signature
            first = body[0].lineno
            return {first: (last, [self.lines[first - 1][: self._column(first, body[0].col_offset)] + _RAISE])}
        line = self.lines[start[0] - 1]
        ending = [line[: len(line) - len(line.lstrip())] + _RAISE]
        if is_bare or len(body) == len(node.body):
            return {header + 1: (last, ending)}
        docstring = node.body[0]
        end = _end(docstring)
        shown = self.lines[docstring.lineno - 1 : end]
        shown[-1] = shown[-1][: self._column(end, docstring.end_col_offset or 0)]
        return {header + 1: (last, [*shown, *ending])}

    def _column(self, line: int, offset: int) -> int:
        """The column of a byte offset."""
        return len(self.lines[line - 1].encode()[:offset].decode())

    def _write_pass(self, one: Definition, removed: set[int]) -> list[str]:
        """`pass` in place of the last statement of a block."""
        is_needed = one.node is one.block[-1] and all(id(other) in removed for other in one.block)
        return [" " * one.node.col_offset + "pass"] if is_needed else []

    def _find_comments_above(self, node: Function) -> int:
        """The line where the comments directly above a function begin."""
        line = first_line(node)
        while line > 1 and self.lines[line - 2].lstrip().startswith("#") and line - 1 not in self._code_lines:
            line -= 1
        return line

    def _list_trailing_comments(self, node: Function) -> Iterator[int]:
        """Comments after the last statement that belong to the body by their indentation."""
        for number in range(_end(node) + 1, len(self.lines) + 1):
            text = self.lines[number - 1].strip()
            indent = len(self.lines[number - 1]) - len(self.lines[number - 1].lstrip())
            if text and (not text.startswith("#") or indent <= node.col_offset):
                return
            if text:
                yield number


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _walk(block: list[ast.stmt], prefix: str) -> Iterator[Definition]:
    """The functions of a block and of the classes and branches in it; what is inside functions belongs to them."""
    for statement in block:
        if isinstance(statement, Function):
            yield Definition(f"{prefix}{statement.name}", statement, block)
        elif isinstance(statement, ast.ClassDef):
            yield from _walk(statement.body, f"{prefix}{statement.name}.")
        else:
            inner = [getattr(statement, field, []) for field in ("body", "orelse", "finalbody")]
            for part in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
                inner.append(part.body)
            for part in inner:
                yield from _walk(part, prefix)


def _walk_classes(block: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.ClassDef]]:
    for statement in block:
        if isinstance(statement, ast.ClassDef):
            yield f"{prefix}{statement.name}", statement
            yield from _walk_classes(statement.body, f"{prefix}{statement.name}.")


def list_names(tree: ast.AST, without: Collection[int] = ()) -> set[str]:
    """The names that code mentions, also in strings. `without`: the ids of nodes that are left out."""
    found: set[str] = set()
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if id(node) in without:
            continue
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                found.add(name)
            case ast.alias(name=name):
                found |= set(name.split("."))
            case ast.Constant(value=str(text)) if len(text) < 200:
                found |= set(text.replace(":", ".").split("."))
        pending += ast.iter_child_nodes(node)
    return found


def reduce_module(source: str, kept: Collection[str], used: Collection[str] = ()) -> str:
    """The skeleton of a module. `kept`: qualified names of definitions that keep their bodies. `used`: names that other
    modules use, so that private helpers of these names stay as signatures."""
    module = Module(source)
    return module.reduce(kept, _grow_names([(module, kept)], set(used))).text


def _grow_names(modules: Iterable[tuple[Module, Collection[str]]], used: set[str]) -> set[str]:
    """All names in what stays: a helper that stays may use further helpers in its signature."""
    modules = list(modules)
    while True:
        found = used.union(*(module.list_names(kept, used) for module, kept in modules))
        if found == used:
            return used
        used = found


class Skeleton:
    """Modules of a tree that are reduced together: a helper stays if anything else in the tree uses it."""

    def __init__(self, tree: Path, files: Collection[str]) -> None:
        self.modules = {file: _parse(_read(tree / file)) for file in files}
        others = (path for path in tree.rglob("*.py") if path.relative_to(tree).as_posix() not in self.modules)
        self._outside = set[str]().union(*(_list_words(path.read_bytes()) for path in others if path.is_file()))

    def reduce(self, kept: Iterable[str], bare: Iterable[str] = ()) -> dict[str, Reduction]:
        """The reduced modules by path. `kept`: `path::qualname` of definitions that keep their bodies; `bare`: of those
        that also lose their docstrings."""
        names, without = self._group(kept), self._group(bare)
        used = _grow_names([(module, names[file]) for file, module in self.modules.items()], self._outside)
        return {file: module.reduce(names[file], used, without[file]) for file, module in self.modules.items()}

    def cut(self, asked: Iterable[str]) -> dict[str, Reduction]:
        """The modules without the bodies and docstrings of these definitions, and of those inside of them."""
        inside = {path: self.modules[path].list_inside(names) for path, names in self._group(asked).items()}
        rest = {path: {one.qualname for one in self.modules[path].definitions} - inside[path] for path in inside}
        return self.reduce(_join(rest), _join(inside))

    def _group(self, places: Iterable[str]) -> dict[str, set[str]]:
        names: dict[str, set[str]] = {file: set() for file in self.modules}
        for one in places:
            file, _, qualname = one.partition("::")
            names[file].add(qualname)
        return names


def _join(names: Mapping[str, Iterable[str]]) -> Iterator[str]:
    return (f"{path}::{one}" for path, inside in names.items() for one in inside)


def cut_definitions(tree: Path, asked: Collection[str]) -> dict[str, Reduction]:
    """The modules of a tree that hold these definitions (`path::qualname`), without their bodies and docstrings."""
    return Skeleton(tree, sorted({one.partition("::")[0] for one in asked})).cut(asked)


def reduce_tree(tree: Path, files: Collection[str], kept: Iterable[str]) -> dict[str, str]:
    """The text of each reduced module of a tree, by path."""
    return {file: reduced.text for file, reduced in Skeleton(tree, files).reduce(kept).items()}


def hash_skeleton(texts: Mapping[str, str]) -> str:
    """A digest of the reduced modules, by path."""
    total = hashlib.sha256()
    for file, text in sorted(texts.items()):
        total.update(f"{file}\0{len(text.encode())}\0".encode() + text.encode())
    return total.hexdigest()


def _read(path: Path) -> str:
    with tokenize.open(path) as file:
        return file.read()


@lru_cache(maxsize=_MOST_MODULES)
def _parse(source: str) -> Module:
    return Module(source)


@lru_cache(maxsize=16 * _MOST_MODULES)
def _list_words(source: bytes) -> frozenset[str]:
    """The names of a module; none if it cannot be parsed."""
    try:
        return frozenset(list_names(parse(source)))
    except (SyntaxError, ValueError):
        return frozenset()
