"""Find changes of objects that belong to the project and outlive a call, such as its tables and settings.

A test that reads such an object afterwards would see what the candidate wrote into it.
"""

import ast
from collections.abc import Callable, Iterator

from dlbench.execution.scopes import Scope, get_root, get_text, list_bound, list_own_nodes
from dlbench.execution.unusual_names import is_mutating

_WRITERS = {"copyto", "put", "put_along_axis", "fill_diagonal", "shuffle", "heappush", "heappop", "heapify", "insort"}
"""Functions that change their first argument."""
_CONTAINERS = {"dict", "list", "set", "OrderedDict", "defaultdict", "Counter", "deque"}


def list_shared_changes(pieces: list[ast.Module], is_shared: Callable[[str], bool]) -> set[str]:
    """`is_shared`: whether a dotted name of the module stands for an object of the project."""
    nodes = [node for piece in pieces for node in ast.walk(piece)]
    handed_on = set(_list_handed_on(nodes, is_shared))

    def may_be_shared(chain: str) -> bool:
        return chain in handed_on if chain.endswith(")") else is_shared(chain)

    found = {word for piece in pieces for word in _visit(piece, frozenset(), frozenset(), may_be_shared)}
    methods = [node for node in _list_methods(nodes) if is_shared(_get_chain(node.value))]
    return found | {f"{get_text(node)} as a value" for node in methods}


def _list_handed_on(nodes: list[ast.AST], is_shared: Callable[[str], bool]) -> Iterator[str]:
    """`f(a)` for a parameter of a function of the answer that is given such an object, and `f()` for a function that
    returns one."""

    def hands_on(value: ast.expr | None) -> bool:
        return value is not None and _is_shared(value, frozenset(), frozenset(), is_shared)

    functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    for name, function in functions.items():
        if any(isinstance(node, ast.Return) and hands_on(node.value) for node in ast.walk(function)):
            yield f"{name}()"
    for node in nodes:
        if isinstance(node, ast.Call) and (name := get_text(node.func)) in functions:
            arguments = functions[name].args
            names = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
            rest = arguments.vararg.arg if arguments.vararg else ""
            given = [(names[place] if place < len(names) else rest, one) for place, one in enumerate(node.args)]
            given += [(word.arg or "", word.value) for word in node.keywords]
            yield from (f"{name}({one})" for one, value in given if hands_on(value))


def _list_methods(nodes: list[ast.AST]) -> Iterator[ast.Attribute]:
    """Methods that change their object, where they are not called."""
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if isinstance(node, ast.Attribute) and is_mutating(node.attr) and id(node) not in called:
            yield node


def _visit(
    node: ast.AST, local: frozenset[str], shared: frozenset[str], is_shared: Callable[[str], bool]
) -> Iterator[str]:
    """`local`: names that functions around the node bind; of these `shared` may hold an object of the project.
    `is_shared` also answers for what `_list_handed_on` lists."""
    if isinstance(node, Scope):
        bound = frozenset(list_bound(node))
        local, shared = local | bound, shared - bound
        if isinstance(node, ast.FunctionDef):
            names = [one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)]
            shared |= {name for name in names if is_shared(f"{node.name}({name})")}
        pairs = [*_list_assignments(node)]
        count = -1
        while count < len(shared):  # until no further name turns up
            count = len(shared)
            for targets, value in pairs:
                if any(_is_shared(one, local, shared, is_shared) for one in _list_values(value)):
                    shared |= {one.id for one in ast.walk(targets) if isinstance(one, ast.Name)} & local
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=attr), args=arguments) if is_mutating(attr):
            changed = arguments[0] if arguments and get_text(value) in _CONTAINERS else value
            if _is_shared(changed, local, shared, is_shared):
                yield f"{get_text(value)}.{attr}(...)"
        case ast.Call(func=ast.Name() | ast.Attribute() as function, args=[first, *_]):
            if get_text(function).rpartition(".")[2] in _WRITERS and _is_shared(first, local, shared, is_shared):
                yield f"{get_text(function)}({get_text(first)}, ...)"
        case ast.Subscript(ctx=ast.Store() | ast.Del(), value=value):
            if _is_shared(value, local, shared, is_shared):
                yield f"{get_text(value)}[...] = ..."
        case ast.AugAssign(target=ast.Name() as name):
            if name.id in shared:
                yield f"{name.id} += ..."
        case ast.keyword(arg="out", value=value):
            if _is_shared(value, local, shared, is_shared):
                yield f"out={get_text(value)}"
    for child in ast.iter_child_nodes(node):
        yield from _visit(child, local, shared, is_shared)


