"""Is this text Python, what does it define, and where does it break off?

Only the parser is asked; nothing of an answer is ever run. A function that was cut off may parse up to the cut, so what
is whole and what is only a beginning is told apart here: a beginning taken for the whole would be judged as the answer.

What one way of reading an answer has found.
"""

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from threading import Lock

from dlbench.parsing import parse as make_tree

Function = ast.FunctionDef | ast.AsyncFunctionDef

# `warnings.catch_warnings` swaps state of the whole process; two threads at once would leave it swapped.
_warnings_lock = Lock()

_TOO_MUCH = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
_MOST_CUTS = 300

_STATEMENT = re.compile(r"\s*(?:def|class|return|import|raise|while|assert)\b|\s*@\w")
CONTINUES = re.compile(r"\s*(?:else|elif|except|finally)\b")


def attempt(code: str) -> ast.Module | Exception:
    """The tree, or why there is none. Never raises and never prints."""
    with _warnings_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return make_tree(code, feature_version=(3, 11))
        except _TOO_MUCH as error:
            return error


def parse(code: str) -> ast.Module | None:
    tree = attempt(code)
    return tree if isinstance(tree, ast.Module) else None


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
        line if number in inside else line[min(lead, indent_of(line)) :] for number, line in enumerate(lines)
    )


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


def has_target(code: str, qualname: str) -> bool:
    """The code parses and defines the target."""
    tree = parse(code)
    return tree is not None and defines(tree, qualname)


def is_stub(code: str, qualname: str) -> bool:
    """The code defines the target, and each definition of it is only a header: docstring, `pass`, `...`, or a raise of
    NotImplementedError."""
    tree = parse(code)
    if tree is None or not defines(tree, qualname):
        return False
    name = qualname.rpartition(".")[2]
    functions = [node for node in ast.walk(tree) if isinstance(node, Function) and node.name == name]
    return bool(functions) and all(_is_header(part) for function in functions for part in function.body)


def _is_header(part: ast.stmt) -> bool:
    match part:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
    return False


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


def find_others(tree: ast.Module, qualname: str) -> tuple[str, ...]:
    """What functions the code defines in the target's stead, nearest name first; none where it defines the target."""
    if defines(tree, qualname):
        return ()
    names = [
        name
        for node in _in_scope(tree.body)
        for name in ([node.name] if isinstance(node, Function) else _methods(node))
    ]

    def distance(name: str) -> float:
        return -SequenceMatcher(None, _plain(name.rpartition(".")[2]), _plain(qualname.rpartition(".")[2])).ratio()

    return tuple(sorted(dict.fromkeys(names), key=distance))


def _methods(node: ast.stmt) -> list[str]:
    if not isinstance(node, ast.ClassDef):
        return []
    return [f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, Function)]


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def returns(tree: ast.Module) -> bool:
    """Says `return` or `yield` outside any function: the body of one."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def calls(tree: ast.Module, qualname: str) -> bool:
    name = qualname.rpartition(".")[2]
    return any(
        isinstance(node, ast.Call) and name in (getattr(node.func, "id", None), getattr(node.func, "attr", None))
        for node in ast.walk(tree)
    )


def breaks_off(code: str) -> bool:
    """The code is the beginning of something: it goes wrong at its very end, or in a bracket or string open there."""
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
    """The longest beginning of cut-off code that parses and has the target whole: the cut hit something after it."""
    lines = code.split("\n")
    depth = _depth(lines, qualname)
    if depth is None:
        return None
    ends = [number for number, line in enumerate(lines) if line.strip() and indent_of(line) <= depth]
    for end in ends[: -_MOST_CUTS - 1 : -1]:
        # An `else` that is cut off belongs to the statement before it, so that one is not whole.
        if CONTINUES.match(lines[end]):
            continue
        prefix = "\n".join(lines[:end])
        tree = parse(prefix)
        if tree is not None and defines(tree, qualname):
            return prefix
    return None


def whole_prefix(code: str) -> str:
    """The whole top-level statements of cut-off code."""
    lines = code.split("\n")
    ends = [number for number, line in enumerate(lines) if line.strip() and not indent_of(line)]
    for end in ends[: -_MOST_CUTS - 1 : -1]:
        if not CONTINUES.match(lines[end]) and parse(prefix := "\n".join(lines[:end])) is not None:
            return prefix
    return ""


def _depth(lines: list[str], qualname: str) -> int | None:
    depths = [indent_of(line) for line in lines if mentions(line, qualname)]
    return min(depths) if depths else None


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


@dataclass(frozen=True)
class Reading:
    """`code` is None where there was something to read and it cannot be the answer: `reason` says why."""

    code: str | None
    reason: str
    cut: bool = False
