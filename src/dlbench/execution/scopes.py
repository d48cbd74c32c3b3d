"""Read scopes of Python code: the names that functions and comprehensions bind, and dotted names as text."""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Scope = Function | ast.Lambda | _Comprehension
Block = Scope | ast.Module | ast.ClassDef


def list_outside(scope: Scope | ast.ClassDef) -> list[ast.AST]:
    """The parts of a scope that Python evaluates in the scope around it."""
    if isinstance(scope, ast.ClassDef):
        return [*scope.decorator_list, *scope.bases, *scope.keywords]
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
    free = {
        name for node in list_own_nodes(scope) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names
    }
    return (_list_arguments(scope) | list_stored(scope)) - free - list_imported(scope)


def _list_arguments(scope: Scope) -> set[str]:
    if isinstance(scope, _Comprehension):
        return set()
    every = scope.args
    listed = [*every.posonlyargs, *every.args, *every.kwonlyargs, every.vararg, every.kwarg]
    return {argument.arg for argument in listed if argument is not None}


def list_imported(scope: Block) -> set[str]:
    nodes = [node for node in list_own_nodes(scope) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {alias.asname or alias.name.partition(".")[0] for node in nodes for alias in node.names}


def list_ambiguous(scope: Block) -> set[str]:
    """Names that a scope imports and also binds in another way, other than to a constant: `x = None`."""
    imported = list_imported(scope)
    if not imported:
        return set()
    absent = {
        id(node.targets[0])
        for node in list_own_nodes(scope)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.Constant)
    }
    arguments = _list_arguments(scope) if isinstance(scope, Scope) else set()
    return imported & (arguments | list_stored(scope, absent))


def list_bound_anywhere(nodes: Iterable[ast.AST]) -> dict[str, list[str]]:
    """What each name is bound to, once for every place: "function", "class", the name of what is called, or ""."""
    found: dict[str, list[str]] = defaultdict(list)
    made = {
        id(node.targets[0]): node.value.func.id
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
    }
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found[name].append("function")
            case ast.ClassDef(name=name):
                found[name].append("class")
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found[name].append(made.get(id(node), ""))
            case (
                ast.arg(arg=name)
                | ast.alias(asname=str(name))
                | ast.alias(name=name)
                | ast.ExceptHandler(name=str(name))
            ):
                found[name].append("")
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                found[name].append("")
    return found


def list_stored(scope: Block, without: Collection[int] = ()) -> set[str]:
    """Names that statements of a scope bind or delete, other than imports. `without`: nodes that do not count."""
    found: set[str] = set()
    for node in [*list_own_nodes(scope), *_list_assigned_inside(scope)]:
        if id(node) in without:
            continue
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.ExceptHandler(name=str(name)):
                found.add(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
    return found


def _list_assigned_inside(scope: Block) -> Iterator[ast.AST]:
    """Targets of `:=` in comprehensions: they belong to the function or module around."""
    pending: list[ast.AST] = [] if isinstance(scope, _Comprehension) else [*list_own_nodes(scope)]
    while pending:
        node = pending.pop()
        if isinstance(node, _Comprehension):
            inner = [*list_own_nodes(node)]
            yield from (one.target for one in inner if isinstance(one, ast.NamedExpr))
            pending += inner


def list_own_nodes(scope: Block) -> Iterator[ast.AST]:
    """The nodes that Python evaluates in a scope, so without what is inside the scopes in it."""
    outside = {id(node) for node in list_outside(scope)} if not isinstance(scope, ast.Module) else set()
    pending = [*_list_children(scope)]
    while pending:
        node = pending.pop()
        if id(node) in outside:
            continue
        yield node
        pending += list_outside(node) if isinstance(node, Scope | ast.ClassDef) else ast.iter_child_nodes(node)


def _list_children(scope: Block) -> Iterator[ast.AST]:
    """The children of a scope; in place of its arguments and first generator, their parts."""
    for node in ast.iter_child_nodes(scope):
        is_part = isinstance(node, ast.arguments) or (isinstance(scope, _Comprehension) and node is scope.generators[0])
        yield from ast.iter_child_nodes(node) if is_part else (node,)


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
