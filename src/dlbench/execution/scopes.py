"""Read scopes of Python code: the names that functions and comprehensions bind, and dotted names as text."""

import ast
from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Scope = Function | ast.Lambda | _Comprehension


def list_outside(scope: Scope) -> list[ast.AST]:
    """The parts of a scope that Python evaluates in the scope around it."""
    if isinstance(scope, _Comprehension):
        return [scope.generators[0].iter]
    listed = [*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs, scope.args.vararg, scope.args.kwarg]
    found: list[ast.AST | None] = [*scope.args.defaults, *scope.args.kw_defaults]
    found += [argument.annotation for argument in listed if argument is not None]
    if not isinstance(scope, ast.Lambda):
        found += [*scope.decorator_list, scope.returns]
    return [node for node in found if node is not None]


def list_bound(scope: Scope) -> set[str]:
    """Names that a function or comprehension binds, other than by imports and for its module."""
    free: set[str] = set()
    imported: set[str] = set()
    for node in list_own_nodes(scope):
        if isinstance(node, ast.Global | ast.Nonlocal):
            free.update(node.names)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imported.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
    arguments: set[str] = set()
    if not isinstance(scope, _Comprehension):
        every = scope.args
        listed = [*every.posonlyargs, *every.args, *every.kwonlyargs, every.vararg, every.kwarg]
        arguments = {argument.arg for argument in listed if argument is not None}
    return (arguments | list_stored(scope)) - free - imported


def list_stored(scope: Scope | ast.Module) -> set[str]:
    found: set[str] = set()
    for node in list_own_nodes(scope):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.ExceptHandler(name=str(name)):
                found.add(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
    return found


def list_own_nodes(scope: Scope | ast.Module) -> Iterator[ast.AST]:
    """The nodes of a scope without those of scopes inside it."""
    pending: list[ast.AST] = list(ast.iter_child_nodes(scope))
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, Scope | ast.ClassDef):
            pending += ast.iter_child_nodes(node)


def get_root(node: ast.expr) -> ast.Name | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def get_text(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "...", *parts])
