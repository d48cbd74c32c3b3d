"""Parse and repair candidate code, list what it defines, and detect where it was cut off.

Only the parser runs; code of an answer is never executed. A repair changes only text that does not parse, and counts
only if the result parses: bolder repairs would rewrite wrong answers. A function that was cut off may parse up to the
cut, so whole statements are separated from beginnings: a beginning taken for the whole would be judged as the answer.
"""

import ast
import re
import textwrap
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from threading import Lock

from dlbench.dataset.target import Function, Scope, dotted_name, walk_scope
from dlbench.parsing import parse as make_tree

# `warnings.catch_warnings` swaps state of the whole process; two threads at once would leave it swapped.
_warnings_lock = Lock()
_MAX_CUTS = 300
_MAGIC = re.compile(r"^(?:%%?[A-Za-z_]|![\w./~]|[\w.]+\?{1,2}$)")
_STATEMENT = re.compile(r"\s*(?:def|class|return|import|raise|while|assert)\b|\s*@\w")
CONTINUES = re.compile(r"\s*(?:else|elif|except|finally)\b")


@dataclass(frozen=True)
class Reading:
    """The result of one reader. `code` is None where the text cannot be the answer; `reason` says why."""

    code: str | None
    reason: str
    cut: bool = False


def attempt(code: str) -> ast.Module | Exception:
    """The tree, or the parser's error. Never raises and never prints."""
    with _warnings_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return make_tree(code, feature_version=(3, 11))
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
            return error


def parse(code: str) -> ast.Module | None:
    tree = attempt(code)
    return tree if isinstance(tree, ast.Module) else None


def dedent(code: str) -> str:
    """Move indented statements to the margin; lines inside strings stay, since they are values."""
    tree = attempt("if 1:\n" + code)
    if not isinstance(tree, ast.Module) or not isinstance(tree.body[0], ast.If):
        return textwrap.dedent(code)
    lead = tree.body[0].body[0].col_offset
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr):
            # Line n of the tree is index n - 2 of the code's lines; a string's first line is not inside it.
            inside.update(range(node.lineno - 1, (node.end_lineno or node.lineno) - 1))
    return "\n".join(
        line if number in inside else line[min(lead, indent_of(line)) :] for number, line in enumerate(code.split("\n"))
    )


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def unindent(lines: list[str], indent: int) -> str:
    """The lines without the indentation that they have in common with what is around them."""
    return "\n".join(line[min(indent, indent_of(line)) :] for line in lines)


def repair(code: str) -> str | None:
    """The code itself where it parses, else its mildest repair that does."""
    if parse(code) is not None:
        return code
    layouts = dict.fromkeys(fix(code) for fix in _REPAIRS)
    return next((layout for layout in layouts if parse(layout) is not None), None)


def _without_magics(code: str) -> str:
    """Drop lines for the notebook: `%matplotlib inline`, `%%writefile model.py`, `!pip …`."""
    return "\n".join(line for line in code.split("\n") if not _MAGIC.match(line))


def _dedent_after_first(code: str) -> str:
    """A body that continues the prompt's last line: its first line lost the indentation, the others kept it."""
    first, _, rest = code.lstrip("\n").partition("\n")
    return first.lstrip() + "\n" + dedent(rest)


def _spaces_for_tabs(code: str, width: int) -> str:
    def spaces(line: str) -> str:
        body = line.lstrip(" \t")
        return line[: len(line) - len(body)].expandtabs(width) + body

    return textwrap.dedent("\n".join(spaces(line) for line in code.split("\n")))


_INVISIBLE = {0x00A0: " ", 0x2007: " ", 0x202F: " ", 0x3000: " "} | dict.fromkeys(
    (0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF)
)
"""Spaces that Python does not accept, and characters without a width: copied text and some tokenisers bring them."""

_REPAIRS: list[Callable[[str], str]] = [
    lambda code: code.translate(_INVISIBLE),
    lambda code: dedent(code.translate(_INVISIBLE)),
    _without_magics,
    dedent,
    _dedent_after_first,
    lambda code: _spaces_for_tabs(code, 4),
    lambda code: _spaces_for_tabs(code, 8),
    lambda code: re.sub(r"\\[ \t]+$", r"\\", code, flags=re.MULTILINE),  # spaces after a line's last backslash
]


def is_code(code: str) -> bool:
    """The text parses and does some work: `Sure`, `42`, `Note: this` and `pass` parse too, but answer nothing."""
    tree = parse(code)
    return tree is not None and any(_works(node) for node in tree.body)


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
    """Whether the tree defines the target, also as a method without its class or an inner class without its outer."""
    parts = qualname.split(".")
    return any(_defined(tree, parts[start:]) for start in range(len(parts)))


