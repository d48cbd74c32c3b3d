"""Is a definition in an answer the function itself, or does it only point at one?

After the whole function models often show a part of it again: the header over `...`, a stub that raises, the changed
lines between "# ... unchanged ...". Whoever takes the last definition of an answer for the answer loses the function.
Whoever takes a whole one for a part judges an earlier draft: so only dots say that something is left out, in a comment
or as a statement among others, and only a longer definition goes before what looks like a part.
"""

import ast
import io
import re
import tokenize

from dlbench.dataset.target import Function

_DOTS = re.compile(
    r"#\s*(?:\.{3}|…)\s*(?:$|.*(?:\.{3}|…)\s*$|\(?(?:rest|same|existing|remaining|previous|unchanged)\b)", re.IGNORECASE
)


def is_empty(function: Function) -> bool:
    """Nothing but a docstring, `pass` and `...`."""
    return all(isinstance(part, ast.Pass) or _is_constant(part) for part in function.body)


def is_excerpt(function: Function, text: str) -> bool:
    """Only raises NotImplementedError, or leaves lines out and says so. `text`: that which was parsed."""
    said = [part for part in function.body if not _is_constant(part)]
    if len(said) == 1 and isinstance(said[0], ast.Raise) and _names_not_implemented(said[0]):
        return True
    return _says_so(function, text) or any(_has_gap(block) for block in _blocks(function))


def _says_so(function: Function, text: str) -> bool:
    """In a comment of the body: what stands above the header is about something else, and a string is no comment."""
    try:
        found = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return False
    comments = [one for one in found if one.type == tokenize.COMMENT and one.start[0] > function.lineno]
    return any(_DOTS.match(one.string) for one in comments)


def _blocks(function: Function) -> list[list[ast.stmt]]:
    """The function's own block and those inside it, but not those of functions and classes in it."""
    found: list[list[ast.stmt]] = []
    pending: list[ast.AST] = [function]
    while pending:
        node = pending.pop()
        for _, value in ast.iter_fields(node):
            children = [child for child in value if isinstance(child, ast.AST)] if isinstance(value, list) else []
            statements = [child for child in children if isinstance(child, ast.stmt)]
            found.append(statements)
            pending += [child for child in children if not isinstance(child, Function | ast.ClassDef)]
    return found


def _has_gap(block: list[ast.stmt]) -> bool:
    return len(block) > 1 and any(
        isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and part.value.value is ...
        for part in block
    )


def _is_constant(part: ast.stmt) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


def _names_not_implemented(part: ast.Raise) -> bool:
    raised = part.exc.func if isinstance(part.exc, ast.Call) else part.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
