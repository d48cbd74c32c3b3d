"""Which names does a piece of code bind at module level, and which does it look up there?

Asked of CPython's own symbol tables, not of a guess by pattern: comprehensions, class scopes, `global` statements and
annotations have rules of their own, and one name missed is a helper lost.
"""

import ast
import symtable
from dataclasses import dataclass

from dlbench.parsing import parse


@dataclass(frozen=True)
class Names:
    bound: frozenset[str]
    used: frozenset[str]


def find_names(code: str) -> Names:
    bound: set[str] = set()
    used: set[str] = set()
    top = symtable.symtable(code, "<code>", "exec")
    _walk(top, top, bound, used)
    return Names(frozenset(bound), frozenset(used))


def _walk(table: symtable.SymbolTable, top: symtable.SymbolTable, bound: set[str], used: set[str]) -> None:
    for symbol in table.get_symbols():
        name = symbol.get_name()
        if table is top:
            if symbol.is_assigned() or symbol.is_imported():
                bound.add(name)
            if symbol.is_referenced():
                used.add(name)
        elif symbol.is_global():
            used.add(name)
            if symbol.is_declared_global() and (symbol.is_assigned() or symbol.is_imported()):
                bound.add(name)
    for child in table.get_children():
        _walk(child, top, bound, used)


def find_attributes(code: str, of: set[str] | None = None) -> frozenset[str]:
    """Every name that the code reaches through a dot, or only those behind one of the names given."""
    return frozenset(
        node.attr
        for node in ast.walk(parse(code))
        if isinstance(node, ast.Attribute)
        and (of is None or (isinstance(node.value, ast.Name) and node.value.id in of))
    )


def find_changed(code: str) -> frozenset[str]:
    """Names whose objects a statement changes in place: `x[i] = …`, `x.a = …`, `del x[i]`, `x.append(…)`."""
    changed: set[str] = set()
    for node in ast.walk(parse(code)):
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                changed.add(_base(node))
            case ast.Expr(value=ast.Call(func=ast.Attribute() as method)):
                changed.add(_base(method))
    return frozenset(changed - {""})


def _base(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def find_imports(tree: ast.Module, package: str) -> dict[str, tuple[str, str]]:
    """What each unconditional import binds its name to: `(module, attribute)`, relative imports made absolute."""
    found: dict[str, tuple[str, str]] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    found[alias.asname] = (alias.name, "")
                else:
                    root = alias.name.split(".")[0]
                    found[root] = (root, "")
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for alias in node.names:
                found[alias.asname or alias.name] = (_absolute(node, package), alias.name)
        else:
            # bound again by something else: what it is in the end cannot be told from the import
            for name in find_names(ast.unparse(node)).bound:
                found.pop(name, None)
    return found


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".") if package else []
    kept = parts[: len(parts) - node.level + 1]
    return ".".join([*kept, *([node.module] if node.module else [])])
