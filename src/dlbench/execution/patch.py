"""Plan how a candidate replaces the reference in a module that is already imported.

Only the body of a function can be replaced without importing its module again. Whatever a fresh import would evaluate
anew must equal the reference's, or evaluate to the same at any time. Every other candidate is imported.
"""

import ast
import builtins
from dataclasses import dataclass
from typing import Any

from dlbench.dataset.target import Function, Target, write_headers
from dlbench.execution.inside.live_patch import yields
from dlbench.execution.names import find_future, find_members, find_names
from dlbench.execution.splice import Spliced
from dlbench.parsing import dump, parse, unparse


@dataclass(frozen=True)
class Place:
    """What does not depend on the candidate: the target, and which names the module has above it."""

    target: Target
    package: str
    future: list[str]
    above: frozenset[str]
    members: frozenset[str]


def find_place(source: str, target: Target, module: str) -> Place:
    above = "\n".join(source.split("\n")[: target.outermost - 1])
    return Place(
        target,
        module.partition(".")[0],
        find_future(parse(source)),
        find_names(above).bound | frozenset(dir(builtins)),
        find_members(target),
    )


def plan_patch(place: Place, spliced: Spliced, filename: str) -> dict[str, Any] | None:
    """What the server needs to replace the function; None where the module must be imported anew."""
    headers = write_headers(place.target)
    if headers is None or spliced.others or not all(_is_inert(node, place) for node in parse(spliced.before).body):
        return None
    text = "\n".join([*headers, spliced.target])
    node: ast.AST = parse(text).body[0]
    while isinstance(node, ast.ClassDef):
        node = node.body[0]
    reference = place.target.node
    if not isinstance(node, Function) or type(node) is not type(reference):
        return None
    if _dump(node.decorator_list) != _dump(reference.decorator_list) or yields(node) != yields(reference):
        return None
    signature = None
    if _dump([node.args, node.returns]) != _dump([reference.args, reference.returns]):
        signature = _describe_signature(node, reference, place)
        if signature is None or _are_seen_by_decorators(reference):
            return None
    return {
        "filename": filename,
        "source": spliced.source,
        "helpers": spliced.before,
        "helpers_line": spliced.before_line,
        "target": text,
        "line": spliced.line,
        "classes": [cls.name for cls in place.target.classes],
        "future": place.future,
        "signature": signature,
    }


def _dump(nodes: list[Any]) -> list[str]:
    return [dump(node) if node is not None else "" for node in nodes]


def _is_inert(node: ast.stmt, place: Place) -> bool:
    """Whether a helper may be defined after the module instead of in the middle of it."""
    match node:
        case ast.Import(names=names):
            return all(alias.name.partition(".")[0] != place.package for alias in names)
        case ast.ImportFrom(module=str(module), level=0, names=names):
            return module.partition(".")[0] != place.package and all(alias.name != "*" for alias in names)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            defaults = [*node.args.defaults, *node.args.kw_defaults]
            literal = all(default is None or _is_literal(default) for default in defaults)
            return literal and not node.decorator_list and all(map(_is_literal, _annotations(node).values()))
        case ast.Assign(targets=[ast.Name()], value=value):
            return _is_literal(value)
        case ast.Expr(value=ast.Constant()):
            return True
    return False


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _are_seen_by_decorators(reference: Function) -> bool:
    """A decorator may have read the header; these five do not."""
    blind = {"staticmethod", "classmethod", "property", "abstractmethod", "abc.abstractmethod"}
    return any(unparse(decorator) not in blind for decorator in reference.decorator_list)


def _describe_signature(node: Function, reference: Function, place: Place) -> dict[str, Any] | None:
    """A header that differs from the reference's, if it evaluates to the same at any time; else None."""
    reference_defaults = _defaults(reference)
    defaults: dict[str, str | None] = {}
    for name, value in _defaults(node).items():
        if name in reference_defaults and dump(reference_defaults[name]) == dump(value):
            defaults[name] = None
        elif _is_literal(value):
            defaults[name] = unparse(value)
        else:
            return None
    lazy = "annotations" in place.future
    annotations = _annotations(node)
    if not lazy:
        for annotation in annotations.values():
            names = {inner.id for inner in ast.walk(annotation) if isinstance(inner, ast.Name)}
            if not names <= place.above or names & place.members or not _is_plain(annotation):
                return None
    return {
        "defaults": defaults,
        "annotations": {name: unparse(value) for name, value in annotations.items()},
        "lazy": lazy,
        "positional": [argument.arg for argument in (*reference.args.posonlyargs, *reference.args.args)],
    }


def _defaults(node: Function) -> dict[str, ast.expr]:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    found = dict(zip([one.arg for one in reversed(positional)], reversed(arguments.defaults), strict=False))
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return found | {one.arg: value for one, value in keywords if value is not None}


def _annotations(node: Function) -> dict[str, ast.expr]:
    arguments = node.args
    everything = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    everything += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    found = {one.arg: one.annotation for one in everything if one.annotation is not None}
    return found | ({"return": node.returns} if node.returns is not None else {})


def _is_plain(annotation: ast.expr) -> bool:
    """Names, attributes and subscripts: nothing that computes."""
    allowed = ast.Name | ast.Attribute | ast.Subscript | ast.Constant | ast.Tuple | ast.List | ast.BinOp | ast.BitOr
    return all(isinstance(inner, allowed | ast.Load) for inner in ast.walk(annotation))
