"""Put the definitions of an answer into a module, in place of those that the module has.

A model that is asked for some definitions writes these alone, or a module that leaves out the rest. Laid down as a
whole file, that would remove what everything else needs. Names that the module binds in another way stay as they are;
imports, helpers and constants that the definitions need come along.
"""

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from dlbench.dataset.skeleton import list_names
from dlbench.dataset.target import Function, dotted_name, first_line
from dlbench.extraction import syntax
from dlbench.extraction.syntax import indent_of
from dlbench.parsing import dump, parse, unparse

_ELISION = re.compile(
    r"^\s*#\s*(?:\.{3}|…)|^\s*#.*\b(?:rest of (?:the )?(?:file|class|code|module|methods)|existing code"
    r"|unchanged|remain(?:s|ing)? (?:the same|code|methods))\b",
    re.IGNORECASE | re.MULTILINE,
)
"""A comment that stands for code."""

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_COLLECTION = (ast.List, ast.Tuple, ast.Set, ast.Dict)
_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


def is_whole(given: str, code: str) -> bool:
    """Whether code is the whole module and not a part of it: it binds all that the module defines, and all that it
    uses of the module."""
    before, after = syntax.parse(given), syntax.parse(code)
    if before is None or after is None or (_ELISION.search(code) and not _ELISION.search(given)):
        return before is None
    bound = set(_list_bound(after.body))
    if "*" in bound:
        return True
    defined = {name for node in before.body if isinstance(node, _DEFINING) for name in _binds(node)}
    used = {node.id for node in ast.walk(after) if isinstance(node, ast.Name)}
    return defined | (set(_list_bound(before.body)) & used) <= bound


def list_defined(code: str) -> list[str]:
    """The names of the classes and functions at the top of a module."""
    tree = syntax.parse(code)
    nodes = _flatten(tree.body) if tree is not None else []
    return [node.name for node in nodes if isinstance(node, _Definition)]


