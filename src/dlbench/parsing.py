"""Parse Python into a tree, and write trees, whatever other threads do and however long a number is.

Some CPython versions (3.11.7 is one) keep the depth of the tree being built in one place for the whole process: two
threads that parse at once may get `SystemError: AST constructor recursion depth mismatch` for good code, and a
candidate would get a verdict of the harness's making. So one thread parses at a time, and a parse that a library's own
thread disturbs is repeated. Modules that run inside the sandbox have no threads of ours and call `ast` directly.
"""

import ast
import copy
from collections.abc import Callable
from threading import Lock
from typing import Literal, overload

_lock = Lock()
_TRIES = 20
_LONG_BITS = 2000


@overload
def parse(source: str | bytes, *, feature_version: tuple[int, int] | None = None) -> ast.Module: ...
@overload
def parse(source: str | bytes, mode: Literal["eval"]) -> ast.Expression: ...
def parse(
    source: str | bytes, mode: Literal["exec", "eval"] = "exec", feature_version: tuple[int, int] | None = None
) -> ast.Module | ast.Expression:
    """Like `ast.parse`, with the same errors."""
    for left in reversed(range(_TRIES)):
        try:
            with _lock:
                if mode == "eval":
                    return ast.parse(source, mode="eval")
                return ast.parse(source, feature_version=feature_version)
        except SystemError as error:
            if not left or "recursion depth" not in str(error):
                raise
    raise AssertionError("unreachable")


def unparse(tree: ast.AST) -> str:
    """Like `ast.unparse`; an integer that is too long for decimal digits is written in hexadecimal."""
    return _write(tree, ast.unparse)


def dump(tree: ast.AST) -> str:
    """Like `ast.dump`; an integer that is too long for decimal digits is written in hexadecimal."""
    return _write(tree, ast.dump)


def _write(tree: ast.AST, write: Callable[[ast.AST], str]) -> str:
    try:
        return write(tree)
    except ValueError:  # Exceeds the limit (4300 digits) for integer string conversion
        return write(_Hexadecimal().visit(copy.deepcopy(tree)))


class _Hexadecimal(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, int) and node.value.bit_length() > _LONG_BITS:
            return ast.copy_location(ast.Name(hex(node.value), ast.Load()), node)
        return node
