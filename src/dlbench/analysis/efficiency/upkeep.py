"""How much is there to keep in order, in what a model wrote and in the reference?

Both are measured as they stand in the module, with all that the answer brought along, and written anew first, without
docstrings and comments: otherwise a project's formatter, or a model that explains every line, would decide.
"""

import ast
from dataclasses import dataclass

from dlbench.analysis.complexity import measure_code
from dlbench.dataset.target import Function, parse_statements, write_code
from dlbench.execution.splice import Spliced

MEASURES = ("lines", "cyclomatic", "cognitive", "index")


@dataclass(frozen=True)
class Upkeep:
    lines: int
    cyclomatic: int
    """1 and every decision, those of helpers too."""
    cognitive: int
    index: float
    """radon's maintainability index: 100 is the best, and 0 the worst."""


def measure_upkeep(spliced: Spliced) -> Upkeep:
    """Of what took the target's place, and of all that came with it."""
    from radon.metrics import mi_visit

    lines = spliced.source.split("\n")
    pieces = ["\n".join(lines[first - 1 : last]) for first, last in spliced.ranges]
    statements = [_strip(node) for piece in pieces for node in parse_statements(piece)]
    texts = [write_code(node) for node in statements]
    measured = [measure_code(text) for text in texts]
    return Upkeep(
        lines=sum(one.loc for one in measured),
        cyclomatic=1 + sum(one.cyclomatic - 1 for one in measured),
        cognitive=sum(one.cognitive for one in measured),
        index=float(mi_visit("\n".join(texts), multi=False)),
    )


def _strip(statement: ast.stmt) -> ast.stmt:
    for node in ast.walk(statement):
        if isinstance(node, Function | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return statement