@dataclass
class _Merge:
    given: list[str]
    code: list[str]
    asked: Collection[str]
    replaced: list[str] = field(default_factory=list)
    edits: dict[int, tuple[int, list[str]]] = field(default_factory=dict)
    """By the first line that is replaced: the last one, and the new lines."""
    inserted: dict[int, list[str]] = field(default_factory=dict)
    """New lines by the line before which they stand."""

    def insert(self, line: int, text: list[str]) -> None:
        self.inserted[line] = [*self.inserted.get(line, []), *text]

    def write(self) -> str:
        lines: list[str] = []
        number = 1
        while number <= len(self.given) + 1:
            lines += self.inserted.get(number, [])
            if number > len(self.given):
                break
            last, instead = self.edits.get(number, (number, [self.given[number - 1]]))
            lines += instead
            for inner in range(number + 1, last + 1):
                lines += self.inserted.get(inner, [])
            number = last + 1
        return "\n".join(lines)

    def merge_block(self, before: Sequence[ast.stmt], after: Sequence[ast.stmt], prefix: str, column: int) -> None:
        """Put the statements of a block into that of the module."""
        places = {key: group for key, group in _group(_flatten(before)).items() if not key.startswith("#")}
        groups = _group(after)
        anchors = {key: self._replace(places, group, prefix) for key, group in groups.items()}
        ends = [places[key][-1].end_lineno or 0 for key, line in anchors.items() if line]
        last = max(ends or (node.end_lineno or 0 for node in before), default=len(self.given))
        gap = [""] if column else ["", ""]
        keys = list(anchors)
        for number, key in enumerate(keys):
            following = [line for one in keys[number:] if (line := anchors[one])]
            for node in groups[key] if key not in places else ():
                text = self._take(node, column)
                if following:
                    self.insert(min(following), [*text, *gap])
                else:
                    self.insert(last + 1, [*gap, *text])

    def _replace(self, places: dict[str, list[ast.stmt]], group: list[ast.stmt], prefix: str) -> int:
        """The line of the definition that a group of statements of one name replaces; 0 if it replaces none."""
        old = places.get(_key(group[0]), [])
        if not old:
            return 0
        new, there = group[-1], old[-1]
        name = f"{prefix}{_key(new)}"
        classes = [node for node in group if isinstance(node, ast.ClassDef)]
        if isinstance(there, ast.ClassDef) and self._is_in_parts(name, classes, there):
            for node in classes:
                self._merge_class(there, node, f"{name}.")
            return first_line(there)
        if _is_elided(new) and not _is_elided(there):
            return 0
        self.replaced.append(name)
        if len(group) < len(old) and _is_overloaded(old):
            old, group = old[-1:], group[-1:]
        pairs = zip(old, group, strict=True) if len(old) == len(group) else ((one, *group) for one in old)
        for here, *nodes in pairs:  # the same name in two branches: each gets the answer's definition
            text = [line for node in nodes for line in self._take(node, here.col_offset)]
            if isinstance(nodes[0], _Definition) and not nodes[0].decorator_list and len(nodes) == 1:
                text = [*self.given[first_line(here) - 1 : here.lineno - 1], *text]
            self.edits[first_line(here)] = (here.end_lineno or here.lineno, text)
        return first_line(old[-1])

    def _is_in_parts(self, name: str, nodes: Sequence[ast.ClassDef], there: ast.ClassDef) -> bool:
        """Whether the methods of a class are taken one by one: it was not asked for or is there already, leaves some
        out, or comes in several blocks."""
        if not nodes or there.body[0].lineno == there.lineno:
            return False
        is_there = not any(isinstance(node, Function) and syntax.is_placeholder(node) for node in there.body)
        text = "\n".join(self.code[nodes[-1].lineno - 1 : nodes[-1].end_lineno])
        is_elided = _ELISION.search(text) is not None or any(map(_is_ellipsis, nodes[-1].body))
        return is_there or is_elided or len(nodes) > 1 or name not in self.asked

    def _merge_class(self, old: ast.ClassDef, new: ast.ClassDef, prefix: str) -> None:
        body = [node for node in new.body if not isinstance(node, ast.Expr | ast.Pass)]
        shift, end = old.col_offset - new.col_offset, _find_header_end(self.given, old)
        decorators, header = self.given[first_line(old) - 1 : old.lineno - 1], self.given[old.lineno - 1 : end]
        if new.decorator_list:
            decorators = _shift(self.code[first_line(new) - 1 : new.lineno - 1], shift, range(0))
        if (new.bases or new.keywords) and new.body[0].lineno > new.lineno:
            header = _shift(self.code[new.lineno - 1 : _find_header_end(self.code, new)], shift, range(0))
        self.edits[first_line(old)] = (end, [*decorators, *header])
        self.merge_block(old.body, body, prefix, old.body[0].col_offset)

    def _take(self, node: ast.stmt, column: int) -> list[str]:
        """The lines of a statement of the answer, at this column; what is inside strings stays."""
        first, last = first_line(node), node.end_lineno or node.lineno
        inside = {
            line
            for one in ast.walk(node)
            if isinstance(one, ast.Constant | ast.JoinedStr)
            for line in range(one.lineno + 1, (one.end_lineno or one.lineno) + 1)
        }
        return _shift(self.code[first - 1 : last], column - node.col_offset, {line - first for line in inside})


def merge_definitions(
    given: str, code: str, *, asked: Collection[str] = (), left_out: Collection[str] = (), everything: bool = False
) -> tuple[str, list[str]]:
    """The module with the answer's definitions, and the names of those that it replaces. `asked`: classes that are
    replaced as a whole. `left_out`: names that belong to other modules. `everything`: new definitions come along
    whether or not they are needed."""
    before, after = syntax.parse(given), syntax.parse(code)
    if before is None or after is None:
        return given, []
    if len({first_line(node) for node in after.body}) < len(after.body):  # several statements in a line
        code = unparse(after)
        after = parse(code)
    merge = _Merge(given.split("\n"), code.split("\n"), asked)
    bound = set(_list_bound(before.body))
    old = {_key(node) for node in _flatten(before.body)} - {""}
    body = [node for node in _open_branches(after.body, old) if not _is_example(node)]
    body = [node for node in body if not set(_binds(node)) & set(left_out)]
    body = _own_methods(body, before, asked)
    replacing = [node for node in body if isinstance(node, _DEFINING) and _key(node) in old]
    new = [node for node in body if not set(_list_bound([node])) & bound and node not in replacing]
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    new = [node for node in new if node not in imports]
    if not everything:
        new = _choose_needed(replacing, new)
    merge.merge_block(before.body, [node for node in body if node in replacing or node in new], "", 0)
    if not merge.replaced and not everything:
        return given, []
    _insert_imports(merge, before, imports, bound)
    return merge.write(), merge.replaced


