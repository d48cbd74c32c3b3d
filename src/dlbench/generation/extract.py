"""Which code did the model mean?

A raw answer holds reasoning, prose, fences, drafts and examples around the code. Taking too little makes a right answer
fail, and taking prose makes it a syntax error; both would be counted against the model. What the answer defines beside
the target comes along: the splicer takes by name what the target needs.
"""

import re
from dataclasses import dataclass

from dlbench.generation import syntax
from dlbench.generation.fences import Block, split
from dlbench.generation.reasoning import without_reasoning

_MOST_STARTS = 200

_START = re.compile(r"^[ \t]*(?:(?:async[ \t]+)?def|class|import|from|@)(?=[ \t\w])")


@dataclass(frozen=True)
class Extraction:
    """`reason` says where the code was, or why there is none; `truncated`: the answer stops in the middle."""

    code: str | None
    reason: str
    truncated: bool = False


@dataclass(frozen=True)
class _Piece:
    code: str
    parses: bool
    cut: bool


def extract(answer: str, qualname: str) -> Extraction:
    """The Python code in `answer` for the target `qualname` (`f`, `Class.method`); never raises."""
    text = answer.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    # Code that works on such tags is no markup: text that is Python as it stands is left alone.
    text, endless = (text, False) if _is_code(text) else without_reasoning(text)
    if not text.strip():
        return Extraction(None, "the reasoning never ends" if endless else "the answer is empty", endless)
    blocks, outside = split(text)
    found = _from_blocks(blocks, qualname) or _from_text(outside, qualname)
    if found is None:
        return Extraction(None, "the answer holds no Python code", endless)
    return Extraction(found.code, found.reason, found.truncated or endless)


def _from_blocks(blocks: list[Block], qualname: str) -> Extraction | None:
    pieces = [piece for block in blocks if (piece := _piece(block, qualname)) is not None]
    whole = [piece for piece in pieces if piece.parses]
    broken = [piece for piece in pieces if not piece.parses]
    target_whole = any(_defines(piece.code, qualname) for piece in whole)
    if broken and not target_whole:
        named = [piece for piece in broken if syntax.mentions(piece.code, qualname)]
        if named or not whole:
            piece = (named or broken)[-1]
            return Extraction(piece.code, "a fenced block that does not parse", piece.cut)
    if not whole:
        return None
    cut = any(piece.cut for piece in pieces)
    joined = "\n\n".join(piece.code for piece in whole)
    with_target = [piece.code for piece in whole if _defines(piece.code, qualname)]
    if syntax.parse(joined) is None and len(with_target) == 1:
        joined = with_target[0]
    return Extraction(joined, "a fenced block" if len(whole) == 1 else f"{len(whole)} fenced blocks", cut)


def _piece(block: Block, qualname: str) -> _Piece | None:
    """What a block gives: code that parses, code that does not but was meant as such, or nothing."""
    if block.foreign or not block.text.strip():
        return None
    text = block.text.strip("\n").rstrip()
    code = syntax.mended(text)
    if code is not None:
        return _Piece(code, True, not block.closed) if _is_code(code) else None
    if not block.closed:
        whole = syntax.prefix_with(text, qualname)
        if whole is None and not syntax.mentions(text, qualname):
            whole = syntax.whole_prefix(text)
        if whole and _is_code(whole):
            return _Piece(whole.rstrip(), True, True)
    if block.tagged or syntax.mentions(text, qualname):
        return _Piece(text, False, not block.closed)
    return None


def _from_text(text: str, qualname: str) -> Extraction | None:
    """Code without a fence: the whole text, else every run of lines in it that is Python."""
    whole = text.strip("\n").rstrip()
    code = syntax.mended(whole)
    if code is not None:
        one_word = code.strip().isidentifier()
        useful = _is_code(code) and not one_word
        return Extraction(code, "the whole text, which has no fence") if useful else None
    lines = whole.split("\n")
    runs = _runs(lines)
    joined = "\n\n".join(runs)
    if not _defines(joined, qualname):
        start = next((number for number, line in enumerate(lines) if syntax.mentions(line, qualname)), None)
        if start is not None:
            return Extraction("\n".join(lines[start:]), "text without a fence that does not parse")
    return Extraction(joined, "lines of the text, which has no fence") if runs else None


def _runs(lines: list[str]) -> list[str]:
    runs: list[str] = []
    after = 0
    starts = [number for number, line in enumerate(lines) if _START.match(line)]
    for start in starts[:_MOST_STARTS]:
        if start < after:
            continue
        found = _run(lines[start:])
        if found is not None:
            run, length = found
            runs.append(run)
            after = start + length
    return runs


def _run(lines: list[str]) -> tuple[str, int] | None:
    """The longest beginning of `lines` that parses; the parser's own error says where to look next."""
    indent = len(lines[0]) - len(lines[0].lstrip())
    flush = [line[min(indent, len(line) - len(line.lstrip())) :] for line in lines]
    end = len(flush)
    while end > 0:
        code = "\n".join(flush[:end])
        tree = syntax.attempt(code)
        if not isinstance(tree, Exception):
            return (code.rstrip(), end) if syntax.is_code(tree) else None
        line = tree.lineno if isinstance(tree, SyntaxError) else None
        end = min(end - 1, max(line - 1, 0) if line else end - 1)
    return None


def _is_code(text: str) -> bool:
    tree = syntax.parse(text)
    return tree is not None and syntax.is_code(tree)


def _defines(code: str, qualname: str) -> bool:
    tree = syntax.parse(code)
    return tree is not None and syntax.defines(tree, qualname)
