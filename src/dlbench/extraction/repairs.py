"""Which small fix makes this text Python?

Answers come with prompts, line numbers, notebooks' magics, odd spaces, typographic quotes, HTML entities and lost
indentation. Judged as they are, many right answers would count as syntax errors; fixed too boldly, a wrong answer
would be rewritten. So a fix touches only text that does not parse as it is, and only counts when the result parses.

One exception: `y = x &lt; 3` parses (as `x & lt`, then `3`), but no person means that. An entity outside strings and
comments is always read as the character it stands for, and then those inside strings are, too.

Is the code packed into something that is not Markdown?

Models that were asked for structure elsewhere answer in HTML or between tags of their own. What is inside is an answer
like any other: it is unpacked and read again. Markup inside fenced code is the code's own, and stays.
"""

import ast
import html
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterator

from dlbench.dataset.prompt_context import fenced
from dlbench.extraction.syntax import Function, dedent, is_code, parse

# A string that does not end reaches as far as it can: looking at each of its characters again would take for ever.
_STRING_OR_COMMENT = (
    r"(?:'''(?:\\.|[^\\])*?(?:'''|\Z)|\"\"\"(?:\\.|[^\\])*?(?:\"\"\"|\Z)"
    r"|'(?:\\.|[^'\\\n])*'?|\"(?:\\.|[^\"\\\n])*\"?|#[^\n]*)"
)
_ODD_SPACES = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_ODD_LINE_ENDS = "\x0b\x85\u2028\u2029"
_INVISIBLE = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
_DOUBLE, _SINGLE, _DASHES = "“”„‟″", "‘’‚‛′", "−–"  # noqa: RUF001
_FULL_WIDTH = "\uff01-\uff5e"
_STRAIGHT = {**dict.fromkeys(_DOUBLE, '"'), **dict.fromkeys(_SINGLE, "'"), **dict.fromkeys(_DASHES, "-"), "…": "..."}
_QUOTES = str.maketrans({**dict.fromkeys(_DOUBLE, '"'), **dict.fromkeys(_SINGLE, "'")})
_SPACE_OUTSIDE = re.compile(f"({_STRING_OR_COMMENT})|([{_ODD_SPACES}])|([{_INVISIBLE}])", re.DOTALL)
_TYPOGRAPHY_OUTSIDE = re.compile(f"({_STRING_OR_COMMENT})|([{''.join(_STRAIGHT)}{_FULL_WIDTH}])", re.DOTALL)
_ENTITY_OUTSIDE = re.compile(
    rf"{_STRING_OR_COMMENT}|(&(?:lt|gt|amp|quot|apos|nbsp|#\d{{1,6}}|#x[0-9a-f]{{1,5}});)", re.DOTALL | re.IGNORECASE
)
_MOST_ESCAPES = 3

_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\.)(?: |$)|^\s*(?:In \[\d+\]|\.{3,}): ?")
_FIRST_PROMPT = re.compile(r"^\s*(?:>>>|In \[\d+\]:)")
_MAGIC = re.compile(r"^(?:%%?[A-Za-z_]|![\w./~]|[\w.]+\?{1,2}$)")
_LEFT_OUT = re.compile(
    r"^([ \t]*)(?:\.{3}|…)[ \t]*[(\[]?[A-Za-z][A-Za-z ,'_\t-]*(?:[)\]][ \t]*)?(?:(?:\.{3}|…)[ \t]*)?$", re.MULTILINE
)
_SPACE_AFTER_BACKSLASH = re.compile(r"\\[ \t]+$", re.MULTILINE)
_NUMBER = re.compile(r"^\s*(?P<number>\d+)(?:\s*(?:[:|)│→]|\.(?!\.))|(?=\s)|$)(?P<rest>.*)$")


def repair(code: str) -> str | None:
    """The code itself where it parses, else its mildest fix that does."""
    for spelling in spellings(code):
        for layout in _layouts(spelling):
            if parse(layout) is not None:
                return layout
            dotted = _without_words_for_others(layout)
            if parse(dotted) is not None:
                return dotted
    return None


def has_entities(code: str) -> bool:
    """Outside strings and comments, where Python has no use for them."""
    return "&" in code and any(found[1] for found in _ENTITY_OUTSIDE.finditer(code))


def take_session(lines: list[str]) -> str:
    """What was typed at prompts, without what was printed and what was said."""
    if not any(_FIRST_PROMPT.match(line) for line in lines):
        return ""
    session = "\n".join(_PROMPT.sub("", line, count=1) for line in lines if _PROMPT.match(line))
    return session if parse(session) is not None else dedent(session)


def take_listing(lines: list[str]) -> str:
    """The longest stretch of lines that are numbered one after the other, without the numbers."""
    stretches: list[list[str]] = [[]]
    expected = -1
    for line in lines:
        found = _NUMBER.match(line)
        if found is None and (line.strip() or len(stretches[-1]) < 2):
            stretches.append([])
            expected = -1
            continue
        number = int(found["number"][:9]) if found else -1
        if found and number != expected:
            stretches.append([])
        stretches[-1].append(found["rest"] if found else "")
        expected = number + 1 if found else expected
    longest = max(stretches, key=len)
    return dedent("\n".join(longest)).rstrip() if len(longest) > 1 else ""


def without_entities(code: str) -> str:
    # Pages that quote pages escape twice.
    for _ in range(_MOST_ESCAPES):
        if not has_entities(code):
            break
        code = html.unescape(code)
    return code