def _list_assignments(scope: Scope) -> Iterator[tuple[ast.AST, ast.expr]]:
    """What a scope binds to parts of which value."""
    for node in list_own_nodes(scope):
        match node:
            case ast.Assign(targets=targets, value=value):
                yield from ((target, value) for target in targets)
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                yield target, value
            case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
                yield target, value
            case ast.comprehension(target=target, iter=value):
                yield target, value
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                yield target, value
            case ast.Match(subject=value, cases=cases):
                names = [one for case in cases for one in ast.walk(case.pattern)]
                stars = [getattr(one, "name", None) or getattr(one, "rest", None) for one in names]
                yield ast.List([ast.Name(name) for name in stars if isinstance(name, str)]), value
    if isinstance(scope, ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp):
        yield scope.generators[0].target, scope.generators[0].iter
    elif scope.args.defaults or scope.args.kw_defaults:
        positional = [*scope.args.posonlyargs, *scope.args.args]
        pairs = [*zip(reversed(positional), reversed(scope.args.defaults), strict=False)]
        pairs += [
            (one, value) for one, value in zip(scope.args.kwonlyargs, scope.args.kw_defaults, strict=True) if value
        ]
        yield from ((ast.Name(one.arg), value) for one, value in pairs)


def _list_values(node: ast.expr) -> Iterator[ast.expr]:
    """The objects that a value is, or holds: not those that a call or an operation only reads."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts) | ast.BoolOp(values=parts):
            for part in parts:
                yield from _list_values(part)
        case ast.Dict(values=parts):
            for part in parts:
                yield from _list_values(part)
        case ast.IfExp(body=first, orelse=second):
            yield from _list_values(first)
            yield from _list_values(second)
        case ast.Starred(value=value) | ast.NamedExpr(value=value):
            yield from _list_values(value)
        case ast.Call(func=ast.Attribute(value=value, attr="get" | "items" | "values" | "setdefault")):
            yield from _list_values(value)
        case ast.Call(func=ast.Name(id="zip" | "enumerate" | "iter" | "next" | "reversed"), args=parts):
            for part in parts:
                yield from _list_values(part)
        case ast.Call(func=ast.Lambda(body=body)):
            yield from _list_values(body)
        case ast.Call(func=ast.Name()):
            yield node
        case ast.Name() | ast.Attribute() | ast.Subscript() if get_root(node) is not None:
            yield node
        case ast.Attribute(value=value) | ast.Subscript(value=value):
            yield from _list_values(value)


def _is_shared(node: ast.expr, local: frozenset[str], shared: frozenset[str], is_shared: Callable[[str], bool]) -> bool:
    for value in _list_values(node):
        if isinstance(value, ast.Call):
            if is_shared(f"{get_text(value.func)}()"):
                return True
            continue
        root = get_root(value)
        if root is not None and (root.id in shared if root.id in local else is_shared(_get_chain(value))):
            return True
    return False


def _get_chain(node: ast.expr) -> str:
    """The dotted name in front of the first item: `a.b` of `a.b[0].c`."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        parts = [node.attr, *parts] if isinstance(node, ast.Attribute) else []
        node = node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "...", *parts])
