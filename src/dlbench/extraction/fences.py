"""Split an answer into fenced blocks, and choose the blocks that are the answer.

The rules are Markdown's, as models write it: fences in lists and docstrings, around the whole answer, stuck to code,
never closed. Blocks that are Python are joined, since the target may be in one and its helper in another; a block of
another language counts only where those do not have the target.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

from dlbench.extraction import syntax
from dlbench.extraction.syntax import Reading, repair, unindent
from dlbench.extraction.unfenced import LANGUAGES, is_edit, read_edits, without_prose

PYTHON = {"python", "py", "python3", "py3", "ipython", "ipython3"}
_WRAPPERS = {"markdown", "md", "mdx"}
_CODE_WORDS = {"def", "class", "import", "from", "async"}
_PYTHON_FILE = re.compile(r"\w\.py\b")
_MAX_CLOSINGS = 20
_MAX_BLOCKS = 200

_OPENING = re.compile(r"^(?P<indent>[ \t]*)(?P<mark>`{3,}|~{3,})(?P<info>.*)$")
_OPENING_AFTER_PROSE = re.compile(r"^[^`]*(?P<mark>`{3,})(?P<info>\w+)[ \t]*$")
_CODE_AFTER_INFO = re.compile(
    r"^[^`~]*(?:`{3,}|~{3,})[ \t]*(?:python3?|py)?[ \t]*"
    r"(?P<code>(?:(?:async[ \t]+)?def|class|import|from)[ \t]+\w.*|@\w.*)$"
)
_TAGS = "answer|solution|code|python|response|output|result|final_answer|implementation|function|completion"
_TAG_LINE = re.compile(rf"^[ \t]*(?:</?(?:{_TAGS})>|\[/?(?:PYTHON|CODE|ANSWER|SOLUTION)\])[ \t]*$", re.I | re.M)


@dataclass(frozen=True)
class Block:
    text: str
    language: str
    closed: bool
    info: str = ""
    """What stands behind the opening fence."""
    before: tuple[str, ...] = ()
    """The lines between the previous block and this one that are not blank."""

    @property
    def is_tagged(self) -> bool:
        """The fence says that the block is Python."""
        return self.language in PYTHON

    @property
    def is_foreign(self) -> bool:
        """The fence names another language, or an unknown one."""
        return bool(self.language) and not self.is_tagged


def tags_to_fences(text: str) -> str:
    """The text with lines like `<answer>` and `[/PYTHON]` as fences; a text that has fences stays as it is."""
    return text if "```" in text or "~~~" in text else _TAG_LINE.sub("```", text)


def split(text: str) -> tuple[list[Block], str]:
    """The fenced blocks in order, and the text without them."""
    lines = text.split("\n")
    blocks: list[Block] = []
    outside: list[str] = []
    here = since = 0
    # A model that repeats itself forever adds nothing new after this many blocks.
    while here < len(lines) and len(blocks) < _MAX_BLOCKS:
        opening = _opening(lines[here])
        if opening is None or opening[2] in _WRAPPERS:
            if opening is None:
                outside.append(lines[here])
            here += 1
            continue
        indent, mark, language = opening
        info = lines[here].partition(mark)[2].strip("`~ ")
        on_line = _CODE_AFTER_INFO.match(lines[here])
        lines[here + 1 : here + 1] = [on_line["code"]] if on_line else []
        content, here, closed = _content(lines, here + 1, mark, indent, language)
        blocks.append(Block(content, language, closed, info, tuple(filter(str.strip, outside[since:]))))
        since = len(outside)
    return blocks, "\n".join(outside)


def _opening(line: str) -> tuple[int, str, str] | None:
    if found := _OPENING.match(line):
        is_code_in_prose = found["mark"][0] == "`" and "`" in found["info"]
        return None if is_code_in_prose else (len(found["indent"]), found["mark"], _language(found["info"]))
    if (found := _OPENING_AFTER_PROSE.match(line)) and found["info"].lower() in PYTHON:
        return 0, found["mark"], _language(found["info"])
    return None


def _language(info: str) -> str:
    """The language of `python`, `{.python .numberLines}`, `Python3.11`, `py title="x"`, `src/model.py`."""
    if _PYTHON_FILE.search(info):
        return "python"
    word = info.strip().strip("{}").split(maxsplit=1)
    tag = word[0].lstrip(".").lower() if word else ""
    if tag in _CODE_WORDS or tag.startswith("@"):
        return ""
    return re.split(r"[.:,=;{]", tag, maxsplit=1)[0]


def _content(lines: list[str], start: int, mark: str, indent: int, language: str) -> tuple[str, int, bool]:
    """The block's text, the line after it, and whether a fence closes it.

    The first closing fence after which the text is Python is the right one: the others are inside a docstring. Where
    none is, a block that was left open ends where the next one opens.
    """
    closings = _closings(lines, start, mark)
    inside = [] if language in LANGUAGES else lines[start : closings[0][0] if closings else None]
    reopened = _find_reopening(inside, mark, indent)
    if not closings and reopened is None:
        return unindent(lines[start:], indent), len(lines), False
    if Block("", language, True).is_foreign:
        # A line of a diff that ends in a fence begins with a mark or a space.
        outer = [one for one in closings if not one[1] and syntax.indent_of(lines[one[0]]) <= indent]
        closings = (outer or closings)[:1]
    for end, rest in closings:
        text = unindent([*lines[start:end], *rest], indent)
        if repair(text) is not None:
            return text, end + 1, True
    if reopened is not None:
        return unindent(lines[start : start + reopened], indent), start + reopened, False
    end, rest = next(((end, rest) for end, rest in closings if not rest), closings[0])
    return unindent([*lines[start:end], *rest], indent), end + 1, True


def _closings(lines: list[str], start: int, mark: str) -> list[tuple[int, list[str]]]:
    """Line numbers of closing fences, each with what precedes the fence on its line."""
    found: list[tuple[int, list[str]]] = []
    own_line = re.compile(rf"^\s*{re.escape(mark[0])}{{{len(mark)},}}\s*(?:<[^<>`]+>\s*)*$")
    for number, line in enumerate(lines[start:], start):
        if own_line.match(line):
            found.append((number, []))
        elif mark[0] == "`" and line.rstrip().endswith(mark) and "`" not in (last := line.rstrip()[: -len(mark)]):
            found.append((number, [last]))
        if len(found) == _MAX_CLOSINGS:
            break
    return found


def _find_reopening(lines: list[str], mark: str, indent: int) -> int | None:
    """The first line that opens another block of Python with the same fence."""
    for number, line in enumerate(lines):
        match _opening(line):
            case int(depth), str(other), str(language) if other == mark and depth <= indent and language in PYTHON:
                return number
    return None


class _Piece(NamedTuple):
    code: str
    parses: bool
    cut: bool


def from_blocks(blocks: list[Block], qualname: str) -> Reading | None:
    """The blocks that are Python, joined; one that does not parse only where no other has the target."""
    pieces = [piece for block in blocks if (piece := _piece(block, block is blocks[-1], qualname)) is not None]
    cut = any(piece.cut for piece in pieces)
    headers = [piece for piece in pieces if _is_header(piece.code, qualname)]
    if any(piece.parses and syntax.is_body(piece.code) for piece in pieces) and all(
        piece in headers for piece in pieces if syntax.mentions(piece.code, qualname)
    ):
        # First the signature, then the body in a block of its own.
        pieces = [piece for piece in pieces if piece not in headers]
    whole = [piece for piece in pieces if piece.parses]
    broken = [piece for piece in pieces if not piece.parses]
    with_target = [piece for piece in whole if syntax.has_target(piece.code, qualname)]
    if broken and not with_target:
        named = [piece for piece in broken if syntax.mentions(piece.code, qualname)]
        if named or not whole:
            piece = (named or broken)[-1]
            return Reading(piece.code, "a fenced block that does not parse", piece.cut)
    if not whole:
        return None
    if not with_target:
        # In a bare body an example would call the function from inside itself.
        whole = [piece for piece in whole if not syntax.calls(piece.code, qualname)] or whole
    joined = "\n\n".join(piece.code for piece in whole)
    if syntax.parse(joined) is None and len(with_target) == 1:
        joined = with_target[0].code
    return Reading(joined, "a fenced block" if len(whole) == 1 else f"{len(whole)} fenced blocks", cut)


def from_foreign(blocks: list[Block], qualname: str) -> list[Reading]:
    """What diffs and blocks of other languages have of the target; the last block first."""
    edits = [block for block in blocks if block.language in LANGUAGES or is_edit(block.text)]
    found: list[Reading] = []
    if edits:
        # All of them are one edit: an import comes in a block of its own.
        found.append(read_edits([block.text for block in edits], qualname, cut=not edits[-1].closed))
    for block in reversed(blocks):
        code = repair(block.text.strip("\n").rstrip()) if block.is_foreign and block not in edits else None
        if code is not None and (syntax.has_target(code, qualname) or syntax.is_body(code)):
            found.append(Reading(code, f"a fenced block marked as {block.language}", not block.closed))
    return found


def _piece(block: Block, is_last: bool, qualname: str) -> _Piece | None:
    """Code that parses, code that was meant as Python but does not parse, or nothing."""
    cut = is_last and not block.closed
    if block.is_foreign or not block.text.strip():
        return None
    text = block.text.strip("\n").rstrip()
    code = repair(text)
    if code is not None:
        return _Piece(code, True, cut) if syntax.is_code(code) else None
    if is_edit(text):
        return None
    if not block.closed:
        whole = syntax.prefix_with(text, qualname)
        if whole is None and not syntax.mentions(text, qualname):
            whole = syntax.whole_prefix(text)
        if whole and syntax.is_code(whole):
            return _Piece(whole.rstrip(), True, cut)
    elif (code := without_prose(text, qualname)) is not None:
        return _Piece(code, True, False)
    return _Piece(text, False, cut) if block.is_tagged or syntax.mentions(text, qualname) else None


def _is_header(code: str, qualname: str) -> bool:
    """The target without a body."""
    return syntax.is_stub(code, qualname) or syntax.is_stub(f"{code.rstrip()} ...", qualname)
