"""Put named definitions of one release's modules onto those of another.

The reference of a release task is not stored: it is made on the user's machine from both releases. A module is divided
into units: functions, constants, methods, class attributes, and for each class what stands before its first member.
Statements without a name belong to the unit before them. Imports and `__all__` follow what is taken: a record lists
neither.
"""

import ast
import copy
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import PurePosixPath

from dlbench.dataset.target import Function, first_line, is_prose
from dlbench.parsing import parse, unparse

HEAD = ""
"""The unit before the first named one."""
_EXPORTS = "__all__"
Import = ast.Import | ast.ImportFrom


@dataclass
class Unit:
    """Some lines of a module, counted from 1, both ends included."""

    key: str
    first: int
    last: int
    nodes: list[ast.stmt] = field(default_factory=list, repr=False)

    @property
    def owner(self) -> str:
        return self.key.rpartition(".")[0]

    @property
    def name(self) -> str:
        return self.key.rpartition(".")[2].partition("#")[0]

    @property
    def is_function(self) -> bool:
        return any(isinstance(node, Function) for node in self.nodes)

    @cached_property
    def used(self) -> set[str]:
        """The names that its code reads."""
        return {one.id for one in self._walk() if isinstance(one, ast.Name)}

    @cached_property
    def attributes(self) -> set[str]:
        return {one.attr for one in self._walk() if isinstance(one, ast.Attribute)}

    def _walk(self) -> Iterator[ast.AST]:
        for node in self.nodes:
            yield from ast.walk(node)

    @cached_property
    def code(self) -> str:
        """Its code without comments, docstrings and plain imports at the head."""
        kept = [node for node in self.nodes if self.key != HEAD or not isinstance(node, Import)]
        return "\n".join(map(write_plain, kept))


def write_plain(node: ast.AST) -> str:
    """Code without comments and docstrings, in one layout."""
    plain = copy.deepcopy(node)
    for one in ast.walk(plain):
        body = getattr(one, "body", None)
        if isinstance(body, list):
            one.body = [part for part in body if not is_prose(part)] or [ast.Pass()]  # type: ignore[attr-defined]
    return "" if is_prose(plain) else unparse(plain)


