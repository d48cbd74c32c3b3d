"""What is a check, and when are two of them the same?

Code that stands alone: what it needs comes first, then the test, called. Two that differ only in the names of their
variables, in a docstring or in what they would say when they fail ask the same question, and asking it twice would
count one idea double; so their names are made from their normal form.
"""

import ast
import hashlib
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from dlbench.dataset.similarity import normal_form
from dlbench.dataset.target import is_prose
from dlbench.errors import DLBenchError
from dlbench.parsing import parse


@dataclass(frozen=True)
class Check:
    id: str
    code: str


def make_check(statements: Sequence[ast.stmt]) -> Check | None:
    """None where the code, put together, does not compile."""
    code = ast.unparse(ast.Module(list(statements), [])) + "\n"
    try:
        compile(code, "<check>", "exec", dont_inherit=True)
        normal = _normalise(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError, DLBenchError):
        return None
    return Check(hashlib.sha256(normal.encode(errors="surrogatepass")).hexdigest()[:16], code)


def _normalise(code: str) -> str:
    tree = parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            node.msg = None
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not is_prose(one) and not isinstance(one, ast.Pass)] or body[:1]  # type: ignore[attr-defined]
    # inside a function every name that the check binds is its own, and is renamed
    return normal_form(f"def check():\n{textwrap.indent(ast.unparse(tree), '    ')}\n")


def count(checks: Sequence[Check]) -> dict[Check, int]:
    """The distinct ones, in the order of their first appearance, with how often each was written."""
    first: dict[str, Check] = {}
    times: dict[str, int] = {}
    for check in checks:
        first.setdefault(check.id, check)
        times[check.id] = times.get(check.id, 0) + 1
    return {check: times[key] for key, check in first.items()}
