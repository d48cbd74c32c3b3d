"""In which ways can code be wrong by a little?

Each operator looks at one node and says what to put in its place, and nothing of whether anybody would notice. Here are
the table of all, and those that any Python can be wrong by; those of arrays stand in `tensor_mutations`.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dlbench.dataset.target import dotted_name

OPERATORS: dict[str, str] = {
    "comparison turned": "A comparison says the opposite: `<` for `>=`, `==` for `!=`, `in` for `not in`.",
    "operator exchanged": "Another arithmetic operator: `+` for `-`, `*` for `/`, a product for a power.",
    "number off by one": "A number is greater by one.",
    "truth negated": "`True` for `False`, `False` for `True`.",
    "condition negated": "The condition of an if, a while or a conditional expression is negated.",
    "nothing returned": "A return gives `None` instead of its value.",
    "and/or exchanged": "`and` for `or`, `or` for `and`.",
    "statement left out": "An assignment, a raise, or a call for its effect is not done.",
    "arguments swapped": "The first two positional arguments of a call change places.",
    "keyword argument dropped": "A call leaves one keyword argument to its default.",
    "slice bound shifted": "A slice begins one later, or ends one earlier.",
    "range bound off by one": "A range begins one later, or ends one earlier.",
    "unary minus removed": "A value keeps the sign that should be turned.",
    "method exchanged": "Another function of the same shape: `floor` for `ceil`, `log` for `exp`, `zeros` for `ones`.",
    "axis changed": "Another axis or dim, given by keyword or as a bare number.",
    "keepdims negated": "A reduced axis is dropped where it should stay, or stays where it should go.",
    "dtype changed": "A neighbouring type: `float64` for `float32`, `int32` for `int64`, `double` for `float`.",
    "reduction exchanged": "Another reduction: `sum` for `mean`, `min` for `max`, `all` for `any`.",
}

_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPARISONS = {old.__name__: new.__name__ for old, new in _COMPARE.items()}
"""By its name in the tree, each comparison's opposite."""
_COMPUTE: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Add,
}  # fmt: skip
# swapped, these give the same again, or break at the first call whatever is tested
_NOT_SWAPPED = {
    "isinstance", "issubclass", "hasattr", "getattr", "setattr", "delattr", "cast", "max", "min", "maximum", "minimum",
    "add", "multiply", "mul", "equal", "not_equal", "logical_and", "logical_or", "logical_xor", "allclose", "isclose",
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    operator: str
    line: int
    field: str
    """Of the node, that gets another value; empty where the node itself gives way to another."""
    value: object
    claims: tuple[ast.AST, ...] = ()
    """Parts that no other operator should change, because this one does."""


def find_changes(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Compare(ops=[comparing]) if type(comparing) in _COMPARE:
            yield setting("comparison turned", node, "ops", [_COMPARE[type(comparing)]()])
        case ast.BinOp(op=computing) | ast.AugAssign(op=computing) if type(computing) in _COMPUTE:
            yield setting("operator exchanged", node, "op", _COMPUTE[type(computing)]())
        case ast.Constant(value=bool(truth)):
            yield setting("truth negated", node, "value", not truth)
        case ast.Constant(value=int(number) | float(number)):
            yield setting("number off by one", node, "value", number + 1)
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield setting("condition negated", test, "test", ast.UnaryOp(ast.Not(), test))
        case ast.Return(value=ast.expr()):
            yield setting("nothing returned", node, "value", ast.Constant(None))
        case ast.BoolOp(op=joining):
            yield setting("and/or exchanged", node, "op", ast.Or() if isinstance(joining, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield replacing("unary minus removed", node, operand)
        case ast.Slice():
            yield from _shift_slice(node)
        case ast.Call():
            yield from _change_call(node)
    match node:
        case (
            ast.Assign() | ast.AugAssign() | ast.Raise() | ast.Expr(value=ast.Call()) | ast.AnnAssign(value=ast.expr())
        ):
            yield replacing("statement left out", node, ast.Pass())


def _shift_slice(node: ast.Slice) -> Iterator[Change]:
    for name, bound, by in [("lower", node.lower, 1), ("upper", node.upper, -1)]:
        if bound is not None:
            yield setting("slice bound shifted", bound, name, shift(bound, by), *literals(bound))


def _change_call(node: ast.Call) -> Iterator[Change]:
    name = dotted_name(node.func).rpartition(".")[2]
    starred = any(isinstance(argument, ast.Starred) for argument in node.args[:2])
    if name == "range" and isinstance(node.func, ast.Name) and 1 <= len(node.args) <= 3 and not starred:
        yield from _shift_range(node)
    elif not starred and name not in _NOT_SWAPPED and len({_kind(argument) for argument in node.args[:2]}) == 1:
        yield setting("arguments swapped", node, "args", [*reversed(node.args[:2]), *node.args[2:]])
    for place, keyword in enumerate(node.keywords):
        if keyword.arg:
            kept = node.keywords[:place] + node.keywords[place + 1 :]
            yield setting("keyword argument dropped", keyword, "keywords", kept)


def _kind(argument: ast.expr) -> str:
    """A text in the place of a tensor breaks at the first call; two texts in each other's place may not."""
    match argument:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return "text"
        case ast.Constant(value=None | bool()):
            return "choice"
        case ast.Tuple() | ast.List() | ast.Dict() | ast.Set():
            return "collection"
    return "value"


def _shift_range(node: ast.Call) -> Iterator[Change]:
    stop = 0 if len(node.args) == 1 else 1
    for place, bound in enumerate(node.args[: stop + 1]):
        changed = [*node.args[:place], shift(bound, -1 if place == stop else 1), *node.args[place + 1 :]]
        yield setting("range bound off by one", bound, "args", changed, *literals(bound))


def setting(operator: str, at: ast.AST, field: str, value: object, *claims: ast.AST) -> Change:
    """The node with another value of one of its fields; `at` is what stands in the line to name."""
    return Change(operator, getattr(at, "lineno", 0), field, value, claims)


def replacing(operator: str, at: ast.AST, new: ast.AST) -> Change:
    """Another node instead of this."""
    return Change(operator, getattr(at, "lineno", 0), "", new)


def shift(bound: ast.expr, by: int) -> ast.expr:
    """A number, or what stands for one, greater by so much."""
    number = read_number(bound)
    if number is not None:
        return ast.Constant(number + by)
    return ast.BinOp(bound, ast.Add() if by > 0 else ast.Sub(), ast.Constant(abs(by)))


def read_number(node: ast.expr) -> int | None:
    """The whole number that is written here, with its sign."""
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))) if not isinstance(number, bool):
            return -number
    return None


def literals(node: ast.expr) -> list[ast.AST]:
    return list(ast.walk(node)) if read_number(node) is not None else []
