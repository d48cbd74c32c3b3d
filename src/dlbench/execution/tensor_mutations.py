"""In which ways is code on arrays wrong by a little?

By the wrong axis, a dimension kept or lost, a neighbouring type, the wrong reduction: mistakes that run, and often give
an array of the right shape. Operators for any Python do not make them.
"""

import ast
import builtins
from collections.abc import Iterator

from dlbench.dataset.target import dotted_name
from dlbench.execution.mutation_operators import Change, literals, read_number, setting


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
                yield setting("axis changed", value, "value", changed, *_numbers(value))
        case ast.keyword(arg="keepdim" | "keepdims" | "keep_dims", value=ast.Constant(value=bool(kept)) as value):
            yield setting("keepdims negated", value, "value", ast.Constant(not kept), value)
        case ast.keyword(arg="dtype", value=ast.Constant(value=str(name)) as value) if name in _TYPES:
            yield setting("dtype changed", value, "value", ast.Constant(_TYPES[name]))
        case ast.keyword(arg="reduction", value=ast.Constant(value="mean" | "sum" as name) as value):
            yield setting("reduction exchanged", value, "value", ast.Constant(_REDUCTIONS[name]))
        case ast.Attribute(attr=name):
            root = dotted_name(node).partition(".")[0]
            if root == "torch" and name in _TORCH_TYPES:
                yield setting("dtype changed", node, "attr", _TORCH_TYPES[name])
            elif root in _ARRAYS and name in _TYPES:
                yield setting("dtype changed", node, "attr", _TYPES[name])
        case ast.Call(func=ast.Attribute(attr=name) as called):
            yield from _change_call(node, called, name)
        case ast.Call(func=ast.Name(id=name) as called):
            if name in {"max", "min", "any", "all"}:
                yield setting("reduction exchanged", called, "func", ast.Name(_REDUCTIONS[name], ast.Load()))
            elif not hasattr(builtins, name):
                yield from _change_arguments(node, name)


def _change_call(node: ast.Call, called: ast.Attribute, name: str) -> Iterator[Change]:
    yield from _change_arguments(node, name)
    own = isinstance(called.value, ast.Name) and called.value.id in {"self", "cls"}  # a method of the project's own
    exchanges = [("reduction exchanged", _REDUCTIONS), ("method exchanged", _METHODS)]
    if not node.args and not node.keywords:  # x.float()
        exchanges.append(("dtype changed", _TORCH_TYPES))
    for operator, table in exchanges:
        if name in table and not own:
            yield setting(operator, called, "func", ast.Attribute(called.value, table[name], ast.Load()))


def _change_arguments(node: ast.Call, name: str) -> Iterator[Change]:
    for place, argument in enumerate(node.args[:2]):
        operator, changed = "axis changed", _change_axis(argument) if name in _ALONG_AXIS else None
        if isinstance(argument, ast.Constant) and argument.value in _TYPES and name in _CASTING:
            operator, changed = "dtype changed", ast.Constant(_TYPES[argument.value])
        if changed is not None:
            arguments = [*node.args[:place], changed, *node.args[place + 1 :]]
            yield setting(operator, argument, "args", arguments, *_numbers(argument))
            return


def _change_axis(axis: ast.expr, permutes: bool = False) -> ast.expr | None:
    """0 becomes 1, -1 becomes 0, any other one nearer to them; of several, the last is left out or changes place."""
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
