"""Which statements does a model's answer hold, whole?

Tests come in fences with prose between, and the last one is often cut off. What is cut off or is no Python is dropped
alone; what stands before and after it is kept.
"""

import ast
import re

from dlbench.generation import syntax
from dlbench.generation.fences import split
from dlbench.generation.reasoning import without_reasoning

_LONGEST = 200_000
_MOST_PIECES = 60

_BEGINS = re.compile(r"[^\s#)\]}]")
_GOES_ON = re.compile(r"(?:else|elif|except|finally)\b")


def read_statements(answer: str) -> list[ast.stmt]:
    """Those at the margin of its code blocks, in order; of the whole text where there is no block."""
    said, _ = without_reasoning(answer[:_LONGEST].replace("\r\n", "\n"))
    blocks, outside = split(said)
    texts = [block.text for block in blocks if not block.foreign] or [outside]
    return [one for text in texts for one in _read(syntax.dedent(text)) if _compiles(one)]


def _compiles(statement: ast.stmt) -> bool:
    """What parses may still be nothing that can be run: a `return` at the margin, an expression too deep to write."""
    try:
        compile(ast.unparse(statement), "<check>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _read(text: str) -> list[ast.stmt]:
    whole = syntax.parse(text)
    if whole is not None:
        return whole.body
    pieces = _cut(text)
    found: list[ast.stmt] = []
    here = 0
    while here < len(pieces):
        for end in range(here + 1, min(len(pieces), here + _MOST_PIECES) + 1):
            tree = syntax.parse("\n".join(pieces[here:end]))
            if tree is not None:
                found += tree.body
                here = end
                break
        else:
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
