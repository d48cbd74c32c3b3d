"""Explain a solution in words: the reasoning of the examples of `few-shot-cot`, since nobody has written any."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from dlbench.dataset.target import find_body, is_prose, parse_function

_MAX_QUOTE = 60
_MAX_NAMES = 4
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign)


def explain(solution: str) -> str:
    """Numbered sentences that state what a function does, not why, and quote only names and short conditions."""
    function = parse_function(solution)
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    names = [f"`{argument.arg}`" for argument in every if argument.arg not in ("self", "cls")]
    steps = [
        f"I am given {_join(names)}." if names else "I am given no arguments.",
        *_describe_all(find_body(function)),
    ]
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))


def _describe_all(statements: Iterable[ast.stmt]) -> Iterator[str]:
    for is_assignment, run in groupby(statements, lambda one: isinstance(one, _ASSIGNMENTS)):
        if is_assignment:
            yield f"I {_actions(list(run))}."
        else:
            for statement in run:
                yield from _describe(statement)


def _describe(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.If(test=test, body=body, orelse=orelse):
            yield f"Where {_quote(test)}, I {_actions(body)}."
            if orelse:
                first, *rest = _describe_all(orelse)
                yield f"Otherwise: {first}"
                yield from rest
        case ast.For(target=target, iter=over) | ast.AsyncFor(target=target, iter=over):
            yield f"For each {_quote(target)} of {_quote(over)}, I {_actions(statement.body)}."
        case ast.While(test=test, body=body):
            yield f"As long as {_quote(test)}, I {_actions(body)}."
        case ast.With() | ast.AsyncWith():
            yield f"Inside {_join([_quote(item.context_expr) for item in statement.items])}, I go on as follows."
            yield from _describe_all(statement.body)
        case ast.Try():
            yield from _describe_all(statement.body)
            yield "I deal with the errors that this can raise."
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield f"I need a helper `{name}`."
        case ast.Return() | ast.Raise() | ast.Expr() if not is_prose(statement):
            yield f"I {_actions([statement])}."


def _actions(statements: Sequence[ast.stmt]) -> str:
    """What statements do at any depth: the names they set, what they call for its effect, how they end."""
    actions: dict[str, list[str]] = {"work out": [], "call": [], "raise": [], "give back": []}
    for node in (node for statement in statements for node in ast.walk(statement)):
        match node:
            case ast.Assign(targets=targets):
                actions["work out"] += [_quote(target) for target in targets]
            case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
                actions["work out"].append(_quote(target))
            case ast.Expr(value=ast.Call(func=called)):
                actions["call"].append(_quote(called))
            case ast.Raise(exc=error):
                actions["raise"].append(_quote(error.func if isinstance(error, ast.Call) else error))
            case ast.Return(value=value):
                actions["give back"].append(_quote(value) if value else "nothing")
    parts = [f"{verb} {_join(list(dict.fromkeys(names))[:_MAX_NAMES])}" for verb, names in actions.items() if names]
    return ", ".join(parts) or "do nothing more"


def _quote(node: ast.expr | None) -> str:
    if isinstance(node, ast.Tuple):
        return ", ".join(_quote(item) for item in node.elts) or "`()`"
    text = "" if node is None else _unparse(node)
    return f"`{text}`" if 0 < len(text) <= _MAX_QUOTE and "\n" not in text and "`" not in text else _name(node)


def _name(node: ast.expr | None) -> str:
    called = _unparse(node.func) if isinstance(node, ast.Call) else ""
    return f"the result of `{called}`" if 0 < len(called) <= _MAX_QUOTE and "`" not in called else "the expression"


def _unparse(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except ValueError:  # before Python 3.12 a backslash cannot be written inside the braces of an f-string
        return ""


def _join(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
