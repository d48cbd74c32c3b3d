"""Find what changed between two releases of a project, and divide it by the tests that run it.

A change is named as in `taken` of a record: a file, or a unit of a module (`path::qualname`). Tests that ran the same
changed units belong to one change. What is taken must be complete: a function brings the new names that it reads.
"""

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from dlbench.construction.selection.source_layout import find_layout
from dlbench.dataset.merge import HEAD, Unit, Units, divide, find_changes, write_plain
from dlbench.dataset.target import dotted_name
from dlbench.execution.file_sets import looks_like_test
from dlbench.execution.release_files import list_changed, read_bytes, read_units
from dlbench.parsing import parse

PREFERRED_LINES = 400
"""A larger change is divided further if its tests allow."""
MOST_LINES, MOST_FILES = 1000, 8
"""Of a change that is described; more is a whole step."""


class Changes:
    """The changed modules of a project's packages."""

    def __init__(self, before: Path, after: Path, name: str) -> None:
        self.before, self.after = before, after
        layout, other = find_layout(after, name), find_layout(before, name)
        self.packages = tuple(dict.fromkeys((*layout.packages, *other.packages)))
        inside = {path for path in (*layout.modules, *other.modules) if not looks_like_test(path)}
        everything = list_changed(before, after)
        self.files = [path for path in everything if path in inside]
        prefix = "" if layout.import_root == "." else f"{layout.import_root}/"
        homes = tuple(f"{prefix}{package}/" for package in self.packages)
        self.data = [
            path for path in everything
            if path.startswith(homes) and not looks_like_test(path) and not path.endswith(".py")
        ]  # fmt: skip
        self.modules = {path: (read_units(before / path), read_units(after / path)) for path in self.files}
        self.changed = {one for path in self.files for one in self._list_changed(path)}
        self._by_name = self._index()

    def _list_changed(self, path: str) -> Iterator[str]:
        old, new = self.modules[path]
        if not (self.before / path).is_file() or not (self.after / path).is_file():
            yield path
            return
        for key in find_changes(old, new):
            yield path if key == HEAD else f"{path}::{key}"

    def _index(self) -> dict[str, set[str]]:
        """What a name brings where it is read: a new unit, a changed constant, and what changed of a class beside its
        existing methods."""
        found: dict[str, set[str]] = {}
        for one in self.changed:
            path, separator, key = one.partition("::")
            old, new = self.modules[path]
            if not separator:
                for name in new.bound if not (self.before / path).is_file() else ():
                    found.setdefault(name, set()).add(path)
            elif key in new.by_key and (key not in old.by_key or not new.by_key[key].is_function):
                is_method = "." in key and new.by_key[key].is_function
                if not is_method:
                    found.setdefault(key.partition(".")[0].partition("#")[0], set()).add(one)
        return found

    def find(self, path: str, line: int) -> str:
        """The change that a function of the newer release belongs to; empty if it has not changed."""
        if path not in self.modules:
            return ""
        key = self.modules[path][1].find(line)
        is_new = not (self.before / path).is_file()
        own = [key] if key else []
        while "." in key:
            key = key.rpartition(".")[0]
            own.append(key)
        found = [f"{path}::{one}" for one in own if f"{path}::{one}" in self.changed]
        return found[0] if found else path if path in self.changed and (is_new or not own) else ""

    def complete(self, taken: Iterable[str], read: Iterable[str] = ()) -> set[str]:
        """What must be taken along. `read`: names that a test reads."""
        found = set[str]()
        pending = [*taken, *(one for name in read for one in self._by_name.get(name, ()))]
        while pending:
            one = pending.pop()
            if one in found:
                continue
            found.add(one)
            path, _, key = one.partition("::")
            if path not in self.modules:
                continue
            old, new = self.modules[path]
            for unit in list_inside(new, key):
                pending += self._listread_units(path, unit)
                owner = f"{path}::{unit.owner}" if unit.owner else ""
                if owner in self.changed and unit.owner not in old.by_key:
                    pending.append(owner)
                own = (f"{unit.owner}.{name}" for name in unit.attributes)
                pending += [
                    f"{path}::{key}" for key in own if f"{path}::{key}" in self.changed and key not in old.by_key
                ]
        return found

    def _listread_units(self, path: str, unit: Unit) -> Iterator[str]:
        _, new = self.modules[path]
        dotted = (
            dotted_name(node) for part in unit.nodes for node in ast.walk(part) if isinstance(node, ast.Attribute)
        )
        members = {name.rpartition(".")[2] for name in dotted if name.partition(".")[0] in new.imports}
        for name in unit.used | members:
            found = self._by_name.get(name, set())
            yield from {one for one in found if one.partition("::")[0] == path} or found

    def count_lines(self, taken: Collection[str]) -> int:
        return sum(count_code(unit) for one in taken for unit in self._list_units(one))

    def _list_units(self, one: str) -> list[Unit]:
        path, _, key = one.partition("::")
        return list_inside(self.modules[path][1], key) if path in self.modules else []