def _own_methods(body: list[ast.stmt], before: ast.Module, asked: Collection[str]) -> list[ast.stmt]:
    """With methods that stand without their class inside that of the asked classes that has most of them, among those
    that the answer does not define."""
    here = {_key(node) for node in body}
    tops = {_key(node) for node in before.body}
    loose = [node for node in body if isinstance(node, Function) and _key(node) not in tops]
    loose = [node for node in loose if _takes_self(node) or node.decorator_list]  # or a static method
    shared: dict[str, int] = {}
    for owner in before.body:
        is_asked = any(f"{one}.".startswith(f"{_key(owner)}.") for one in asked)
        if isinstance(owner, ast.ClassDef) and is_asked and owner.name not in here:
            shared[owner.name] = len({_key(node) for node in owner.body} & {_key(node) for node in loose})
    best = [name for name, count in shared.items() if count and count == max(shared.values())]
    if len(best) != 1:
        return body
    owner = next(node for node in before.body if isinstance(node, ast.ClassDef) and node.name == best[0])
    methods = {_key(node) for node in owner.body}
    loose = [node for node in loose if _takes_self(node) or _key(node) in methods]
    mark = ast.Expr(ast.Constant(...))  # so that they do not replace the whole class
    around = ast.ClassDef(name=owner.name, bases=[], keywords=[], body=[mark, *loose], decorator_list=[])
    return [*(node for node in body if node not in loose), ast.copy_location(around, loose[0])]


def _takes_self(node: Function) -> bool:
    return any(one.arg in ("self", "cls") for one in [*node.args.posonlyargs, *node.args.args][:1])


def _insert_imports(
    merge: _Merge, before: ast.Module, imports: Sequence[ast.Import | ast.ImportFrom], bound: set[str]
) -> None:
    head = [node for node in before.body if isinstance(node, ast.Import | ast.ImportFrom)]
    first = next((node for node in before.body if isinstance(node, _Definition)), None)
    head = [node for node in head if first is None or node.lineno < first.lineno]
    docstring = ast.get_docstring(before, clean=False) is not None
    last = head[-1].end_lineno if head else (before.body[0].end_lineno if docstring else 0)
    for node in imports:
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        place = (before.body[0].end_lineno if docstring else 0) if is_future else last
        missing = [one for one in node.names if _name_of(one) not in bound or one.name == "*" or _is_inner(one)]
        if missing:
            node.names = missing
            merge.insert((place or 0) + 1, [unparse(node)])


def _choose_needed(replacing: Sequence[ast.stmt], new: list[ast.stmt]) -> list[ast.stmt]:
    """New statements that the definitions need, and what these need; also what fills a table that is new."""
    needed = set[str]().union(*map(list_names, replacing)) if replacing else set[str]()
    chosen: list[ast.stmt] = []
    while True:
        bound = {name for node in chosen for name in _binds(node)}
        more = [node for node in new if node not in chosen and (needed & set(_binds(node)) or _root(node) in bound)]
        if not more:
            return [node for node in new if node in chosen]
        chosen += more
        needed |= set[str]().union(*map(list_names, more))


