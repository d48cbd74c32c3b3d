"""How is text turned into a tree, whatever the other threads do?

Some CPython (3.11.7 is one) counts the depth of the tree it builds in one place for the whole process: two threads that
parse at once may get `SystemError: AST constructor recursion depth mismatch` for good code, and a candidate would
get a verdict of the harness's making. So one thread parses at a time, and what a library's own thread disturbs is
parsed again. Modules that run inside the sandbox have no threads of ours and parse for themselves.
"""

import ast
from threading import Lock
from typing import Literal, overload

_lock = Lock()
_TRIES = 20


@overload
def parse(source: str | bytes, *, feature_version: tuple[int, int] | None = None) -> ast.Module: ...
@overload
def parse(source: str | bytes, mode: Literal["eval"]) -> ast.Expression: ...
def parse(
    source: str | bytes, mode: Literal["exec", "eval"] = "exec", feature_version: tuple[int, int] | None = None
) -> ast.Module | ast.Expression:
    """`ast.parse`, and what it raises."""
    for left in reversed(range(_TRIES)):
        try:
            with _lock:
                return _build(source, mode, feature_version)
        except SystemError as error:
            if not left or "recursion depth" not in str(error):
                raise
    raise AssertionError("unreachable")


def _build(
    source: str | bytes, mode: Literal["exec", "eval"], feature_version: tuple[int, int] | None
) -> ast.Module | ast.Expression:
    if mode == "eval":
        return ast.parse(source, mode="eval")
    return ast.parse(source, feature_version=feature_version)
