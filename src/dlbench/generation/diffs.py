"""What does the code look like after this edit?

Some models answer with a unified diff or a search-and-replace block. Only what the edit shows whole can be judged: a
hunk that begins or stops inside the target leaves lines of it unseen, and a function put together from such pieces
would be nobody's answer. So the target is taken from one hunk that has its `def` line and its end, or not at all.
"""

import re
from itertools import pairwise

from dlbench.generation import syntax
from dlbench.generation.mends import mended

LANGUAGES = {"diff", "patch", "udiff"}

_HUNK = re.compile(r"^@@.*$")
_FILE = re.compile(r"^(?:diff --git |index [0-9a-f]+\.\.|--- |\+\+\+ |new file mode |\\ No newline|\*\*\* )")
_SEARCH, _MIDDLE, _REPLACE = (re.compile(mark) for mark in (r"^<{5,9} ?SEARCH", r"^={5,9}$", r"^>{5,9} ?REPLACE"))


def is_edit(text: str) -> bool:
    """By the marks that nothing else has: a hunk's or a file's header, a search-and-replace block, pluses all along."""
    if _replacements(text):
        return True
    lines = [line for line in text.split("\n") if line.strip()]
    heads = any(one.startswith("--- ") and two.startswith("+++ ") for one, two in pairwise(lines))
    return heads or any(_HUNK.match(line) for line in lines) or (bool(lines) and all(line[0] == "+" for line in lines))


def new_code(text: str, qualname: str) -> str | None:
    """The new side of each hunk that parses, and that has the target whole if it has it; None without the target."""
    found: list[str] = []
    for lines, ends_open in _hunks(text):
        code = "\n".join(lines).strip("\n").rstrip()
        code = mended(code) or syntax.dedent(code)
        if ends_open:
            named = syntax.mentions(code, qualname)
            code = syntax.prefix_with(code, qualname) or ("" if named else syntax.whole_prefix(code))
        if syntax.parse(code) is None:
            code = _from_its_definition(code, qualname)
        if code:
            found.append(code)
    joined = "\n\n".join(found)
    return joined if syntax.has_target(joined, qualname) else None


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
    # Models forget the space before a context line.
    return [
        ([line[1:] if line[:1] in {"+", " "} else line for line in hunk], _ends_open(hunk))
        for hunk in hunks
        if any(line.strip() for line in hunk)
    ]


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


def _from_its_definition(code: str, qualname: str) -> str:
    """The target alone where the hunk begins in the middle of something else."""
    lines = code.split("\n")
    start = next((number for number, line in enumerate(lines) if syntax.mentions(line, qualname)), None)
    if start is None:
        return ""
    while start > 0 and lines[start - 1].lstrip().startswith("@"):
        start -= 1
    depth = syntax.indent_of(lines[start])
    rest = range(start + 1, len(lines))
    for end in [*(at for at in rest if lines[at].strip() and syntax.indent_of(lines[at]) <= depth), len(lines)]:
        definition = syntax.dedent("\n".join(lines[start:end]))
        if syntax.has_target(definition, qualname):
            return definition.rstrip()
    return ""