def _root(node: ast.stmt) -> str:
    """The name that a statement changes without binding it, such as `TABLE` in `TABLE["a"] = 1`; otherwise empty."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute() as place)) | ast.Assign(targets=[ast.Attribute() as place]):
            return dotted_name(place).partition(".")[0]
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
            return name
    return ""


def _flatten(block: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements of a block, with the definitions in its branches."""
    found: list[ast.stmt] = []
    for node in block:
        found.append(node)
        if isinstance(node, ast.If | ast.Try | ast.With):
            handlers = [inner for handler in getattr(node, "handlers", []) for inner in handler.body]
            inside = [*node.body, *handlers, *getattr(node, "orelse", []), *getattr(node, "finalbody", [])]
            found += [one for one in _flatten(inside) if isinstance(one, _Definition)]
    return found


def _open_branches(block: Sequence[ast.stmt], known: Collection[str]) -> Iterator[ast.stmt]:
    """With the definitions of the module that are in branches, in place of these."""
    for node in block:
        inside = _flatten([node])[1:]
        yield from inside if any(_key(one) in known for one in inside) else [node]


def _is_overloaded(nodes: Sequence[ast.stmt]) -> bool:
    decorators = [one for node in nodes if isinstance(node, _Definition) for one in node.decorator_list]
    return any(dotted_name(one).rpartition(".")[2] == "overload" for one in decorators)


def _group(block: Sequence[ast.stmt]) -> dict[str, list[ast.stmt]]:
    groups: dict[str, list[ast.stmt]] = {}
    for number, node in enumerate(block):
        groups.setdefault(_key(node) or f"#{number}", []).append(node)
    return groups


def _key(node: ast.stmt) -> str:
    """What two statements have in common of which one may replace the other: a name, and the role of an accessor."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            if node.name == "_":  # one of several that are registered for types
                annotations = [one.annotation for one in node.args.args[:1] if one.annotation is not None]
                return " ".join(map(dump, [*node.decorator_list, *annotations]))
            roles = [one.attr for one in node.decorator_list if isinstance(one, ast.Attribute)]
            return f"{node.name}{''.join(f' {role}' for role in roles if role in ('setter', 'deleter', 'getter'))}"
        case ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""


def _is_elided(node: ast.stmt) -> bool:
    """A definition without a body, or a value with an ellipsis: it stands for what the module has."""
    if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, _COLLECTION):
        return any(isinstance(one, ast.Constant) and one.value is ... for one in ast.iter_child_nodes(node.value))
    return syntax.is_placeholder(node)


def _is_ellipsis(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...


def _is_example(node: ast.stmt) -> bool:
    match node:
        case ast.If(test=test):
            return "__name__" in list_names(test)
        case ast.Assert() | ast.Expr(value=ast.Constant()) | ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
            return True
    return False


def _binds(node: ast.stmt) -> list[str]:
    return list(_list_bound([node]))


def _list_bound(block: Sequence[ast.stmt]) -> Iterator[str]:
    """The names that statements bind when a module is imported."""
    for node in block:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import() | ast.ImportFrom():
                yield from map(_name_of, node.names)
            case ast.If(test=test) if "TYPE_CHECKING" in list_names(test):
                yield from _list_bound(node.orelse)
            case _:
                targets = (one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr))
                names = (one for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))
                yield from (one.id for one in names if isinstance(one.ctx, ast.Store))
                for block_name in ("body", "orelse", "finalbody"):
                    yield from _list_bound(getattr(node, block_name, []))
                for handler in getattr(node, "handlers", []):
                    yield from _list_bound(handler.body)


def _name_of(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _is_inner(alias: ast.alias) -> bool:
    """`import a.b` loads more than `import a`, though it binds the same name."""
    return "." in alias.name and alias.asname is None


def _find_header_end(lines: Sequence[str], node: ast.ClassDef) -> int:
    """The line with the colon after which the body of a class begins."""
    last = node.body[0].lineno - 1
    ends = (at for at in range(node.lineno, last) if lines[at - 1].partition("#")[0].rstrip().endswith(":"))
    return next(ends, last)


def _shift(lines: list[str], by: int, inside: Collection[int]) -> list[str]:
    """The lines moved to the right, or to the left, but not those inside strings."""
    moved = [line if not line.strip() else " " * max(0, indent_of(line) + by) + line.lstrip() for line in lines]
    return [line if number in inside else moved[number] for number, line in enumerate(lines)] if by else lines
