"""Measure the size and complexity of a function.

Measures count code and not layout or prose: a docstring of fifty lines, or one parameter per line, must not make a
function of two statements look large.
"""

import ast
import io
import tokenize
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from dlbench.construction.screening.parsed_module import Binding, name_libraries
from dlbench.dataset.target import (
    Function,
    find_body,
    first_line,
    is_indented,
    is_prose,
    parse_function,
    parse_statements,
    walk_code,
    write_code,
)

_NOT_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip
_BLOCKS = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match,
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef,
)  # fmt: skip


@dataclass(frozen=True)
class FunctionMeasures:
    loc: int
    """One for the header, whatever its layout, and one for each line of the body with code: any part of a token that is
    not a comment. Decorators, comments, blank lines, docstrings and other string statements do not count; every line
    of a string that is used does."""
    statements: int
    """Statements of the body at any depth, without string statements."""
    cyclomatic: int
    """radon's figure plus the decisions of inner functions and classes, which radon counts separately or omits."""
    cognitive: int
    """complexipy's figure for the unparsed code: an `if` alone in an `else` is an `elif`."""
    nesting: int
    """Number of blocks (if, loop, with, try, match, inner function or class) around the deepest statement; an `elif` is
    no deeper than its `if`."""
    calls: int
    """Calls anywhere in the body."""
    parameters: int
    """Without a first parameter named self or cls."""
    has_docstring: bool
    libraries: tuple[str, ...]
    """Packages outside the standard library that it uses, by the module's imports and its own."""


def measure_function(source_segment: str, imports: Iterable[Binding] = ()) -> FunctionMeasures:
    """Measure the text of one function, indented or not. Raises DLBenchError if it is not one function."""
    function = parse_function(source_segment)
    body = find_body(function)
    inner = [node for statement in body for node in walk_code(statement)]
    prose = [node for node in inner if is_prose(node)]
    return FunctionMeasures(
        loc=1 + (_count_lines(source_segment, prose, first_line(body[0])) if body else 0),
        statements=sum(isinstance(node, ast.stmt) for node in inner) - len(prose),
        cyclomatic=_cyclomatic(function),
        cognitive=_cognitive(function),
        nesting=_find_nesting(body),
        calls=sum(isinstance(node, ast.Call) for node in inner),
        parameters=_count_parameters(function.args),
        has_docstring=len(body) < len(function.body),
        libraries=name_libraries(function, imports),
    )


def measure_snippet(source: str) -> FunctionMeasures:
    """Measure statements that are not one function. There is no header to count, and top-level functions add no
    nesting. Raises DLBenchError if the text does not parse."""
    tree = ast.Module(parse_statements(source), [])
    nodes = walk_code(tree)[1:]
    prose = [node for node in nodes if is_prose(node)]
    shell = parse_function("def snippet(): pass")
    shell.body = tree.body or shell.body
    blocks = [node.body if isinstance(node, Function) else [node] for node in tree.body]
    return FunctionMeasures(
        loc=_count_lines(source, prose),
        statements=sum(isinstance(node, ast.stmt) for node in nodes) - len(prose),
        cyclomatic=_cyclomatic(shell),
        cognitive=_cognitive(tree),
        nesting=max(map(_find_nesting, blocks), default=0),
        calls=sum(isinstance(node, ast.Call) for node in nodes),
        parameters=0,
        has_docstring=False,
        libraries=name_libraries(tree, ()),
    )


def _count_lines(segment: str, prose: list[ast.Expr], begin: int = 1) -> int:
    """Lines of the text with code, from line `begin` of the tree on."""
    offset = is_indented(segment)  # line numbers of the tree are then one higher than those of the text
    skipped = {node.lineno for node in prose}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(segment).readline):
        first = token.start[0] + offset
        is_text = token.type == tokenize.STRING and first in skipped
        if token.type not in _NOT_CODE and not is_text and first >= begin:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines)


def _cyclomatic(function: Function) -> int:
    from radon.complexity import cc_visit_ast

    def total(block: Any) -> int:  # noqa: ANN401 - radon has no types
        return int(block.complexity) + sum(total(closure) - 1 for closure in block.closures)

    if any(isinstance(node, ast.ClassDef) for node in ast.walk(function)):
        function = _InlineClasses().visit(deepcopy(function))
    return total(cc_visit_ast(ast.Module([function], []))[0])


class _InlineClasses(ast.NodeTransformer):
    """Replace a class by its body: radon ignores classes inside functions."""

    def visit_ClassDef(self, node: ast.ClassDef) -> list[ast.stmt]:
        self.generic_visit(node)
        return node.body


def _cognitive(tree: ast.AST) -> int:
    from complexipy import code_complexity

    # Unparsed code, so that a complexipy comment in the source cannot switch it off.
    return int(code_complexity(write_code(tree)).complexity)


def _find_nesting(nodes: Iterable[ast.AST], depth: int = 0) -> int:
    deepest = depth
    for node in nodes:
        below = depth + isinstance(node, _BLOCKS)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                chained = isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]
                deepest = max(deepest, _find_nesting([child], depth if chained else below))
    return deepest


def _count_parameters(arguments: ast.arguments) -> int:
    named = [*arguments.posonlyargs, *arguments.args]
    bound = bool(named) and named[0].arg in {"self", "cls"}
    return len(named) - bound + len(arguments.kwonlyargs) + bool(arguments.vararg) + bool(arguments.kwarg)
