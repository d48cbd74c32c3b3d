"""Find the function that a test runs, and cut a test module to the tests that may be seen.

A class inherits tests from another, and libraries make several tests out of one function. Such tests are shown together
or not at all.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeGuard

from dlbench.dataset.records import strip_case
from dlbench.dataset.target import Function, dotted_name, first_line
from dlbench.parsing import parse, unparse


class ModuleTests:
    """The functions of a test module, each by the names of its classes and its own."""

    def __init__(self, source: bytes) -> None:
        self.blocks = list(_list_blocks(parse(source).body, ()))
        self.functions: dict[tuple[str, ...], Function] = {}
        self._members: defaultdict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
        self._classes: dict[tuple[str, ...], ast.ClassDef] = {}
        for owner, block in self.blocks:
            for node in block:
                if isinstance(node, ast.ClassDef):
                    self._classes[*owner, node.name] = node
                elif isinstance(node, Function):
                    self.functions[*owner, node.name] = node
                    self._members[owner].append((*owner, node.name))

    def find(self, test: str) -> tuple[str, ...]:
        """The function of a test; empty if it is in another module."""
        *owner, name = strip_case(test).split("::")[1:]
        known = list(self._list_members(tuple(owner)))
        generated = [one for one in known if one[-1].startswith("test") and name.startswith(one[-1])]
        same = (one for one in known if one[-1] == name)
        return next(same, None) or max(generated, key=lambda one: len(one[-1]), default=())

    def _list_members(self, owner: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Of a class, and then of those of the module that it inherits from."""
        yield from self._members[owner]
        node = self._classes.get(owner)
        for base in node.bases if node is not None else ():
            name = (dotted_name(base).rpartition(".")[2],)
            if node is not None and name in self._classes and self._classes[name].lineno < node.lineno:
                yield from self._list_members(name)


def _list_blocks(block: list[ast.stmt], owner: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[ast.stmt]]]:
    yield owner, block
    for node in block:
        if isinstance(node, ast.ClassDef):
            yield from _list_blocks(node.body, (*owner, node.name))
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _list_blocks(node.body, owner)


def name_functions(tests: Iterable[str], read: Callable[[str], bytes]) -> dict[str, str]:
    """The id of the function that each test runs. `read`: the source of a test file."""
    modules: dict[str, ModuleTests] = {}
    found = {}
    for test in tests:
        path = test.partition("::")[0]
        modules[path] = modules.get(path) or ModuleTests(read(path))
        found[test] = "::".join([path, *modules[path].find(test)]) if modules[path].find(test) else strip_case(test)
    return found


def cut_tests(source: bytes, visible: Collection[str], hidden: Collection[str] = ()) -> bytes:
    """A test module with its visible tests only; fixtures, helpers and everything else stay. A function that a hidden
    test runs too is not shown."""
    module = ModuleTests(source)
    shown = set(map(module.find, visible)) - set(map(module.find, hidden))
    lines = source.decode("utf-8", "surrogateescape").splitlines(keepends=True)
    gone: dict[int, tuple[int, str]] = {}
    for owner, block in module.blocks:
        cut = [node for node in block if is_test(node) and (*owner, node.name) not in shown]
        names = {node.name for node in cut if not owner}
        calls = [node for node in block if isinstance(node, ast.Expr) and names & _list_names(node)]
        removed = sorted([*cut, *calls], key=lambda node: node.lineno)
        for node in removed:
            is_last = len(removed) == len(block) and node is removed[-1]
            instead = " " * node.col_offset + "pass\n" if is_last else ""
            gone[first_line(node)] = (node.end_lineno or node.lineno, instead)
    kept: list[str] = []
    number = 1
    while number <= len(lines):
        last, instead = gone.get(number, (number, lines[number - 1]))
        kept += [instead] if instead else []
        before = kept[-1].strip() if kept else ""
        is_gap = number in gone and (not before or before.endswith(":"))  # it would show where a hidden test was
        number = last + 1
        while is_gap and number <= len(lines) and not lines[number - 1].strip():
            number += 1
    return "".join(kept).encode("utf-8", "surrogateescape")


def _list_names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def is_test(node: ast.stmt) -> TypeGuard[Function]:
    is_fixture = any("fixture" in unparse(one) for one in getattr(node, "decorator_list", ()))
    return isinstance(node, Function) and node.name.startswith("test") and not is_fixture
