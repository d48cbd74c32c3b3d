"""Which parts of an answer are fenced, and as what?

The rules are Markdown's, read the way models write: fences inside list items and quotations, fences in docstrings
inside the code, a whole answer wrapped in a `markdown` fence, code on the opening fence's own line, closing fences that
stick to the last line or never come. A fence taken wrongly cuts a right answer in two.

Which of the fenced blocks are the answer?

An answer has drafts, examples, shell commands and output in fences as well. Blocks that are Python are joined in their
order: the target may be in one and its helper in another. A block that should be Python and is not counts only where no
other block has the target whole. Blocks of another language are looked into last, since a model that writes ```text
around a right function has still answered.
"""

import re
from dataclasses import dataclass

from dlbench.extraction import syntax
from dlbench.extraction.edits import LANGUAGES, is_edit, new_code
from dlbench.extraction.repairs import repair, without_entities
from dlbench.extraction.syntax import Reading
from dlbench.extraction.unfenced import from_text, without_prose

PYTHON = {"python", "py", "python3", "py3", "ipython", "ipython3", "pycon", "python-repl", "pyi", "cython", "sage"}
_WRAPPERS = {"markdown", "md", "mdx"}
_OTHER_NAMES = (
    "bash sh shell zsh fish console shell-session shellsession terminal powershell ps1 cmd bat json json5 jsonc jsonl "
    "yaml yml toml ini cfg conf env xml html css scss javascript js jsx typescript ts tsx java kotlin scala c h cpp "
    "c++ hpp cuda cu rust rs go golang ruby rb perl php swift r julia jl matlab lua sql graphql text txt plain "
    "plaintext output out log stdout stderr traceback diff patch csv tsv latex tex math mermaid dot graphviz makefile "
    "make cmake dockerfile docker haskell ocaml csharp cs c# rst asciidoc http regex ebnf bnf pseudocode"
)
_OTHERS = frozenset(_OTHER_NAMES.split())
_CODE_WORDS = {"def", "class", "import", "from", "async"}
_MOST_CLOSINGS = 20
_MOST_BLOCKS = 200

_OPENING = re.compile(r"^(?P<indent>[ \t]*)(?P<mark>`{3,}|~{3,})(?P<info>.*)$")
_OPENING_AFTER_PROSE = re.compile(r"^[^`]*(?P<mark>`{3,})(?P<info>\w+)[ \t]*$")
_CODE_AFTER_INFO = re.compile(
    r"^[^`~]*(?:`{3,}|~{3,})[ \t]*(?:python3?|py)?[ \t]*"
    r"(?P<code>(?:(?:async[ \t]+)?def|class|import|from)[ \t]+\w.*|@\w.*|>>> .*)$"
)
_QUOTED = re.compile(r"^[ \t]{0,3}>(?!>) ?")
_INLINE = re.compile(r"```(?:python3?|py)?[ \t]*([^`\n]+?)[ \t]*```")


@dataclass(frozen=True)
class Block:
    text: str
    language: str
    closed: bool

    @property
    def tagged(self) -> bool:
        """Says itself that it is Python."""
        return self.language in PYTHON or self.language.endswith(".py")

    @property
    def foreign(self) -> bool:
        return self.language in _OTHERS


def split(text: str) -> tuple[list[Block], str]:
    """The fenced blocks in order, and the text without them."""
    lines = _unquoted(text.split("\n"))
    blocks: list[Block] = []
    outside: list[str] = []
    here = 0
    # A model that repeats itself for ever says nothing new after so many blocks.
    while here < len(lines) and len(blocks) < _MOST_BLOCKS:
        opening = _opening(lines[here])
        if opening is None or opening[2] in _WRAPPERS or _is_around(lines, here, opening[1], opening[2]):
            if opening is None:
                outside.append(lines[here])
            here += 1
            continue
        indent, mark, language = opening
        lines[here + 1 : here + 1] = code = _code_on_line(lines[here])
        content, after, closed = _content(lines, here + 1, mark, indent, language)
        if not closed and after == len(lines) and _has_other_fence(lines[here + 1 :], mark):
            # A stray line of tildes in prose would otherwise swallow the real block.
            here += 1 + len(code)
            continue
        blocks.append(Block(content, language, closed))
        here = after
    if not blocks:
        blocks = [Block(found, "", True) for found in _INLINE.findall(text)]
    return blocks, "\n".join(outside)


def _unquoted(lines: list[str]) -> list[str]:
    """Lines of a quotation (`> ```python`) without their marks, where it holds a fence; prompts are no quotation."""
    plain = list(lines)
    here = 0
    while here < len(lines):
        end = here
        while end < len(lines) and _QUOTED.match(lines[end]):
            end += 1
        inner = [_QUOTED.sub("", line, count=1) for line in lines[here:end]]
        if any(_OPENING.match(line) for line in inner):
            plain[here:end] = inner
        here = max(end, here + 1)
    return plain


