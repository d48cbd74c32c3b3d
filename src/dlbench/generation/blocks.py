"""Which of the fenced blocks are the answer?

An answer has drafts, examples, shell commands and output in fences as well. Blocks that are Python are joined in their
order: the target may be in one and its helper in another. A block that should be Python and is not counts only where no
other block has the target whole. Blocks of another language are looked into last, since a model that writes ```text
around a right function has still answered.
"""

from dataclasses import dataclass

from dlbench.generation import syntax
from dlbench.generation.diffs import LANGUAGES, is_edit, new_code
from dlbench.generation.fences import Block
from dlbench.generation.lines import from_text, without_prose
from dlbench.generation.mends import mended, without_entities
from dlbench.generation.reading import Found


@dataclass(frozen=True)
class _Piece:
    code: str
    parses: bool
    cut: bool


def from_blocks(blocks: list[Block], qualname: str) -> Found | None:
    pieces = [piece for block in blocks if (piece := _piece(block, block is blocks[-1], qualname)) is not None]
    whole = [piece for piece in pieces if piece.parses]
    broken = [piece for piece in pieces if not piece.parses]
    if any(_is_body(piece.code) for piece in whole) and all(
        _is_header(piece.code, qualname) for piece in pieces if syntax.mentions(piece.code, qualname)
    ):
        # First the signature, then what stands under it.
        whole = [piece for piece in whole if not _is_header(piece.code, qualname)]
        broken = [piece for piece in broken if not _is_header(piece.code, qualname)]
    with_target = [piece for piece in whole if syntax.has_target(piece.code, qualname)]
    if broken and not with_target:
        named = [piece for piece in broken if syntax.mentions(piece.code, qualname)]
        if named or not whole:
            piece = (named or broken)[-1]
            return Found(piece.code, "a fenced block that does not parse", piece.cut)
    if not whole:
        return None
    if not with_target:
        # In a bare body an example would call the function from inside itself.
        whole = [piece for piece in whole if not _calls(piece.code, qualname)] or whole
    cut = any(piece.cut for piece in pieces)
    joined = "\n\n".join(piece.code for piece in whole)
    if syntax.parse(joined) is None and len(with_target) == 1:
        joined = with_target[0].code
    return Found(joined, "a fenced block" if len(whole) == 1 else f"{len(whole)} fenced blocks", cut)


def from_foreign(blocks: list[Block], qualname: str) -> list[Found]:
    """What diffs and blocks of other languages have of the target; the last block first."""
    edits = [block for block in blocks if block.language in LANGUAGES or is_edit(block.text)]
    found: list[Found] = []
    if edits:
        # All of them are one edit: an import comes in a block of its own.
        code = new_code([block.text for block in edits], qualname)
        why = "a diff" if code else "a diff that does not show the whole definition"
        found.append(Found(code, why, not edits[-1].closed))
    for block in reversed(blocks):
        if block.foreign and block not in edits:
            code = _foreign_code(block.text, qualname)
            if code is not None:
                found.append(Found(code, f"a fenced block marked as {block.language}", not block.closed))
    return found


def _foreign_code(text: str, qualname: str) -> str | None:
    """The whole block, or lines of it: a shell's here-document, a value in YAML."""
    code = mended(text.strip("\n").rstrip())
    if code is not None and (syntax.has_target(code, qualname) or _is_body(code)):
        return code
    inside = from_text(text, qualname)
    return inside.code if inside is not None and syntax.has_target(inside.code or "", qualname) else None


def _piece(block: Block, is_last: bool, qualname: str) -> _Piece | None:
    """What a block gives: code that parses, code that does not but was meant as such, or nothing."""
    cut = is_last and not block.closed
    if block.foreign or not block.text.strip():
        return None
    text = without_entities(block.text.strip("\n").rstrip())
    code = mended(text)
    if code is not None:
        return _Piece(code, True, cut) if _is_code(code) else None
    if is_edit(text):
        return None
    if not block.closed:
        whole = syntax.prefix_with(text, qualname)
        if whole is None and not syntax.mentions(text, qualname):
            whole = syntax.whole_prefix(text)
        if whole and _is_code(whole):
            return _Piece(whole.rstrip(), True, cut)
    elif (code := without_prose(text, qualname)) is not None:
        return _Piece(code, True, False)
    if block.tagged or syntax.mentions(text, qualname):
        return _Piece(text, False, cut)
    return None


def _is_code(text: str) -> bool:
    tree = syntax.parse(text)
    return tree is not None and syntax.is_code(tree)


def _is_body(code: str) -> bool:
    tree = syntax.parse(code)
    return tree is not None and syntax.returns(tree)


def _is_header(code: str, qualname: str) -> bool:
    """The target without a body."""
    return syntax.is_stub(code, qualname) or syntax.is_stub(f"{code.rstrip()} ...", qualname)


def _calls(code: str, qualname: str) -> bool:
    tree = syntax.parse(code)
    return tree is not None and syntax.calls(tree, qualname)
