"""Decide whether a class only groups values and methods: nothing in it decides what its objects are equal to.

Objects of such classes are looked for in what the candidate returns.
"""

import ast

from dlbench.execution.scopes import get_text

_BASES = {
    "object", "Exception", "ValueError", "typing.NamedTuple", "enum.Enum", "torch.nn.Module", "torch.autograd.Function",
    "abc.ABC", "typing.Protocol",
}  # fmt: skip
_METHODS = {
    "__init__", "__call__", "__post_init__", "__repr__", "__str__", "__len__", "__iter__", "__next__", "__getitem__",
    "__setitem__", "__enter__", "__exit__",
}  # fmt: skip


def is_plain(node: ast.ClassDef, bases: list[set[str]]) -> bool:
    """`bases`: what each base may stand for."""
    if node.keywords or not all(meanings <= _BASES for meanings in bases):
        return False
    if {"enum.Enum"} in bases and not _has_members(node):
        return False  # it makes classes when it is called
    return all(_is_plain_statement(statement) for statement in node.body)


def _has_members(node: ast.ClassDef) -> bool:
    """Whether an enumeration certainly has members: no function, and no name that it is told to ignore."""
    values: dict[str, ast.expr] = {}
    for statement in node.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                values[name] = value
    members = [value for name, value in values.items() if not name.startswith("_")]
    is_auto = [isinstance(one, ast.Call) and get_text(one.func) in {"auto", "enum.auto"} for one in members]
    return "_ignore_" not in values and (any(map(is_literal, members)) or any(is_auto))


def _is_plain_statement(statement: ast.stmt) -> bool:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return not name.startswith("__") or name in _METHODS
        case ast.Assign(targets=[ast.Name(id="__slots__")], value=value):
            return is_literal(value)
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return not name.startswith("__")
        case ast.Expr(value=ast.Constant()) | ast.Pass():
            return True
    return False


def is_literal(node: ast.expr) -> bool:
    """Whether it is a value that is written out."""
    if isinstance(node, ast.Tuple | ast.List):
        return all(map(is_literal, node.elts))
    return isinstance(node, ast.Constant)