def _code_on_line(line: str) -> list[str]:
    """The code that stands on the opening fence's own line, as a list of one line or none."""
    found = _CODE_AFTER_INFO.match(line)
    return [found["code"]] if found else []


def _opening(line: str) -> tuple[int, str, str] | None:
    found = _OPENING.match(line)
    if found is not None:
        if found["mark"][0] == "`" and "`" in found["info"]:
            return None
        return len(found["indent"]), found["mark"], _language(found["info"])
    found = _OPENING_AFTER_PROSE.match(line)
    if found is not None and found["info"].lower() in PYTHON:
        return 0, found["mark"], _language(found["info"])
    return None


def _language(info: str) -> str:
    """The language of `python`, `{.python .numberLines}`, `Python3.11`, `py title="x"`, `src/model.py`."""
    word = info.strip().strip("{}").split(maxsplit=1)
    tag = word[0].lstrip(".").lower() if word else ""
    if tag in _CODE_WORDS or tag.startswith(("@", ">>>")):
        return ""
    if tag.endswith(".py"):
        return tag
    return re.split(r"[.:,=;{]", tag, maxsplit=1)[0]


def _content(lines: list[str], start: int, mark: str, indent: int, language: str) -> tuple[str, int, bool]:
    """The block's text, the line after it, and whether it ends in a fence.

    The first closing fence after which the text is Python is the right one: the others are inside a docstring. Where
    none is, a block that was left open ends where the next one opens.
    """
    closings = _closings(lines, start, mark)
    again = _opened_again(lines[start : closings[0][0] if closings else None], mark, indent)
    if not closings and again is None:
        return _flush(lines[start:], indent), len(lines), False
    if language in _OTHERS:
        closings = closings[:1]
    for end, rest in closings:
        text = _flush([*lines[start:end], *rest], indent)
        if repair(text) is not None:
            return text, end + 1, True
    if again is not None:
        return _flush(lines[start : start + again], indent), start + again, False
    end, rest = next(((end, rest) for end, rest in closings if not rest), closings[0])
    return _flush([*lines[start:end], *rest], indent), end + 1, True


def _closings(lines: list[str], start: int, mark: str) -> list[tuple[int, list[str]]]:
    """Line numbers of closing fences, each with what stands before the fence on its own line."""
    found: list[tuple[int, list[str]]] = []
    own = re.compile(rf"^\s*{re.escape(mark[0])}{{{len(mark)},}}\s*(?:<[^<>`]+>\s*)*$")
    for number in range(start, len(lines)):
        line = lines[number]
        if own.match(line):
            found.append((number, []))
        elif mark[0] == "`" and line.rstrip().endswith(mark) and "`" not in (last := line.rstrip()[: -len(mark)]):
            found.append((number, [last]))
        if len(found) == _MOST_CLOSINGS:
            break
    return found


def _opened_again(lines: list[str], mark: str, indent: int) -> int | None:
    """The first line that opens a block of Python just like the one it stands in."""
    for number, line in enumerate(lines):
        opening = _opening(line)
        if opening is not None and opening[1] == mark and opening[0] <= indent and opening[2] in PYTHON:
            return number
    return None


def _is_around(lines: list[str], here: int, mark: str, language: str) -> bool:
    """A fence without a language that has nothing but another kind of fence in it."""
    inner = next((line for line in lines[here + 1 :] if line.strip()), "")
    found = _OPENING.match(inner) if not language else None
    return found is not None and found["mark"][0] != mark[0]


def _has_other_fence(lines: list[str], mark: str) -> bool:
    return any((found := _opening(line)) is not None and found[1][0] != mark[0] for line in lines)


def _flush(lines: list[str], indent: int) -> str:
    """The lines without the indentation that their fence had in its list."""
    return "\n".join(line[min(indent, len(line) - len(line.lstrip(" \t"))) :] for line in lines)


@dataclass(frozen=True)
class _Piece:
    code: str
    parses: bool
    cut: bool


def from_blocks(blocks: list[Block], qualname: str) -> Reading | None:
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
            return Reading(piece.code, "a fenced block that does not parse", piece.cut)
    if not whole:
        return None
    if not with_target:
        # In a bare body an example would call the function from inside itself.
        whole = [piece for piece in whole if not _calls(piece.code, qualname)] or whole
    cut = any(piece.cut for piece in pieces)
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
        code = new_code([block.text for block in edits], qualname)
        why = "a diff" if code else "a diff that does not show the whole definition"
        found.append(Reading(code, why, not edits[-1].closed))
    for block in reversed(blocks):
        if block.foreign and block not in edits:
            code = _foreign_code(block.text, qualname)
            if code is not None:
                found.append(Reading(code, f"a fenced block marked as {block.language}", not block.closed))
    return found


def _foreign_code(text: str, qualname: str) -> str | None:
    """The whole block, or lines of it: a shell's here-document, a value in YAML."""
    code = repair(text.strip("\n").rstrip())
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
    code = repair(text)
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
