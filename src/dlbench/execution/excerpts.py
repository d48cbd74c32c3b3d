"""Is a definition in an answer the function itself, or does it only point at one?

After the whole function models often show a part of it again: the header over `...`, a stub that raises, the changed
lines between "# ... unchanged ...". Whoever takes the last definition of an answer for the answer loses the function.
"""

import ast
import re

from dlbench.dataset.target import Function

_LEFT_OUT = re.compile(
    r"^\s*#\s*(?:\.{3}|…|.*\b(?:unchanged|(?:existing|remaining|same|previous) code"
    r"|(?:rest|remainder) of (?:the )?(?:code|function|method|body|implementation))\b)",
    re.IGNORECASE | re.MULTILINE,
)


def is_empty(function: Function) -> bool:
    """Nothing but a docstring, `pass` and `...`."""
    return all(isinstance(part, ast.Pass) or _is_constant(part) for part in function.body)


def is_excerpt(function: Function, text: str) -> bool:
    """Only raises NotImplementedError, or leaves lines out and says so, with `...` among others or in a comment."""
    said = [part for part in function.body if not _is_constant(part)]
    if len(said) == 1 and isinstance(said[0], ast.Raise) and _names_not_implemented(said[0]):
        return True
    return bool(_LEFT_OUT.search(text)) or any(_has_gap(block) for block in _blocks(function))


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
