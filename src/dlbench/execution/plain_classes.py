"""Decide whether a class only groups values and methods: nothing in it decides what its objects are equal to.

Objects of such classes are looked for in what the candidate returns.
"""

import ast

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
    members = [_get_target(one) for one in node.body if isinstance(one, ast.Assign)]
    if {"enum.Enum"} in bases and all(name.startswith("_") for name in members):
        return False  # an enumeration without members makes classes when it is called
    return all(_is_plain_statement(statement) for statement in node.body)


def _get_target(statement: ast.Assign) -> str:
    """The name that is assigned; `_` for anything else."""
    target = statement.targets[0]
    return target.id if isinstance(target, ast.Name) else "_"


def _is_plain_statement(statement: ast.stmt) -> bool:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return not name.startswith("__") or name in _METHODS
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return not name.startswith("__") or name == "__slots__"
        case ast.Expr(value=ast.Constant()) | ast.Pass():
            return True
    return False


def is_literal(node: ast.expr) -> bool:
    """Whether it is a value that is written out."""
    if isinstance(node, ast.Tuple | ast.List):
        return all(map(is_literal, node.elts))
    return isinstance(node, ast.Constant)
