"""Which statements does a model's answer hold, whole?

Tests come in fences with prose between, and the last one is often cut off. What is cut off or is no Python is dropped
alone, and by name where it was meant for a test; what stands before and after it is kept.
"""

import ast
import re
from typing import NamedTuple

from dlbench.extraction import syntax
from dlbench.extraction.fences import split
from dlbench.extraction.reasoning import without_reasoning

_LONGEST = 200_000
_MOST_PIECES = 60
_DEEPEST = 150
"""Nodes of a statement below each other; what goes through it needs a few of Python's thousand frames for each."""

_BEGINS = re.compile(r"[^\s#)\]}]")
_GOES_ON = re.compile(r"(?:else|elif|except|finally)\b")
_TEST = re.compile(r"^(?:(?:async[ \t]+)?def[ \t]+(test\w*)|class[ \t]+(Test\w*))", re.MULTILINE)


class Statements(NamedTuple):
    whole: list[ast.stmt]
    broken: list[str]
    """Names of the tests that are cut off or are no Python."""


def read_statements(answer: str) -> Statements:
    """Those at the margin of its code blocks, in order; of the whole text where there is no block."""
    said, _ = without_reasoning(answer[:_LONGEST].replace("\r\n", "\n"))
    blocks, outside = split(said)
    texts = [block.text for block in blocks if not block.foreign] or [outside]
    read = [_read(syntax.dedent(text)) for text in texts]
    found = keep_compiling([one for part in read for one in part.whole])
    return Statements(found.whole, [*(name for part in read for name in part.broken), *found.broken])


def keep_compiling(statements: list[ast.stmt]) -> Statements:
    """What parses may still be nothing that can be run or read: a `return` at the margin, hundreds of `elif`."""
    whole: list[ast.stmt] = []
    broken: list[str] = []
    for one in statements:
        if _compiles(one):
            whole.append(one)
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            broken += [one.name] if one.name.startswith(("test", "Test")) else []
    return Statements(whole, broken)


def _compiles(statement: ast.stmt) -> bool:
    if _is_too_deep(statement):
        return False
    try:
        compile(ast.unparse(statement), "<check>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _is_too_deep(statement: ast.stmt) -> bool:
    level: list[ast.AST] = [statement]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def _read(text: str) -> Statements:
    whole = syntax.parse(text)
    if whole is not None:
        return Statements(whole.body, [])
    pieces = _cut(text)
    found = Statements([], [])
    here = 0
    while here < len(pieces):
        for end in range(here + 1, min(len(pieces), here + _MOST_PIECES) + 1):
            tree = syntax.parse("\n".join(pieces[here:end]))
            if tree is not None:
                found.whole.extend(tree.body)
                here = end
                break
        else:
            meant = _TEST.search(pieces[here])
            found.broken.extend([meant[1] or meant[2]] if meant else [])
            here += 1
    return found


def _cut(text: str) -> list[str]:
    """At every line that begins at the margin, but for one that goes on with what is above it."""
    pieces: list[list[str]] = []
    for line in text.split("\n"):
        goes_on = _GOES_ON.match(line) or (pieces and pieces[-1][-1].startswith("@"))
        if not pieces or (_BEGINS.match(line) and not goes_on):
            pieces.append([])
        pieces[-1].append(line)
    return ["\n".join(piece) for piece in pieces]
