"""What would a small mistake in the reference look like?

Copies of it with one thing changed: a comparison turned, an operator exchanged, a number off by one, a condition
negated, a statement left out. Tests that cannot tell them from the reference are weak; two ways of judging that differ
on one of them are not the same.
"""

import ast
import copy
import operator
import random
from collections.abc import Callable, Iterator

_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_COMPUTE: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Add,
}  # fmt: skip

Change = Callable[[ast.AST], None]


def write_mutants(function: ast.FunctionDef | ast.AsyncFunctionDef, most: int, seed: int = 0) -> list[tuple[str, str]]:
    """Up to so many, spread over the function: what was changed, and the code."""
    places = list(_find_changes(function))
    random.Random(seed).shuffle(places)
    found: dict[str, str] = {}
    original = _render(function)
    for index, name, change in places:
        twin = copy.deepcopy(function)
        change(list(ast.walk(twin))[index])
        code = _render(twin)
        if code != original and code not in found:
            found[code] = name
        if len(found) == most:
            break
    return [(name, code) for code, name in found.items()]


def _render(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    bare = copy.copy(function)
    bare.decorator_list = []
    return ast.unparse(ast.fix_missing_locations(bare)) + "\n"


def _find_changes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[int, str, Change]]:
    header = {id(node) for node in ast.walk(function.args)} | {id(node) for node in _decoration(function)}
    docstring = id(function.body[0].value) if isinstance(function.body[0], ast.Expr) else None
    for index, node in enumerate(ast.walk(function)):
        if id(node) in header or id(node) == docstring:
            continue
        line = getattr(node, "lineno", 0) - function.lineno + 1
        for name, change in _changes(node):
            yield index, f"{name} in line {line}", change


def _decoration(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    for decorator in [*function.decorator_list, *([function.returns] if function.returns else [])]:
        yield from ast.walk(decorator)


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    match node:
        case ast.Compare(ops=[comparing]) if type(comparing) in _COMPARE:
            yield "comparison turned", _setting("ops", [_COMPARE[type(comparing)]()])
        case ast.BinOp(op=computing) | ast.AugAssign(op=computing) if type(computing) in _COMPUTE:
            yield "operator exchanged", _setting("op", _COMPUTE[type(computing)]())
        case ast.Constant(value=bool(truth)):
            yield "truth negated", _setting("value", not truth)
        case ast.Constant(value=int(number) | float(number)):
            yield "number off by one", _setting("value", number + 1)
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield "condition negated", _setting("test", ast.UnaryOp(ast.Not(), test))
        case ast.Return(value=ast.expr()):
            yield "nothing returned", _setting("value", ast.Constant(None))
        case ast.BoolOp(op=joining):
            yield "and/or exchanged", _setting("op", ast.Or() if isinstance(joining, ast.And) else ast.And())
    body = getattr(node, "body", None)
    if isinstance(body, list):
        for place, statement in enumerate(body):
            if isinstance(statement, ast.Assign | ast.AugAssign | ast.Raise) or (
                isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
            ):
                yield "statement left out", _leaving_out(place)


def _setting(name: str, value: object) -> Change:
    return lambda twin: setattr(twin, name, copy.deepcopy(value))


def _leaving_out(place: int) -> Change:
    return lambda twin: operator.setitem(vars(twin)["body"], place, ast.Pass())