def spellings(code: str) -> Iterator[str]:
    """The text in its own characters, then in those that Python knows, mildest change first."""
    code = without_entities(code)
    yield code
    spaced = _SPACE_OUTSIDE.sub(lambda found: found[1] or (" " if found[2] else ""), code)
    if spaced != code:
        yield spaced
    straight = _TYPOGRAPHY_OUTSIDE.sub(lambda found: found[1] or _straighten(found[2]), spaced)
    if straight != spaced:
        yield straight
        # `“it's”`: the straight quote inside hid the curly one that ends the string.
        yield spaced.translate(_QUOTES)


def _straighten(character: str) -> str:
    return _STRAIGHT.get(character) or unicodedata.normalize("NFKC", character)


def _layouts(code: str) -> Iterator[str]:
    repairs: list[Callable[[str], str]] = [
        _without_prompts,
        _without_numbers,
        _without_magics,
        dedent,
        _dedent_after_first,
        lambda code: _spaces_for_tabs(code, 4),
        lambda code: _spaces_for_tabs(code, 8),
        _with_line_ends,
        lambda code: _SPACE_AFTER_BACKSLASH.sub(r"\\", code),
    ]
    yield code
    for fix in repairs:
        layout = fix(code)
        if layout != code:
            yield layout


def _without_prompts(code: str) -> str:
    """A session without its prompts and its output; of code with a session after it, the code."""
    lines = code.strip("\n").split("\n")
    first = next((number for number, line in enumerate(lines) if _FIRST_PROMPT.match(line)), None)
    if first is None:
        return code
    before = "\n".join(lines[:first]).rstrip()
    tree = parse(before)
    return take_session(lines) if tree is not None and not is_code(tree) else before


def _without_numbers(code: str) -> str:
    """Code from a listing: every line has its number, one more than the line before."""
    lines = code.strip("\n").split("\n")
    listing = take_listing(lines)
    return listing if listing and all(_NUMBER.match(line) for line in lines if line.strip()) else code


def _without_magics(code: str) -> str:
    """A notebook's cell without what is for the notebook: `%matplotlib inline`, `%%writefile model.py`, `!pip …`."""
    return "\n".join(line for line in code.split("\n") if not _MAGIC.match(line))


def _dedent_after_first(code: str) -> str:
    """A body that goes on from the prompt's last line: its first line lost the indentation, the others kept it."""
    first, _, rest = code.lstrip("\n").partition("\n")
    return first.lstrip() + "\n" + dedent(rest)


def _spaces_for_tabs(code: str, width: int) -> str:
    def spaces(line: str) -> str:
        body = line.lstrip(" \t")
        return line[: len(line) - len(body)].expandtabs(width) + body

    return textwrap.dedent("\n".join(spaces(line) for line in code.split("\n")))


def _without_words_for_others(code: str) -> str:
    """`... other methods ...` as Python's own dots. Inside a function they stay: a part of it is missing there."""
    dotted = _LEFT_OUT.sub(r"\1...", code)
    tree = parse(dotted) if dotted != code else None
    if tree is None:
        return code
    changed = {
        at for at, (one, two) in enumerate(zip(code.split("\n"), dotted.split("\n"), strict=True), 1) if one != two
    }
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    inside = {at for node in functions for at in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return code if changed & inside else dotted


def _with_line_ends(code: str) -> str:
    """Lines that end in another of Unicode's line ends, or one long line where they are written as backslash and n."""
    if re.search(f"[{_ODD_LINE_ENDS}]", code):
        return re.sub(f"[{_ODD_LINE_ENDS}]", "\n", code)
    if "\n" in code.strip() or "\\n" not in code:
        return code
    escapes = {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\'": "'", "\\\\": "\\"}
    return re.sub(r"\\[nt\"'\\]", lambda found: escapes[found[0]], code.strip())


_TAGS = "pre|code|answer|solution|python|response|output|result|final_answer|implementation|function|completion"
_TAG_PAIR = re.compile(
    rf"<(?P<tag>{_TAGS})(?:\s[^<>\n]*)?>(?:[ \t]*\n)?(?P<tagged>.*?)[ \t]*</(?P=tag)\s*>"
    r"|\[(?P<bracket>PYTHON|CODE|ANSWER|SOLUTION)\](?:[ \t]*\n)?(?P<bracketed>.*?)[ \t]*\[/(?P=bracket)\]"
    r"|^'''(?:python3?|py)[ \t]*\n(?P<quoted>.*?)\n'''[ \t]*$"
    r"|\\begin\{(?P<env>lstlisting|verbatim|minted)\}(?:\[[^\]\n]*\])?(?:\{\w*\})?[ \t]*\n(?P<listing>.*?)\n"
    r"[ \t]*\\end\{(?P=env)\}",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
_DEEPEST = 8


def unpack_tags(text: str) -> str:
    """The text with code between tags put into fences; a text that has fences is left as it is."""
    if "```" in text or "~~~" in text:
        return text
    for _ in range(_DEEPEST):  # `<pre><code>` is one inside the other
        changed = _TAG_PAIR.sub(_inside, text)
        if changed == text:
            break
        text = changed
    return text


def _inside(found: re.Match[str]) -> str:
    code = found["tagged"] or found["bracketed"] or found["quoted"] or found["listing"] or ""
    if found["tag"] and "\n" not in code.strip() and not re.match(r"\s*(?:def|import|from|class|@)\b", code):
        return f"{code}" if found["tag"].lower() in {"code", "function", "output", "result"} else f"\n{code}\n"
    return f"\n{fenced(code.strip(chr(10)), '')}\n" if "```" not in code else f"\n{code}\n"
