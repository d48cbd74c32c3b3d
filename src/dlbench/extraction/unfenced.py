"""Find code in text without fences, and read the code after an edit: a diff, a patch, or search-and-replace blocks.

A run of lines is code as far as it parses, and prose after it begins at the margin. An indented line that does not
parse is no prose: the function is broken or cut off there, and its first half must not pass for the whole. A hunk that
begins or stops inside the target leaves lines of it unseen, and a function assembled from such pieces is nobody's
answer. So the target is taken from one hunk that has its `def` line and its end, or not at all.
"""

import re
from itertools import groupby, pairwise
from keyword import iskeyword

from dlbench.extraction import syntax
from dlbench.extraction.edits import read_replacements
from dlbench.extraction.syntax import Reading, repair, unindent

LANGUAGES = {"diff", "patch", "udiff"}

_HUNK = re.compile(r"^@@.*$")
_FILE = re.compile(r"^(?:diff --git |index [0-9a-f]+\.\.|--- |\+\+\+ |new file mode |\\ No newline|\*\*\* )")


def is_edit(text: str) -> bool:
    """By marks that nothing else has: a hunk's or file's header, a search-and-replace block, pluses on every line.

    Lists in prose have pluses and minuses too, so those alone are no mark.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    has_header = any(one.startswith("--- ") and two.startswith("+++ ") for one, two in pairwise(lines))
    has_hunk = any(_HUNK.match(line) or line == "*** Begin Patch" for line in lines)
    return has_header or has_hunk or bool(read_replacements(text)) or {line[0] for line in lines} == {"+"}


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
    if replaced := read_replacements(text):
        return [(edit.new, False) for _, edit in replaced]
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


_MAX_STARTS = 200
_MAX_PROSE = 50

_START = re.compile(r"^[ \t]*(?:(?:async[ \t]+)?def|class|import|from|@)(?=[ \t\w])")
_ASSIGNMENT = re.compile(r"^\w[\w.]*(?:\s*:\s*[\w.\[\], ]+)?\s*=(?!=)")
# Constants and guarded imports precede the function that needs them.
_BEGIN = re.compile(rf"{_START.pattern}|{_ASSIGNMENT.pattern}|^(?:try|if|for|with|while)\b.*:\s*$")
_CONTINUED = re.compile(r"^(?:[ \t]|[)\]}#@]|\"\"\"|'''|(?:else|elif|except|finally|try)\b)")
_WORD = re.compile(r"^[\W_]*[A-Za-z]+(?:['\u2019-][A-Za-z]+)*[\W_]*$")


def from_text(text: str, qualname: str) -> Reading | None:
    """The whole text if it is code, else every run of lines in it that is."""
    whole = text.strip("\n").rstrip()
    code = repair(whole)
    if code is not None:
        return Reading(code, "the whole text, which has no fence") if syntax.is_code(code) else None
    if is_edit(whole):
        return read_edits([whole], qualname)
    lines = whole.split("\n")
    runs, broken = find_runs(lines)
    joined = "\n\n".join(runs)
    if syntax.has_target(joined, qualname):
        cut = broken is not None and syntax.breaks_off(unindent(lines[broken:], syntax.indent_of(lines[broken])))
        return Reading(joined, "lines of the text, which has no fence", cut)
    start = next((number for number, line in enumerate(lines) if syntax.mentions(line, qualname)), None)
    if start is not None:
        while start > 0 and _belongs_to_code(lines[start - 1]):
            start -= 1
        code = "\n".join(lines[start:]).strip("\n")
        return Reading(code, "text without a fence that does not parse", syntax.breaks_off(code))
    body = _indented_body(lines)
    if body is not None:
        return Reading(body, "an indented body in the text, which has no fence")
    has_definitions = any(_START.match(line) for line in joined.split("\n"))
    return Reading(joined, "lines of the text, which has no fence") if has_definitions else None


def _indented_body(lines: list[str]) -> str | None:
    """The longest stretch of indented lines (Markdown's indented code), if it returns something."""
    stretches = groupby(lines, lambda line: not line.strip() or syntax.indent_of(line) > 0)
    longest = max((list(stretch) for is_indented, stretch in stretches if is_indented), key=len, default=[])
    code = repair("\n".join(longest).strip("\n").rstrip())
    return code if code and syntax.is_body(code) and syntax.is_code(code) else None


def without_prose(text: str, qualname: str) -> str | None:
    """The code of a fenced block that begins or ends with prose; drops as few lines as possible."""
    lines = text.split("\n")
    while lines and (not lines[0].strip() or _is_prose(lines[0])):
        lines.pop(0)
    for _ in range(_MAX_PROSE):
        code = repair("\n".join(lines).rstrip())
        if code is not None:
            return code if syntax.has_target(code, qualname) or syntax.is_body(code) else None
        while lines and not lines[-1].strip():
            lines.pop()
        if not lines or not _is_prose(lines[-1]):
            break
        lines.pop()
    return None


def _is_prose(line: str) -> bool:
    """At the margin, three words or more, most of them plain. `x = f(y) if z` is not, and stays a syntax error."""
    words = line.split()
    if len(words) < 3 or syntax.indent_of(line) or words[0][0].isdigit() or iskeyword(words[0]):
        return False
    return sum(bool(_WORD.match(word)) for word in words) * 3 >= len(words) * 2


def _belongs_to_code(line: str) -> bool:
    return not line.strip() or bool(_START.match(line) or _CONTINUED.match(line) or _ASSIGNMENT.match(line))


def find_runs(lines: list[str]) -> tuple[list[str], int | None]:
    """The runs of code, and the line of the first definition that does not parse."""
    runs: list[str] = []
    broken: int | None = None
    after = 0
    starts = [number for number, line in enumerate(lines) if _BEGIN.match(line)]
    for start in starts[:_MAX_STARTS]:
        if start < after:
            continue
        found = _run(lines[start:])
        if found is not None:
            run, length = found
            runs.append(run)
            after = start + length
        elif broken is None and _START.match(lines[start]):
            broken = start
    return runs, broken


def _run(lines: list[str]) -> tuple[str, int] | None:
    """The longest beginning of `lines` that parses; the parser's own error says where to look next."""
    flush = unindent(lines, syntax.indent_of(lines[0])).split("\n")
    end = len(flush)
    while end > 0:
        code = "\n".join(flush[:end])
        error = syntax.attempt(code)
        if not isinstance(error, Exception):
            return (code.rstrip(), end) if syntax.is_code(code) and not _continues(flush, end) else None
        line = error.lineno if isinstance(error, SyntaxError) else None
        end = min(end - 1, max(line - 1, 0) if line else end - 1)
    return None


def _continues(flush: list[str], end: int) -> bool:
    """The statement before `end` has more lines, which do not parse."""
    following = next((line for line in flush[end:] if line.strip()), "")
    return syntax.indent_of(following) > 0 or bool(syntax.CONTINUES.match(following))
