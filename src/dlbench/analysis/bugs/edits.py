"""What was changed from one statement to another?

A constant, an operator, an attribute, an argument, something put around a value: each with what stood there, what
stands there now, and where it is (an index, an axis, a condition). Two expressions that have nothing in common are
`replaced`.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dlbench.dataset.target import dotted_name

_LONGEST = 80
_AXES = {"axis", "dim", "axes", "dims", "keepdim", "keepdims", "dtype"}


@dataclass(frozen=True)
class Edit:
    kind: str
    """constant, operator, comparison, connective, sign, attribute, name, fixed (a name became a constant), swapped,
    keyword dropped, keyword added, arguments, wrapped, unwrapped, condition negated, nothing returned, unused, error
    (another one is raised), replaced."""
    old: str
    new: str
    where: str = ""
    """`index`, `condition`, `return`, or the keyword or called name it stands in."""


def compare_statements(old: ast.stmt, new: ast.stmt) -> list[Edit]:
    match old, new:
        case ast.Return(value=ast.expr() as value), ast.Return(value=None | ast.Constant(value=None)):
            return [Edit("nothing returned", _tell(value), "", "return")]
        case ast.Return(value=ast.expr() as before), ast.Return(value=ast.expr() as after):
            return list(_compare(before, after, "return"))
        case (ast.If(test=before), ast.If(test=after)) | (ast.While(test=before), ast.While(test=after)):
            return list(_compare(before, after, "condition"))
        case ast.Raise(), ast.Raise():
            # what an error says is for people, and everybody says it in other words
            kinds = [dotted_name(one.exc) if one.exc else "" for one in (old, new)]
            return [] if kinds[0] == kinds[1] else [Edit("error", *kinds)]
        case ast.Assign(value=before), ast.Expr(value=after) if ast.dump(before) == ast.dump(after):
            return [Edit("unused", _tell(old), _tell(new))]
    if type(old) is not type(new):
        return [Edit("replaced", _tell(old), _tell(new))]
    return list(_compare_fields(old, new, ""))


def _compare(old: ast.AST, new: ast.AST, where: str) -> Iterator[Edit]:
    if ast.dump(old) == ast.dump(new):
        return
    if isinstance(old, ast.expr) and isinstance(new, ast.expr):
        found = _compare_expressions(old, new, where)
        if found is not None:
            yield from found
            return
    if type(old) is not type(new):
        yield Edit("replaced", _tell(old), _tell(new), where)
        return
    yield from _compare_fields(old, new, where)


def _compare_expressions(old: ast.expr, new: ast.expr, where: str) -> list[Edit] | None:
    match old, new:
        case ast.Constant(), ast.Constant():
            return [Edit("constant", repr(old.value), repr(new.value), where)]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()), ast.Constant():
            return [Edit("constant" if where in _AXES else "sign", _tell(old), _tell(new), where)]
        case ast.Constant(), ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return [Edit("constant", _tell(old), _tell(new), where)]
        case ast.Name(), ast.Name():
            return [Edit("name", old.id, new.id, where)]
        case ast.Name(), ast.Constant():
            return [Edit("fixed", old.id, _tell(new), where)]
        case _, ast.UnaryOp(op=ast.Not(), operand=inner) if ast.dump(inner) == ast.dump(old):
            return [Edit("condition negated", _tell(old), _tell(new), where)]
        case ast.UnaryOp(op=ast.USub(), operand=inner), _ if ast.dump(inner) == ast.dump(new):
            return [Edit("sign", _tell(old), _tell(new), where)]
    if _holds(new, old):
        return [Edit("wrapped", _tell(old), _tell_around(new, old), where)]
    if _holds(old, new):
        return [Edit("unwrapped", _tell_around(old, new), _tell(new), where)]
    match old, new:
        case ast.Attribute(), ast.Attribute() if old.attr != new.attr and ast.dump(old.value) == ast.dump(new.value):
            return [Edit("attribute", _tell(old), _tell(new), where)]
        case ast.Call(), ast.Call():
            return list(_compare_calls(old, new, where))
        case ast.Subscript(), ast.Subscript():
            return [*_compare(old.value, new.value, where), *_compare(old.slice, new.slice, "index")]
        case (ast.BinOp(), ast.BinOp()) | (ast.BoolOp(), ast.BoolOp()) | (ast.Compare(), ast.Compare()):
            return list(_compare_operators(old, new, where))
    return None


def _compare_operators(old: ast.expr, new: ast.expr, where: str) -> Iterator[Edit]:
    kind = {ast.BinOp: "operator", ast.BoolOp: "connective", ast.Compare: "comparison"}[type(old)]
    signs = [[type(one).__name__ for one in _operators(each)] for each in (old, new)]
    if signs[0] != signs[1]:
        yield Edit(kind, " ".join(signs[0]), " ".join(signs[1]), where)
    yield from _compare_fields(old, new, where)


def _operators(node: ast.expr) -> list[ast.AST]:
    return list(node.ops) if isinstance(node, ast.Compare) else [node.op]  # type: ignore[attr-defined]


def _compare_calls(old: ast.Call, new: ast.Call, where: str) -> Iterator[Edit]:
    name = dotted_name(old.func).rpartition(".")[2]
    yield from _compare(old.func, new.func, where)
    before, after = [ast.dump(one) for one in old.args], [ast.dump(one) for one in new.args]
    if before != after and sorted(before) == sorted(after):
        yield Edit("swapped", _tell(old), _tell(new), name)
    elif len(before) == len(after):
        for a, b in zip(old.args, new.args, strict=True):
            yield from _compare(a, b, name)
    else:
        yield Edit("arguments", _tell(old), _tell(new), name)
    kept = {word.arg: word.value for word in new.keywords}
    for word in old.keywords:
        if word.arg not in kept:
            yield Edit("keyword dropped", f"{word.arg}={_tell(word.value)}", "", name)
        else:
            yield from _compare(word.value, kept[word.arg], word.arg or name)
    known = {word.arg for word in old.keywords}
    for word in new.keywords:
        if word.arg not in known:
            yield Edit("keyword added", "", f"{word.arg}={_tell(word.value)}", name)


def _compare_fields(old: ast.AST, new: ast.AST, where: str) -> Iterator[Edit]:
    for field in old._fields:
        before, after = getattr(old, field, None), getattr(new, field, None)
        if field in ("ctx", "op", "ops", "type_comment", "annotation", "returns", "decorator_list"):
            if field == "op" and isinstance(old, ast.AugAssign) and type(before) is not type(after):
                yield Edit("operator", type(before).__name__, type(after).__name__, where)
            if field == "op" and isinstance(old, ast.UnaryOp) and type(before) is not type(after):
                yield Edit("sign", type(before).__name__, type(after).__name__, where)
            continue
        place = "index" if isinstance(old, ast.Slice) else where
        if isinstance(before, list) and isinstance(after, list):
            if len(before) != len(after):
                yield Edit("replaced", _tell(old), _tell(new), place)
                return
            for a, b in zip(before, after, strict=True):
                if isinstance(a, ast.AST) and isinstance(b, ast.AST):
                    yield from _compare(a, b, place)
        elif isinstance(before, ast.AST) and isinstance(after, ast.AST):
            yield from _compare(before, after, place)
        elif before != after:
            yield Edit("replaced", _tell(old), _tell(new), place)
            return


def _holds(outer: ast.expr, inner: ast.expr) -> bool:
    if isinstance(inner, ast.Constant):  # numbers are everywhere
        return False
    wanted = ast.dump(inner)
    return any(
        node is not outer and isinstance(node, ast.expr) and ast.dump(node) == wanted for node in ast.walk(outer)
    )


def _is_or_holds(outer: ast.expr, inner: ast.expr) -> bool:
    return ast.dump(outer) == ast.dump(inner) or _holds(outer, inner)


def _tell_around(node: ast.expr, inner: ast.expr) -> str:
    """By what something is wrapped: a call's name, a method's, an index, an operator."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name, value=value)) if _is_or_holds(value, inner):
            return f".{name}()"
        case ast.Call():
            return f"{dotted_name(node.func)}()"
        case ast.Subscript():
            return f"[{_tell(node.slice)}]"
        case ast.Attribute(attr=name):
            return f".{name}"
    return type(node).__name__


def _tell(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
