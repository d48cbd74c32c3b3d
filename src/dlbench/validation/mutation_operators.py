"""Mutation operators: small mistakes of any Python code, and of code on arrays.

Mistakes on arrays (a wrong axis, a dimension kept or lost, a neighbouring type, a wrong reduction) run, and often give
an array of the right shape; general operators do not make them.
"""

import ast
import builtins
from collections.abc import Iterator, Sequence
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
_COMPUTE: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Add,
}  # fmt: skip
# swapping their arguments changes nothing, or breaks the first call whatever is tested
_NOT_SWAPPED = {
    "isinstance", "issubclass", "hasattr", "getattr", "setattr", "delattr", "cast", "max", "min", "maximum", "minimum",
    "add", "multiply", "mul", "equal", "not_equal", "logical_and", "logical_or", "logical_xor", "allclose", "isclose",
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    operator: str
    at: ast.AST
    """The node whose line is reported."""
    field: str
    """The field of the node to set; empty to replace the node itself."""
    value: object
    claims: Sequence[ast.AST] = ()
    """Nodes that no other operator may change, because this one does."""


def find_changes(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Compare(ops=[comparing]) if type(comparing) in _COMPARE:
            yield Change("comparison turned", node, "ops", [_COMPARE[type(comparing)]()])
        case ast.BinOp(op=computing) | ast.AugAssign(op=computing) if type(computing) in _COMPUTE:
            yield Change("operator exchanged", node, "op", _COMPUTE[type(computing)]())
        case ast.Constant(value=bool(truth)):
            yield Change("truth negated", node, "value", not truth)
        case ast.Constant(value=int(number) | float(number)):
            yield Change("number off by one", node, "value", number + 1)
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield Change("condition negated", test, "test", ast.UnaryOp(ast.Not(), test))
        case ast.Return(value=ast.expr()):
            yield Change("nothing returned", node, "value", ast.Constant(None))
        case ast.BoolOp(op=joining):
            yield Change("and/or exchanged", node, "op", ast.Or() if isinstance(joining, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield Change("unary minus removed", node, "", operand)
        case ast.Slice():
            yield from _shift_slice(node)
        case ast.Call():
            yield from _change_call(node)
    match node:
        case (
            ast.Assign() | ast.AugAssign() | ast.Raise() | ast.Expr(value=ast.Call()) | ast.AnnAssign(value=ast.expr())
        ):
            yield Change("statement left out", node, "", ast.Pass())


def _shift_slice(node: ast.Slice) -> Iterator[Change]:
    for name, bound, by in [("lower", node.lower, 1), ("upper", node.upper, -1)]:
        if bound is not None:
            yield Change("slice bound shifted", bound, name, shift(bound, by), literals(bound))


def _change_call(node: ast.Call) -> Iterator[Change]:
    name = dotted_name(node.func).rpartition(".")[2]
    starred = any(isinstance(argument, ast.Starred) for argument in node.args[:2])
    if name == "range" and isinstance(node.func, ast.Name) and 1 <= len(node.args) <= 3 and not starred:
        yield from _shift_range(node)
    elif not starred and name not in _NOT_SWAPPED and len({_kind(argument) for argument in node.args[:2]}) == 1:
        yield Change("arguments swapped", node, "args", [*reversed(node.args[:2]), *node.args[2:]])
    for place, keyword in enumerate(node.keywords):
        if keyword.arg:
            kept = node.keywords[:place] + node.keywords[place + 1 :]
            yield Change("keyword argument dropped", keyword, "keywords", kept)


def _kind(argument: ast.expr) -> str:
    """Swapping a text and a tensor breaks the first call; swapping two texts may not."""
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
        yield Change("range bound off by one", bound, "args", changed, literals(bound))


def shift(bound: ast.expr, by: int) -> ast.expr:
    """The expression increased by a number."""
    number = read_number(bound)
    if number is not None:
        return ast.Constant(number + by)
    return ast.BinOp(bound, ast.Add() if by > 0 else ast.Sub(), ast.Constant(abs(by)))


def read_number(node: ast.expr) -> int | None:
    """The integer literal, with its sign."""
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))) if not isinstance(number, bool):
            return -number
    return None


def literals(node: ast.expr) -> list[ast.AST]:
    return list(ast.walk(node)) if read_number(node) is not None else []


def _both_ways(*pairs: tuple[str, str]) -> dict[str, str]:
    return dict(pairs) | {second: first for first, second in pairs}


_REDUCTIONS = _both_ways(
    ("mean", "sum"), ("max", "min"), ("argmax", "argmin"), ("any", "all"), ("amax", "amin"), ("nanmean", "nansum"),
    ("nanmax", "nanmin"), ("reduce_mean", "reduce_sum"), ("reduce_max", "reduce_min"), ("reduce_any", "reduce_all"),
)  # fmt: skip
_METHODS = _both_ways(
    ("floor", "ceil"), ("log", "exp"), ("log1p", "expm1"), ("zeros", "ones"), ("zeros_like", "ones_like"),
    ("new_zeros", "new_ones"), ("sin", "cos"), ("tril", "triu"), ("maximum", "minimum"), ("startswith", "endswith"),
)  # fmt: skip
_TYPES = _both_ways(("float32", "float64"), ("int32", "int64"), ("complex64", "complex128")) | {
    "float16": "float32", "bfloat16": "float32", "int8": "int16", "int16": "int32", "uint8": "int16",
}  # fmt: skip
_TORCH_TYPES = _both_ways(("float", "double"), ("int", "long")) | {"half": "float", "bfloat16": "float"}
_ARRAYS = {"torch", "np", "numpy", "onp", "jnp", "jax", "tf", "tensorflow"}
_CASTING = {"cast", "astype", "asarray", "array", "convert_to_tensor"}
_ALONG_AXIS = {
    *_REDUCTIONS, "prod", "std", "var", "median", "logsumexp", "softmax", "log_softmax", "cumsum", "cumprod", "squeeze",
    "unsqueeze", "expand_dims", "size", "cat", "concat", "concatenate", "stack", "flip", "sort", "argsort", "unbind",
    "gather", "index_select", "select", "narrow",
}  # fmt: skip


def find_tensor_changes(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.keyword(arg="axis" | "dim" | "axes" | "dims", value=value):
            changed = _change_axis(value, permutes=node.arg in {"axes", "dims"})
            if changed is not None:
                yield Change("axis changed", value, "value", changed, _numbers(value))
        case ast.keyword(arg="keepdim" | "keepdims" | "keep_dims", value=ast.Constant(value=bool(kept)) as value):
            yield Change("keepdims negated", value, "value", ast.Constant(not kept), [value])
        case ast.keyword(arg="dtype", value=ast.Constant(value=str(name)) as value) if name in _TYPES:
            yield Change("dtype changed", value, "value", ast.Constant(_TYPES[name]))
        case ast.keyword(arg="reduction", value=ast.Constant(value="mean" | "sum" as name) as value):
            yield Change("reduction exchanged", value, "value", ast.Constant(_REDUCTIONS[name]))
        case ast.Attribute(attr=name):
            root = dotted_name(node).partition(".")[0]
            if root == "torch" and name in _TORCH_TYPES:
                yield Change("dtype changed", node, "attr", _TORCH_TYPES[name])
            elif root in _ARRAYS and name in _TYPES:
                yield Change("dtype changed", node, "attr", _TYPES[name])
        case ast.Call(func=ast.Attribute(attr=name) as called):
            yield from _change_tensor_call(node, called, name)
        case ast.Call(func=ast.Name(id=name) as called):
            if name in {"max", "min", "any", "all"}:
                yield Change("reduction exchanged", called, "func", ast.Name(_REDUCTIONS[name], ast.Load()))
            elif not hasattr(builtins, name):
                yield from _change_arguments(node, name)


def _change_tensor_call(node: ast.Call, called: ast.Attribute, name: str) -> Iterator[Change]:
    yield from _change_arguments(node, name)
    own = isinstance(called.value, ast.Name) and called.value.id in {"self", "cls"}  # a method of the project itself
    exchanges = [("reduction exchanged", _REDUCTIONS), ("method exchanged", _METHODS)]
    if not node.args and not node.keywords:  # x.float()
        exchanges.append(("dtype changed", _TORCH_TYPES))
    for operator, table in exchanges:
        if name in table and not own:
            yield Change(operator, called, "func", ast.Attribute(called.value, table[name], ast.Load()))


def _change_arguments(node: ast.Call, name: str) -> Iterator[Change]:
    for place, argument in enumerate(node.args[:2]):
        operator, changed = "axis changed", _change_axis(argument) if name in _ALONG_AXIS else None
        if isinstance(argument, ast.Constant) and argument.value in _TYPES and name in _CASTING:
            operator, changed = "dtype changed", ast.Constant(_TYPES[argument.value])
        if changed is not None:
            arguments = [*node.args[:place], changed, *node.args[place + 1 :]]
            yield Change(operator, argument, "args", arguments, _numbers(argument))
            return


def _change_axis(axis: ast.expr, permutes: bool = False) -> ast.expr | None:
    """0 becomes 1, -1 becomes 0, others move one towards them; of several axes, the last is dropped or swapped."""
    number = read_number(axis)
    if number is not None:
        return ast.Constant({0: 1, -1: 0}.get(number, number - 1 if number > 0 else number + 1))
    match axis:
        case ast.Tuple(elts=[*kept, before, last]) | ast.List(elts=[*kept, before, last]):
            if read_number(before) is None or read_number(last) is None:
                return None
            return type(axis)([*kept, last, before] if permutes else [*kept, before], ast.Load())
    return None


def _numbers(axis: ast.expr) -> list[ast.AST]:
    parts = axis.elts if isinstance(axis, ast.Tuple | ast.List) else [axis]
    return [node for part in parts for node in literals(part)]
