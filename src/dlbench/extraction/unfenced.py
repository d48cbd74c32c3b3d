"""Where in a text without fences does code begin and end?

Prose and code follow one another without a mark between them. A run of lines is code as far as it parses, and prose
after it begins at the margin. A line that goes on inside a function, and does not parse, is no prose: the function is
broken or cut off there, and its first half must not pass for the whole.
"""

import re
from keyword import iskeyword

from dlbench.extraction import syntax
from dlbench.extraction.edits import is_edit, new_code
from dlbench.extraction.repairs import repair, spellings, take_listing, take_session
from dlbench.extraction.syntax import Reading

_MOST_STARTS = 200
_MOST_PROSE = 50

_START = re.compile(r"^[ \t]*(?:(?:async[ \t]+)?def|class|import|from|@)(?=[ \t\w])")
_ASSIGNMENT = re.compile(r"^\w[\w.]*(?:\s*:\s*[\w.\[\], ]+)?\s*=(?!=)")
# Constants, and imports that are tried, stand before the function that needs them.
_BEGIN = re.compile(rf"{_START.pattern}|{_ASSIGNMENT.pattern}|^(?:try|if|for|with|while)\b.*:\s*$")
_CONTINUED = re.compile(r"^(?:[ \t]|[)\]}#@]|\"\"\"|'''|(?:else|elif|except|finally|try)\b)")
_WORD = re.compile(r"^[\W_]*[A-Za-z]+(?:['\u2019-][A-Za-z]+)*[\W_]*$")


def from_text(text: str, qualname: str) -> Reading | None:
    """Code without a fence: the whole text, else every run of lines in it that is Python."""
    whole = text.strip("\n").rstrip()
    code = repair(whole)
    if code is not None:
        tree = syntax.parse(code)
        useful = tree is not None and syntax.is_code(tree)
        return Reading(code, "the whole text, which has no fence") if useful else None
    if is_edit(whole):
        code = new_code([whole], qualname)
        return Reading(code, "a diff" if code else "a diff that does not show the whole definition")
    readings = [_from_lines(spelling.split("\n"), qualname) for spelling in spellings(whole)]
    found = [one for one in readings if one is not None]
    has_target = (one for one in found if one.code is not None and syntax.has_target(one.code, qualname))
    return next(has_target, found[0] if found else None)


def _from_lines(lines: list[str], qualname: str) -> Reading | None:
    runs, broken = _runs(lines)
    joined = "\n\n".join(runs)
    if syntax.has_target(joined, qualname):
        cut = broken is not None and syntax.breaks_off("\n".join(_flush(lines[broken:])))
        return Reading(joined, "lines of the text, which has no fence", cut)
    for kind, take in (("a session", take_session), ("a listing", take_listing)):
        taken = take(lines)
        if syntax.has_target(taken, qualname):
            return Reading(taken, f"{kind} in the text, which has no fence")
    start = next((number for number, line in enumerate(lines) if syntax.mentions(line, qualname)), None)
    if start is not None:
        while start > 0 and _goes_with_code(lines[start - 1]):
            start -= 1
        code = "\n".join(lines[start:]).strip("\n")
        return Reading(code, "text without a fence that does not parse", syntax.breaks_off(code))
    body = _indented_body(lines)
    if body is not None:
        return Reading(body, "an indented body in the text, which has no fence")
    has_definitions = any(_START.match(line) for line in joined.split("\n"))
    return Reading(joined, "lines of the text, which has no fence") if has_definitions else None


def _indented_body(lines: list[str]) -> str | None:
    """Markdown's oldest way to show code, four spaces: the longest stretch of such lines, if it returns something."""
    stretches: list[list[str]] = [[]]
    for line in lines:
        if line.strip() and syntax.indent_of(line) == 0:
            stretches.append([])
        else:
            stretches[-1].append(line)
    longest = max(stretches, key=len)
    code = repair("\n".join(longest).strip("\n").rstrip())
    tree = syntax.parse(code) if code else None
    return code if tree is not None and syntax.returns(tree) and syntax.is_code(tree) else None


def without_prose(text: str, qualname: str) -> str | None:
    """The code of a block that has prose at its beginning or end, inside the fence; as few lines go as will do."""
    lines = text.split("\n")
    while lines and (not lines[0].strip() or _is_prose(lines[0])):
        lines.pop(0)
    for _ in range(_MOST_PROSE):
        code = repair("\n".join(lines).rstrip())
        if code is not None:
            tree = syntax.parse(code)
            whole = tree is not None and (syntax.defines(tree, qualname) or syntax.returns(tree))
            return code if whole else None
        while lines and not lines[-1].strip():
            lines.pop()
        if not lines or not _is_prose(lines[-1]):
            break
        lines.pop()
    return None


def _is_prose(line: str) -> bool:
    """At the margin, three words or more, most of them plain: `x = f(y) if z` is none, and stays a syntax error."""
    words = line.split()
    if len(words) < 3 or syntax.indent_of(line) or words[0][0].isdigit() or iskeyword(words[0]):
        return False
    return sum(bool(_WORD.match(word)) for word in words) * 3 >= len(words) * 2


def _goes_with_code(line: str) -> bool:
    return not line.strip() or bool(_START.match(line) or _CONTINUED.match(line) or _ASSIGNMENT.match(line))


def _runs(lines: list[str]) -> tuple[list[str], int | None]:
    """The runs of code, and where the first definition begins that is none because it does not parse."""
    runs: list[str] = []
    broken: int | None = None
    after = 0
    starts = [number for number, line in enumerate(lines) if _BEGIN.match(line)]
    for start in starts[:_MOST_STARTS]:
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
    flush = _flush(lines)
    end = len(flush)
    while end > 0:
        code = "\n".join(flush[:end])
        tree = syntax.attempt(code)
        if not isinstance(tree, Exception):
            return (code.rstrip(), end) if syntax.is_code(tree) and not _goes_on(flush, end) else None
        line = tree.lineno if isinstance(tree, SyntaxError) else None
        end = min(end - 1, max(line - 1, 0) if line else end - 1)
    return None


def _goes_on(flush: list[str], end: int) -> bool:
    """The statement before `end` has more lines, which do not parse."""
    following = next((line for line in flush[end:] if line.strip()), "")
    return syntax.indent_of(following) > 0 or bool(syntax.CONTINUES.match(following))


def _flush(lines: list[str]) -> list[str]:
    indent = syntax.indent_of(lines[0])
    return [line[min(indent, syntax.indent_of(line)) :] for line in lines]