class Units:
    """The text of a module by units."""

    def __init__(self, source: str) -> None:
        self.lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self.tree = parse("\n".join(self.lines))
        self.by_key = {HEAD: Unit(HEAD, 1, 0)}
        last = self._divide(self.tree.body, "", self.by_key[HEAD])
        last.last = len(self.lines)

    def _divide(self, block: list[ast.stmt], prefix: str, unit: Unit) -> Unit:
        """The last unit of the block; `unit` is the one before it."""
        for node in block:
            name, end = name_statement(node), node.end_lineno or node.lineno
            is_same = name and unit.key == f"{prefix}{name}"  # a property and its setter, overloads
            if not name or is_same or first_line(node) <= unit.last:
                unit.nodes.append(node)
                unit.last = max(unit.last, end)
                continue
            key = f"{prefix}{name}"
            if key in self.by_key:
                key += f"#{1 + sum(one.partition('#')[0] == key for one in self.by_key)}"
            unit = self.by_key[key] = Unit(key, unit.last + 1, end, [node])
            members = node.body if isinstance(node, ast.ClassDef) else []
            count = next((place for place, one in enumerate(members) if name_statement(one)), None)
            if count is not None and first_line(members[count]) > node.lineno:
                assert isinstance(node, ast.ClassDef)
                header = copy.copy(node)
                header.body = [*members[:count], ast.Pass()]
                unit.nodes, unit.last = [header], self._find_header_end(node.lineno, members[:count], members[count])
                unit = self._divide(members[count:], f"{key}.", unit)
                unit.last = max(unit.last, end)
        return unit

    def _find_header_end(self, line: int, before: list[ast.stmt], first: ast.stmt) -> int:
        """Comments above the first member belong to it; a closing parenthesis does not."""
        ends = [line, *(one.end_lineno or 0 for one in before)]
        texts = ((number, self.lines[number - 1].strip()) for number in range(max(ends), first_line(first)))
        return max(max(ends), *(number for number, text in texts if text and not text.startswith("#")))

    def text(self, key: str) -> list[str]:
        unit = self.by_key[key]
        return self.lines[unit.first - 1 : unit.last]

    def find(self, line: int) -> str:
        """The unit of a line."""
        return next((one.key for one in self.by_key.values() if one.first <= line <= one.last), HEAD)

    @cached_property
    def imports(self) -> dict[str, Import]:
        """The names that plain imports bind, each with a statement of its own."""
        found: dict[str, Import] = {}
        for node in (one for one in self.tree.body if isinstance(one, Import)):
            for alias in node.names:
                if isinstance(node, ast.Import):
                    found[alias.asname or alias.name] = ast.Import([alias])
                elif node.module != "__future__":
                    name = f"{'.' * node.level}{node.module or ''}.*" if alias.name == "*" else alias.name
                    found[alias.asname or name] = ast.ImportFrom(node.module, [alias], node.level)
        return found

    @cached_property
    def bound(self) -> set[str]:
        return {one.name for one in self.by_key.values() if not one.owner} | set(self.imports)

    @cached_property
    def exports(self) -> list[str]:
        """The strings of `__all__`; nothing where it is computed."""
        match self.by_key[_EXPORTS].nodes if _EXPORTS in self.by_key else []:
            case [ast.Assign(value=ast.List(elts=parts) | ast.Tuple(elts=parts))]:
                return [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        return []


def name_statement(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""


@lru_cache(maxsize=4096)
def divide(source: str) -> Units:
    return Units(source)


def find_changes(before: Units, after: Units) -> set[str]:
    """The units whose code is not the same; of a class that only one of the two has, the class alone."""
    keys = before.by_key.keys() | after.by_key.keys()
    changed = {
        key
        for key in keys
        if key not in before.by_key or key not in after.by_key or before.by_key[key].code != after.by_key[key].code
    }
    whole = {key for key in changed if key not in before.by_key or key not in after.by_key}
    return {key for key in changed if not any(f"{one}." == key[: len(one) + 1] for one in whole)} - {_EXPORTS}


def compose(before: Units, after: Units, taken: Iterable[str], imports: Collection[str] = ()) -> str:
    """The module `before` with these units of `after`, which are changed, added or removed, and with these imports."""
    order, texts = list(before.by_key), {key: before.text(key) for key in before.by_key}
    wanted = set(taken)
    for key in wanted - after.by_key.keys():
        order = [one for one in order if one != key and not one.startswith(f"{key}.")]
    earlier: list[str] = []
    for key in after.by_key:
        is_wanted = key in wanted or any(key.startswith(f"{one}.") for one in wanted - before.by_key.keys())
        if is_wanted and key not in order:
            order.insert(_find_place(order, earlier, key), key)
        if is_wanted:
            texts[key] = after.text(key)
        earlier.append(key)
    lines = [unparse(after.imports[name]) for name in after.imports if name in imports]
    texts[HEAD] = [*texts[HEAD], *lines]
    bound = {key.partition("#")[0] for key in order if "." not in key} | before.imports.keys() | {*imports}
    exported = [name for name in after.exports if name in bound and name not in before.exports]
    if exported and before.exports and _EXPORTS not in wanted:
        kept = [name for name in before.exports if name in bound]
        texts[_EXPORTS] = ["", f"{_EXPORTS} = {[*kept, *exported]!r}"]
    return "\n".join(line for key in order for line in texts[key]).rstrip("\n") + "\n"


def _find_place(order: list[str], earlier: list[str], key: str) -> int:
    """After the nearest unit before it, and after everything that belongs to that one."""
    owner, depth = key.rpartition(".")[0], key.count(".") + 1
    for one in reversed(earlier):
        sibling = ".".join(one.split(".")[:depth])
        if sibling in order and sibling != HEAD and (sibling == owner or sibling.rpartition(".")[0] == owner):
            inside = [place for place, other in enumerate(order) if other.startswith(f"{sibling}.")]
            return order.index(sibling) + 1 if sibling == owner else max([order.index(sibling), *inside]) + 1
    return 1


def find_target(path: str, node: Import, files: Collection[str], root: str) -> tuple[str, str]:
    """The module file and the name in it that an import of one name means; the name is empty for a module itself, and
    both are empty for a library."""
    alias = node.names[0]
    if isinstance(node, ast.Import):
        parts, name = alias.name.split("."), ""
        folder = PurePosixPath(root)
    else:
        parts, name = (node.module or "").split(".") if node.module else [], alias.name
        folder = PurePosixPath(path).parents[node.level - 1] if node.level else PurePosixPath(root)
    place = folder.joinpath(*parts)
    for module, inner in ((place / name, ""), (place, name)):
        for file in (f"{module.as_posix()}.py", (module / "__init__.py").as_posix()):
            if file in files and file != path:
                return file, inner
    return "", ""
