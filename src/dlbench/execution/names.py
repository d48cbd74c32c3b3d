"""Find which names code binds at module level and which it looks up there.

The names come from CPython's own symbol tables, not from patterns: comprehensions, class scopes, `global` statements
and annotations have rules of their own, and one missed name is a lost helper.
"""

import ast
import symtable
from collections.abc import Iterator
from dataclasses import dataclass

from dlbench.dataset.target import Target, dotted_name, write_code
from dlbench.parsing import parse


@dataclass(frozen=True)
class Names:
    bound: frozenset[str]
    used: frozenset[str]


def find_names(code: str) -> Names:
    module = symtable.symtable(code, "<code>", "exec")
    symbols = module.get_symbols()
    used = {symbol.get_name() for symbol in symbols if symbol.is_referenced()}
    pending = module.get_children()
    while pending:
        table = pending.pop()
        pending += table.get_children()
        inner = [symbol for symbol in table.get_symbols() if symbol.is_global() and not _is_local(symbol)]
        used |= {symbol.get_name() for symbol in inner}
        symbols += inner
    return Names(frozenset(symbol.get_name() for symbol in symbols if _is_stored(symbol)), frozenset(used))


def _is_stored(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported()


def _is_local(symbol: symtable.Symbol) -> bool:
    """`is_global` takes any scope called "top" for the module's, and all that is bound there for global."""
    return (_is_stored(symbol) or symbol.is_parameter()) and not symbol.is_declared_global()


def find_members(target: Target) -> frozenset[str]:
    """The names that the class around the target binds."""
    return find_names(write_code(ast.Module(target.classes[-1].body, []))).bound if target.classes else frozenset()


def find_future(tree: ast.Module) -> list[str]:
    """What the module imports from `__future__`."""
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    return [alias.name for node in imports for alias in node.names]


def find_uses(code: str) -> frozenset[str]:
    """The names that the code looks up at module level, those in quoted annotations included."""
    nodes = [getattr(node, field, None) for node in ast.walk(parse(code)) for field in ("annotation", "returns")]
    quoted = {name for annotation in nodes if annotation is not None for name in _quoted_names(annotation)}
    return find_names(code).used | quoted


def _quoted_names(annotation: ast.AST) -> Iterator[str]:
    match annotation:
        case ast.Constant(value=str(text)):
            try:
                inner = parse(text.strip(), mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return
            yield from (node.id for node in ast.walk(inner) if isinstance(node, ast.Name))
            yield from _quoted_names(inner)
        case ast.Subscript(value=base) if is_data_subscript(dotted_name(base)):
            # Strings of `Literal` and `Annotated` are values.
            return
        case _:
            for child in ast.iter_child_nodes(annotation):
                yield from _quoted_names(child)


def is_data_subscript(base: str) -> bool:
    return base.rpartition(".")[2] in {"Literal", "Annotated"}


def find_attributes(code: str, of: set[str] | None = None) -> frozenset[str]:
    """Every name that the code reaches through a dot, or only those behind one of the names in `of`."""
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
                root = alias.name.split(".")[0]
                found[alias.asname or root] = (alias.name if alias.asname else root, "")
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for alias in node.names:
                found[alias.asname or alias.name] = (_absolute(node, package), alias.name)
        else:
            # Another statement binds the name again: the import no longer says what it is.
            for name in find_names(write_code(node)).bound:
                found.pop(name, None)
    return found


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".") if package else []
    return ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [node.module])])