def list_inside(module: Units, key: str) -> list[Unit]:
    """A unit with everything in it; of the empty key, the whole module."""
    return [unit for one, unit in module.by_key.items() if not key or one == key or one.startswith(f"{key}.")]


def count_code(unit: Unit) -> int:
    return sum(bool(line.strip()) for line in unit.code.split("\n"))


@dataclass(frozen=True)
class Measure:
    """Lines of code of a change, without comments and docstrings."""

    added: int
    removed: int
    files: int
    definitions: int


def measure(before: Path, files: Mapping[str, bytes | None]) -> Measure:
    added = removed = count = definitions = 0
    for path, content in files.items():
        old = _plain_lines(read_bytes(before / path) or b"", path)
        new = _plain_lines(content or b"", path)
        parts = [one for one in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if one[0] != "equal"]
        removed += sum(last - first for _, first, last, _, _ in parts)
        added += sum(last - first for _, _, _, first, last in parts)
        count += bool(parts)
        if path.endswith(".py") and content is not None:
            changed = find_changes(read_units(before / path), divide(content.decode("utf-8-sig")))
            definitions += sum(bool(key) for key in changed)
    return Measure(added, removed, count, definitions)


def _plain_lines(content: bytes, path: str) -> list[str]:
    if not path.endswith(".py"):
        return content.decode("utf-8", "replace").splitlines()
    return [line for line in write_plain(parse(content)).split("\n") if line.strip()]


@dataclass
class Cluster:
    """Tests (functions, without cases) that judge one change."""

    tests: set[str]
    taken: set[str]


def cluster(changes: Changes, needed: Mapping[str, set[str]]) -> list[Cluster]:
    """Group tests by what they need, the largest group first. `needed`: by test, the changed units that it ran and
    those that these bring. Where a group is too large, what most of its tests share stops to join them."""

    def divide_group(tests: list[str], ignored: frozenset[str]) -> Iterator[list[str]]:
        for group in _join(tests, needed, ignored):
            taken = set[str]().union(*(needed[test] for test in group))
            files = {one.partition("::")[0] for one in taken}
            shared = Counter(one for test in group for one in needed[test] if one not in ignored)
            is_large = changes.count_lines(taken) > PREFERRED_LINES or len(files) > MOST_FILES
            if not is_large or len(group) == 1 or not shared or shared.most_common(1)[0][1] == 1:
                yield group
                continue
            parts = list(divide_group(group, ignored | {shared.most_common(1)[0][0]}))
            yield from parts if len(parts) > 1 and max(map(len, parts)) > 1 else [group]

    groups = divide_group([test for test in needed if needed[test]], frozenset())
    found = [Cluster(set(group), set[str]().union(*(needed[test] for test in group))) for group in groups]
    return sorted(found, key=lambda one: (-len(one.tests), min(one.tests)))


def _join(tests: Iterable[str], needed: Mapping[str, set[str]], ignored: Collection[str]) -> list[list[str]]:
    """Connected tests: those that need a common unit."""
    leader: dict[str, str] = {}

    def find(one: str) -> str:
        while leader.setdefault(one, one) != one:
            one = leader[one]
        return one

    tests = list(tests)
    for test in tests:
        for unit in needed[test] - set(ignored):
            leader[find(f"unit {unit}")] = find(test)
    groups: dict[str, list[str]] = {}
    for test in tests:
        groups.setdefault(find(test), []).append(test)
    return list(groups.values())