def _defined(scope: Scope, parts: list[str]) -> bool:
    for node, _ in walk_scope(scope):
        match node:
            case ast.ClassDef() if len(parts) > 1 and node.name == parts[0]:
                if _defined(node, parts[1:]):
                    return True
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if [node.name] == parts:
                return True
            case ast.Assign() if any(isinstance(to, ast.Name) and [to.id] == parts for to in node.targets):
                return True
    return False


def has_target(code: str | None, qualname: str) -> bool:
    tree = parse(code) if code else None
    return tree is not None and defines(tree, qualname)


def is_stub(code: str, qualname: str) -> bool:
    """Every definition of the target is a docstring, `pass`, `...`, or a raise of NotImplementedError."""
    tree = parse(code)
    if tree is None or not defines(tree, qualname):
        return False
    name = qualname.rpartition(".")[2]
    functions = [node for node in ast.walk(tree) if isinstance(node, Function) and node.name == name]
    return bool(functions) and all(map(is_placeholder, functions))


def is_placeholder(node: ast.stmt) -> bool:
    """A header without a body of its own, or a statement of such a body: it stands for code elsewhere."""
    match node:
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body) | ast.ClassDef(body=body):
            return all(map(is_placeholder, body))
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(value=ast.Constant(value=value)) | ast.AnnAssign(value=ast.Constant(value=value)):
            return value is ...
        case ast.Raise(exc=ast.expr() as error):
            return dotted_name(error) == "NotImplementedError"
    return False


def mentions(code: str, qualname: str) -> bool:
    """A definition of the target begins here, whether or not it parses."""
    name = re.escape(qualname.rpartition(".")[2])
    return re.search(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{name}\b", code, re.MULTILINE) is not None


def find_other_names(tree: ast.Module, qualname: str) -> tuple[str, ...]:
    """Functions and methods that the code defines instead of the target, closest name first."""
    if defines(tree, qualname):
        return ()
    names: list[str] = []
    for node, _ in walk_scope(tree):
        if isinstance(node, Function):
            names.append(node.name)
        elif isinstance(node, ast.ClassDef):
            names += [f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, Function)]

    def plain(name: str) -> str:
        return name.rpartition(".")[2].replace("_", "").lower()

    return tuple(
        sorted(dict.fromkeys(names), key=lambda name: -SequenceMatcher(None, plain(name), plain(qualname)).ratio())
    )


def returns(tree: ast.Module) -> bool:
    """The tree has a `return` or `yield` outside any function: it is the body of one."""
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))
    return False


def is_body(code: str) -> bool:
    tree = parse(code)
    return tree is not None and returns(tree)


def calls(code: str, qualname: str) -> bool:
    tree, name = parse(code), qualname.rpartition(".")[2]
    return tree is not None and any(
        isinstance(node, ast.Call) and name in (getattr(node.func, "id", None), getattr(node.func, "attr", None))
        for node in ast.walk(tree)
    )


def breaks_off(code: str) -> bool:
    """The code was cut: the error is at its very end, or in a bracket or string that is open there."""
    error = attempt(code)
    if not isinstance(error, SyntaxError) or error.lineno is None:
        return False
    lines = code.rstrip().split("\n")
    if error.lineno >= len(lines):
        return True
    message = error.msg or ""
    if "unterminated triple-quoted" in message or "was never closed" in message:
        # A statement that begins after the bracket shows that it was forgotten, not cut off.
        return not any(_STATEMENT.match(line) for line in lines[error.lineno :])
    return "expected an indented block" in message and not any(line.strip() for line in lines[error.lineno :])


def prefix_with(code: str, qualname: str) -> str | None:
    """The longest beginning of cut-off code that parses and has the whole target: the cut is after it."""
    depths = [indent_of(line) for line in code.split("\n") if mentions(line, qualname)]
    prefixes = _prefixes(code, min(depths)) if depths else []
    return next((prefix for prefix in prefixes if has_target(prefix, qualname)), None)


def whole_prefix(code: str) -> str:
    """The whole top-level statements of cut-off code."""
    return next((prefix for prefix in _prefixes(code, 0) if parse(prefix) is not None), "")


def _prefixes(code: str, depth: int) -> list[str]:
    """Beginnings that end before a line of at most this indentation, longest first.

    An `else` that is cut off belongs to the statement before it, so that statement is not whole.
    """
    lines = code.split("\n")
    ends = [number for number, line in enumerate(lines) if line.strip() and indent_of(line) <= depth]
    return ["\n".join(lines[:end]) for end in ends[: -_MAX_CUTS - 1 : -1] if not CONTINUES.match(lines[end])]
