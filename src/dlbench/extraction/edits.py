"""What does the code look like after this edit?

Some models answer with a unified diff or a search-and-replace block. Only what the edit shows whole can be judged: a
hunk that begins or stops inside the target leaves lines of it unseen, and a function put together from such pieces
would be nobody's answer. So the target is taken from one hunk that has its `def` line and its end, or not at all.
"""

import re
from itertools import pairwise

from dlbench.extraction import syntax
from dlbench.extraction.repairs import repair

LANGUAGES = {"diff", "patch", "udiff"}

_HUNK = re.compile(r"^@@.*$")
_FILE = re.compile(r"^(?:diff --git |index [0-9a-f]+\.\.|--- |\+\+\+ |new file mode |\\ No newline|\*\*\* )")
_FLUSH = re.compile(r"(?:async def|def|class|import|from) |@\w")
_SEARCH, _MIDDLE, _REPLACE = (re.compile(mark) for mark in (r"^<{5,9} ?SEARCH", r"^={5,9}$", r"^>{5,9} ?REPLACE"))


def is_edit(text: str) -> bool:
    """By the marks that nothing else has: a hunk's or a file's header, a search-and-replace block, pluses all along."""
    if _replacements(text):
        return True
    lines = [line for line in text.split("\n") if line.strip()]
    heads = any(one.startswith("--- ") and two.startswith("+++ ") for one, two in pairwise(lines))
    return heads or any(_HUNK.match(line) or line == "*** Begin Patch" for line in lines) or _is_marked(lines)


def _is_marked(lines: list[str]) -> bool:
    """New lines all along, or among old ones and context; models forget the space before a header.

    Lists in prose have such marks, too: what is new must be Python, and unmarked lines under a header are no context.
    """
    marks = {line[0] for line in lines if not _FLUSH.match(line)}
    if marks == {"+"}:
        return True
    context = set() if any(_FLUSH.match(line) for line in lines) else {" "}
    is_mixed = {"+", "-"} <= marks and marks <= {"+", "-"} | context
    return is_mixed and syntax.parse(syntax.dedent("\n".join(_new_side(lines)))) is not None


def new_code(texts: list[str], qualname: str) -> str | None:
    """The new side of each hunk that parses, and that has the target whole if it has it; None without the target."""
    found = [code for text in texts for hunk in _hunks(text) if (code := _whole_part(*hunk, qualname))]
    joined = "\n\n".join(found)
    return joined if syntax.has_target(joined, qualname) else None


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
    replaced = _replacements(text)
    if replaced:
        return [(lines, False) for lines in replaced]
    hunks: list[list[str]] = [[]]
    for line in text.split("\n"):
        if _HUNK.match(line) or _FILE.match(line):
            hunks.append([])
        elif not line.startswith("-"):
            hunks[-1].append(line)
    return [(_new_side(hunk), _ends_open(hunk)) for hunk in hunks if any(line.strip() for line in hunk)]


def _new_side(lines: list[str]) -> list[str]:
    # Models forget the space before a context line.
    return [line[1:] if line[:1] in {"+", " "} else line for line in lines if not line.startswith("-")]


def _replacements(text: str) -> list[list[str]]:
    """The new lines of each search-and-replace block."""
    found: list[list[str]] = []
    seen, new = False, None
    for line in text.split("\n"):
        if _SEARCH.match(line):
            seen, new = True, None
        elif seen and new is None and _MIDDLE.match(line):
            new = list[str]()
        elif new is not None and _REPLACE.match(line):
            found.append(new)
            seen, new = False, None
        elif new is not None:
            new.append(line)
    return found


def _ends_open(hunk: list[str]) -> bool:
    """A hunk stops after context: were the file at its end, or the last line new, there would be none."""
    last = next(line for line in reversed(hunk) if line.strip())
    return not last.startswith("+")


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
