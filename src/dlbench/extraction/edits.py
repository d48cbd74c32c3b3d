"""Read the code after an edit: a unified diff, a patch, or search-and-replace blocks.

A hunk that begins or stops inside the target leaves lines of it unseen, and a function assembled from such pieces is
nobody's answer. So the target is taken from one hunk that has its `def` line and its end, or not at all.
"""

import re
from itertools import pairwise

from dlbench.extraction import syntax
from dlbench.extraction.syntax import repair

LANGUAGES = {"diff", "patch", "udiff"}

_HUNK = re.compile(r"^@@.*$")
_FILE = re.compile(r"^(?:diff --git |index [0-9a-f]+\.\.|--- |\+\+\+ |new file mode |\\ No newline|\*\*\* )")
_SEARCH, _MIDDLE, _REPLACE = (re.compile(mark) for mark in (r"^<{5,9} ?SEARCH", r"^={5,9}$", r"^>{5,9} ?REPLACE"))


def is_edit(text: str) -> bool:
    """By marks that nothing else has: a hunk's or file's header, a search-and-replace block, pluses on every line.

    Lists in prose have pluses and minuses too, so those alone are no mark.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    has_header = any(one.startswith("--- ") and two.startswith("+++ ") for one, two in pairwise(lines))
    has_hunk = any(_HUNK.match(line) or line == "*** Begin Patch" for line in lines)
    return has_header or has_hunk or bool(_replacements(text)) or {line[0] for line in lines} == {"+"}


def read_edits(texts: list[str], qualname: str, *, cut: bool = False) -> syntax.Reading:
    """The new side of all hunks that parse, provided that one of them has the whole target."""
    joined = "\n\n".join(code for text in texts for hunk in _hunks(text) if (code := _whole_part(*hunk, qualname)))
    if not syntax.has_target(joined, qualname):
        return syntax.Reading(None, "a diff that does not show the whole definition", cut)
    return syntax.Reading(joined, "a diff", cut)


def _whole_part(lines: list[str], ends_open: bool, qualname: str) -> str:
    code = "\n".join(lines).strip("\n").rstrip()
    code = repair(code) or syntax.dedent(code)
    if ends_open:
        if not syntax.mentions(code, qualname):
            return syntax.whole_prefix(code)
        return syntax.prefix_with(code, qualname) or _from_its_definition(code, qualname, ends_open)
    return code if syntax.parse(code) is not None else _from_its_definition(code, qualname, ends_open)


def _hunks(text: str) -> list[tuple[list[str], bool]]:
    """The new lines of each hunk, and whether unseen lines of the same statement may follow."""
    if replaced := _replacements(text):
        return [(lines, False) for lines in replaced]
    hunks: list[list[str]] = [[]]
    for line in text.split("\n"):
        if _HUNK.match(line) or _FILE.match(line):
            hunks.append([])
        elif not line.startswith("-"):
            hunks[-1].append(line)
    found = []
    for hunk in hunks:
        if filled := [line for line in hunk if line.strip()]:
            # Models forget the space before a context line.
            new = [line[1:] if line[:1] in {"+", " "} else line for line in hunk]
            # It stops after context: at the file's end, or after a new line, there would be none.
            found.append((new, not filled[-1].startswith("+")))
    return found


def _replacements(text: str) -> list[list[str]]:
    """The new lines of each search-and-replace block."""
    found: list[list[str]] = []
    in_block, new = False, None
    for line in text.split("\n"):
        if _SEARCH.match(line):
            in_block, new = True, None
        elif in_block and new is None and _MIDDLE.match(line):
            new = list[str]()
        elif new is not None and _REPLACE.match(line):
            found.append(new)
            in_block, new = False, None
        elif new is not None:
            new.append(line)
    return found


def _from_its_definition(code: str, qualname: str, ends_open: bool) -> str:
    """The target alone where the hunk begins in the middle of something else."""
    lines = code.split("\n")
    start = next((number for number, line in enumerate(lines) if syntax.mentions(line, qualname)), None)
    if start is None:
        return ""
    while start > 0 and lines[start - 1].lstrip().startswith("@"):
        start -= 1
    depth = syntax.indent_of(lines[start])
    rest = range(start + 1, len(lines))
    ends = [at for at in rest if lines[at].strip() and syntax.indent_of(lines[at]) <= depth]
    for end in ends if ends_open else [*ends, len(lines)]:
        definition = syntax.dedent("\n".join(lines[start:end]))
        if syntax.has_target(definition, qualname):
            return definition.rstrip()
    return ""
