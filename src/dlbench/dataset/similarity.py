"""Measure how similar two functions are.

Shingles (runs of five tokens) measure how much of one text another holds. Normal forms are equal for functions that
differ only in the names of arguments and variables, their own name, docstring, annotations and decorators.
"""

import ast
import re

from dlbench.dataset.target import Function, find_body, parse_function, walk_code, write_code

SHINGLE = 5
_TOKEN = re.compile(r"\w+|[^\w\s]")

Shingles = set[tuple[str, ...]]


def shingle(text: str) -> Shingles:
    tokens = _TOKEN.findall(text)
    return {tuple(tokens[start : start + SHINGLE]) for start in range(max(1, len(tokens) - SHINGLE + 1))}


def share_shown(target: Shingles, shown: Shingles) -> float:
    """The share of `target` that `shown` holds: high for near copies, and for a longer text around a copy."""
    return len(target & shown) / len(target)


def normal_form(segment: str) -> str:
    """The code with locals and arguments renamed in order of appearance; raises DLBenchError as `parse_function`."""
    function = parse_function(segment)
    for node in walk_code(function):
        _strip(node)
    nodes = walk_code(function)
    names = _choose_names(nodes)
    for node in nodes:
        _rename(node, names)
    return write_code(function)


def _strip(node: ast.AST) -> None:
    """Remove docstrings, annotations and decorators."""
    if isinstance(node, ast.expr):
        return
    if isinstance(node, Function):
        node.decorator_list = []
        node.returns = None
        node.body = find_body(node) or [ast.Pass()]
        if hasattr(node, "type_params"):
            node.type_params = []
    elif isinstance(node, ast.arg):
        node.annotation = None
    for block in ("body", "orelse", "finalbody"):
        statements = getattr(node, block, None)
        if isinstance(statements, list) and any(isinstance(statement, ast.AnnAssign) for statement in statements):
            setattr(node, block, [_without_annotation(statement) for statement in statements])


def _without_annotation(statement: ast.stmt) -> ast.stmt:
    if not isinstance(statement, ast.AnnAssign):
        return statement
    # `x: int` alone does nothing.
    bare = ast.Pass() if statement.value is None else ast.Assign([statement.target], statement.value)
    return ast.copy_location(bare, statement)


def _choose_names(nodes: list[ast.AST]) -> dict[str, str]:
    outside = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    bound = sorted(
        (node.lineno, node.col_offset, getattr(node, _NAMING[type(node)]))  # type: ignore[attr-defined]
        for node in nodes
        if type(node) in _NAMING and getattr(node, _NAMING[type(node)]) and not _is_use(node)
    )
    order = dict.fromkeys(name for _, _, name in bound if name not in outside)
    return {name: f"v{place}" for place, name in enumerate(order)}


def _is_use(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


def _rename(node: ast.AST, names: dict[str, str]) -> None:
    field = _NAMING.get(type(node))
    if field:
        old = getattr(node, field)
        setattr(node, field, names.get(old, old))
    elif isinstance(node, ast.Nonlocal):
        node.names = [names.get(name, name) for name in node.names]


_NAMING: dict[type[ast.AST], str] = {
    ast.Name: "id", ast.arg: "arg", ast.FunctionDef: "name", ast.AsyncFunctionDef: "name", ast.ClassDef: "name",
    ast.ExceptHandler: "name", ast.MatchAs: "name", ast.MatchStar: "name", ast.MatchMapping: "rest",
}  # fmt: skip
"""The field in which each kind of node that can bind a name holds it."""
