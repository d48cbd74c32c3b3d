"""Is this text Python, what does it define, and which small mend makes it so?

Answers come with prompts, odd spaces, typographic quotes and lost indentation. Judged as they are, many right answers
would count as syntax errors; mended too boldly, a wrong answer would be rewritten. So a mend touches only text that
does not parse as it is, and only counts when the result parses.
"""

import ast
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator
from threading import Lock

# `warnings.catch_warnings` swaps state of the whole process; two threads at once would leave it swapped.
_warnings_lock = Lock()

_TOO_MUCH = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
_MOST_CUTS = 300

# A string that does not end reaches as far as it can: looking at each of its characters again would take for ever.
_STRING_OR_COMMENT = (
    r"(?:'''(?:\\.|[^\\])*?(?:'''|\Z)|\"\"\"(?:\\.|[^\\])*?(?:\"\"\"|\Z)"
    r"|'(?:\\.|[^'\\\n])*'?|\"(?:\\.|[^\"\\\n])*\"?|#[^\n]*)"
)
_ODD_SPACES = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff"
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"})  # noqa: RUF001
_SPACE_OUTSIDE = re.compile(f"({_STRING_OR_COMMENT})|([{_ODD_SPACES}])|([{_INVISIBLE}])", re.DOTALL)
_QUOTE_OUTSIDE = re.compile(f"({_STRING_OR_COMMENT})|([“”„‘’])", re.DOTALL)  # noqa: RUF001
_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\.)(?: |$)")
_CONTINUES = re.compile(r"\s*(?:else|elif|except|finally)\b")


def attempt(code: str) -> ast.Module | Exception:
    """The tree, or why there is none. Never raises and never prints."""
    with _warnings_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(code, feature_version=(3, 11))
        except _TOO_MUCH as error:
            return error


def parse(code: str) -> ast.Module | None:
    tree = attempt(code)
    return tree if isinstance(tree, ast.Module) else None


def mended(code: str) -> str | None:
    """The code itself where it parses, else its mildest mend that does."""
    for spelling in _spellings(code):
        for layout in _layouts(spelling):
            if parse(layout) is not None:
                return layout
    return None


def _spellings(code: str) -> Iterator[str]:
    yield code
    spaced = _SPACE_OUTSIDE.sub(lambda found: found[1] or (" " if found[2] else ""), code)
    if spaced != code:
        yield spaced
    quoted = _QUOTE_OUTSIDE.sub(lambda found: found[1] or found[2].translate(_QUOTES), spaced)
    if quoted != spaced:
        yield quoted
        # `“it's”`: the straight quote inside hid the curly one that ends the string.
        yield spaced.translate(_QUOTES)


def _layouts(code: str) -> Iterator[str]:
    mends: list[Callable[[str], str]] = [_without_prompts, dedent, _dedent_after_first, _spaces_for_tabs]
    yield code
    for mend in mends:
        layout = mend(code)
        if layout != code:
            yield layout


def dedent(code: str) -> str:
    """Indented statements at the margin; the lines inside their strings stay as they are, since they are values."""
    tree = attempt("if 1:\n" + code)
    if not isinstance(tree, ast.Module) or not isinstance(tree.body[0], ast.If):
        return textwrap.dedent(code)
    lead = tree.body[0].body[0].col_offset
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr):
            # Line n of the tree is index n - 2 of `lines`; a string's first line is not inside it.
            inside.update(range(node.lineno - 1, (node.end_lineno or node.lineno) - 1))
    lines = code.split("\n")
    return "\n".join(
        line if number in inside else line[min(lead, _indent(line)) :] for number, line in enumerate(lines)
    )


def _without_prompts(code: str) -> str:
    """A session without its prompts and its output; of code with a session after it, the code."""
    lines = code.strip("\n").split("\n")
    first = next((number for number, line in enumerate(lines) if line.lstrip().startswith(">>>")), None)
    if first is None:
        return code
    if first > 0:
        return "\n".join(lines[:first]).rstrip()
    return "\n".join(_PROMPT.sub("", line, count=1) for line in lines if _PROMPT.match(line))


def _dedent_after_first(code: str) -> str:
    """A body that goes on from the prompt's last line: its first line lost the indentation, the others kept it."""
    first, _, rest = code.lstrip("\n").partition("\n")
    return first.lstrip() + "\n" + dedent(rest)


def _spaces_for_tabs(code: str) -> str:
    def spaces(line: str) -> str:
        body = line.lstrip(" \t")
        return line[: len(line) - len(body)].expandtabs(4) + body

    return textwrap.dedent("\n".join(spaces(line) for line in code.split("\n")))


def is_code(tree: ast.Module) -> bool:
    """Holds something that does work: `Sure`, `42`, `Note: this` and `pass` parse too, but answer nothing."""
    return any(_works(node) for node in tree.body)


def _works(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            return True
        case ast.Expr() | ast.Pass() | ast.Break() | ast.Continue() | ast.Global() | ast.Nonlocal():
            return False
        case ast.AnnAssign(value=None) | ast.Return(value=None):
            return False
    return True


def defines(tree: ast.Module, qualname: str) -> bool:
    """Also where a method comes without its class, or an inner class without its outer one."""
    parts = qualname.split(".")
    return any(_defined(tree.body, parts[start:]) for start in range(len(parts)))


def _defined(body: list[ast.stmt], parts: list[str]) -> bool:
    for node in _in_scope(body):
        match node:
            case ast.ClassDef() if len(parts) > 1 and node.name == parts[0]:
                if _defined(node.body, parts[1:]):
                    return True
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if [node.name] == parts:
                return True
            case ast.Assign() if any(isinstance(to, ast.Name) and [to.id] == parts for to in node.targets):
                return True
    return False


def _in_scope(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of one scope, those under `if`, `try` and `with` too."""
    waiting = list(body)
    while waiting:
        node = waiting.pop(0)
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.While):
            for field in ("body", "orelse", "finalbody"):
                waiting += getattr(node, field, [])
            for handler in getattr(node, "handlers", []):
                waiting += handler.body


def mentions(code: str, qualname: str) -> bool:
    """A definition of the target begins here, whether or not it parses."""
    name = re.escape(qualname.rpartition(".")[2])
    return re.search(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{name}\b", code, re.MULTILINE) is not None


def prefix_with(code: str, qualname: str) -> str | None:
    """The longest beginning of cut-off code that parses and has the target whole: the cut hit something after it."""
    lines = code.split("\n")
    depth = _depth(lines, qualname)
    if depth is None:
        return None
    ends = [number for number, line in enumerate(lines) if line.strip() and _indent(line) <= depth]
    for end in ends[: -_MOST_CUTS - 1 : -1]:
        # An `else` that is cut off belongs to the statement before it, so that one is not whole.
        if _CONTINUES.match(lines[end]):
            continue
        prefix = "\n".join(lines[:end])
        tree = parse(prefix)
        if tree is not None and defines(tree, qualname):
            return prefix
    return None


def whole_prefix(code: str) -> str:
    """The whole top-level statements of cut-off code."""
    lines = code.split("\n")
    ends = [number for number, line in enumerate(lines) if line.strip() and not _indent(line)]
    for end in ends[: -_MOST_CUTS - 1 : -1]:
        if not _CONTINUES.match(lines[end]) and parse(prefix := "\n".join(lines[:end])) is not None:
            return prefix
    return ""


def _depth(lines: list[str], qualname: str) -> int | None:
    depths = [_indent(line) for line in lines if mentions(line, qualname)]
    return min(depths) if depths else None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
