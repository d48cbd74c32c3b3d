"""Detect trivial functions.

A function that only forwards its parameters, returns an attribute or raises leaves nothing to get wrong; a table of
constants can only be looked up. Neither shows how well a model writes code.
"""

import ast

from dlbench.dataset.target import Function, dotted_name, find_body, walk_code
from dlbench.validation.mutants import is_logging

_COMPUTING = (
    ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.JoinedStr, ast.comprehension,
    ast.Slice,
)  # fmt: skip
_LITERAL = (ast.Constant, ast.UnaryOp, ast.unaryop, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.expr_context)
_PLAIN = (*_LITERAL, ast.Name, ast.Attribute, ast.Starred, ast.Subscript)
_CONVERSIONS = {"int", "float", "str", "bool", "list", "tuple", "dict", "set", "frozenset"}


def name_triviality(function: Function) -> str:
    """Why the function is trivial, in words; empty if it is not."""
    body = [statement for statement in find_body(function) if not _has_no_effect(statement)]
    if any(dotted_name(decorator).endswith("abstractmethod") for decorator in function.decorator_list):
        return "it is abstract"
    if function.name in {"__repr__", "__str__", "extra_repr"} or function.name.startswith("_repr_"):
        return "it formats an object as text"
    match body:
        case [] | [ast.Return(value=None)]:
            return "its body is empty"
        case [ast.Raise()]:
            return "it only raises"
        case [ast.Return(value=ast.expr() as value)] if is_plain(value):
            return "it only returns an existing value"
        case [ast.If(body=[ast.Return() as one], orelse=[ast.Return() as other])] | [
            ast.If(body=[ast.Return() as one], orelse=[]),
            ast.Return() as other,
        ] if is_delegation(one.value) and is_delegation(other.value):
            return "it only chooses a function to forward its parameters to"
    if _only_forwards(body):
        return "it only forwards its parameters"
    if all(map(_collects, body)):
        return "it only collects attributes"
    return ""


def only_stores(function: Function) -> bool:
    """Whether it is a constructor that only stores its arguments."""
    body = find_body(function)
    stores = any(isinstance(statement, ast.Assign | ast.AnnAssign) for statement in body)
    return function.name in {"__init__", "__post_init__"} and stores and all(map(_stores, body))


def literal_share(function: Function) -> tuple[float, int]:
    """The share of the body's expressions that are literals, and the number of constants."""
    expressions = [node for part in find_body(function) for node in walk_code(part) if isinstance(node, ast.expr)]
    literal = sum(all(isinstance(part, _LITERAL) for part in ast.walk(node)) for node in expressions)
    constants = sum(isinstance(node, ast.Constant) for node in expressions)
    return literal / max(1, len(expressions)), constants


def is_delegation(value: ast.expr | None) -> bool:
    """Whether it is one call of a name or of a new object, with only plain arguments."""
    if isinstance(value, ast.Await | ast.YieldFrom):
        value = value.value
    if not isinstance(value, ast.Call):
        return False
    called = value.func
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Call):
        maker = dotted_name(called.value).rpartition(".")[2]
        known = maker == "super" or (maker[:1].isupper() and is_delegation(called.value))
    else:
        known = is_plain(called)
    return known and all(map(is_plain, [*value.args, *(keyword.value for keyword in value.keywords)]))


def _only_forwards(body: list[ast.stmt]) -> bool:
    """Whether there are at most two calls in two statements and nothing that computes or branches."""
    nodes = [node for statement in body for node in walk_code(statement)]
    calls = sum(isinstance(node, ast.Call) for node in nodes)
    if len(body) > 2 or not 1 <= calls <= 2 or any(isinstance(node, _COMPUTING) for node in nodes):
        return False
    return all(isinstance(statement, ast.Return | ast.Expr | ast.Assign | ast.AnnAssign) for statement in body)


def is_plain(value: ast.expr | None) -> bool:
    """Whether it is a name, an attribute, a constant, or a collection of these."""
    return value is None or all(isinstance(part, _PLAIN) for part in ast.walk(value))


def _is_super(value: ast.expr) -> bool:
    """Whether it calls a base class with plain arguments."""
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super"))) | ast.Attribute(attr="__init__")):
            return is_delegation(value)
    return False


def _has_no_effect(statement: ast.stmt) -> bool:
    """Whether it changes nothing or only logs."""
    match statement:
        case (
            ast.Pass() | ast.Delete() | ast.Import() | ast.ImportFrom() | ast.Global() | ast.Expr(value=ast.Constant())
        ):
            return True
        case ast.Expr(value=ast.Call(func=called)):
            return is_logging(called)
    return False


def _collects(statement: ast.stmt) -> bool:
    """Whether it only collects attributes, as methods do that return an object's configuration."""
    match statement:
        case ast.Return(value=value) | ast.Assign(value=value) | ast.AnnAssign(value=value):
            return value is None or _is_collection(value)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="update"), args=[value], keywords=[])):
            return _is_collection(value)
    return False


def _is_collection(value: ast.expr) -> bool:
    match value:
        case ast.Dict(keys=keys, values=values):
            return all(map(is_plain, keys)) and all(is_plain(part) or is_delegation(part) for part in values)
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
            return all(is_plain(keyword.value) or is_delegation(keyword.value) for keyword in keywords)
        case ast.Call():
            return _is_super(value)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _is_collection(left) and _is_collection(right)
    return is_plain(value)


def _stores(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(value=value) | ast.AnnAssign(value=value):
            return value is None or _is_stored_value(value)
        case ast.Expr(value=ast.Call() as value):
            return _is_super(value)
        case ast.If(test=ast.Compare(left=ast.Name(), ops=[ast.Is() | ast.IsNot()]), body=body, orelse=orelse):
            return all(map(_stores, [*body, *orelse]))
    return _has_no_effect(statement)


def _is_stored_value(value: ast.expr) -> bool:
    match value:
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return all(map(_is_stored_value, [test, body, orelse]))
        case ast.BoolOp(values=parts):
            return all(map(_is_stored_value, parts))
        case ast.Compare(left=left, comparators=others):
            return all(map(_is_stored_value, [left, *others]))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return name in _CONVERSIONS and all(map(is_plain, arguments))
    return is_plain(value)
