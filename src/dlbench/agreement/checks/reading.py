"""Which tests did the model write?

Complete ones that compile and call the target, each made to stand alone. What is not taken is said with the reason: a
model that writes no usable test should be seen to do so. A definition of the target itself in the answer is not taken
along, or the test would judge the model's own copy and say the same of every solution.
"""

import ast
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from dlbench.agreement.checks.cases import ASSERTION, Case, find_cases
from dlbench.agreement.checks.check import Check, make_check
from dlbench.agreement.checks.own_names import use_own_names
from dlbench.agreement.checks.slices import find_needed, read_part
from dlbench.agreement.checks.statements import read_statements
from dlbench.agreement.variant import Variant
from dlbench.dataset.target import Function
from dlbench.parsing import parse

_MOST_CHECKS = 60
_CALLED_BY_CLASS = ("forward", "call")
"""Called when the object is, under frameworks' hooks."""


@dataclass
class Reading:
    checks: list[Check] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    """Why, each with the test's name."""


def read_checks(answer: str, qualname: str, variant: Variant | None = None) -> Reading:
    """`variant`: the one that was asked, where it may have shown other names than the project's. Never raises."""
    statements = _flatten(read_statements(answer))
    if variant is not None:
        statements = use_own_names(statements, variant)

    def refuse(case: Case, whole: Sequence[ast.stmt]) -> str:
        return "" if calls_target(whole, qualname) else f"it does not call {qualname}"

    return _collect(statements, set(qualname.split(".")), refuse)


def read_tests(source: str, names: Collection[str]) -> Reading:
    """The tests of these names (`test_x`, `Class.test_x`) in the text of a file, made to stand alone like a model's."""

    return _collect(_flatten(parse(source).body), set(), lambda case, whole: "", names)


def _collect(
    statements: list[ast.stmt],
    own: set[str],
    refuse: Callable[[Case, Sequence[ast.stmt]], str],
    names: Collection[str] | None = None,
) -> Reading:
    """`names`: those of the tests that are wanted, if not all."""
    around = [
        read_part(place, kept)
        for place, one in enumerate(statements)
        if (kept := _keep(one, own)) is not None and not find_cases(one)
    ]
    reading = Reading()
    for place, node in enumerate(statements):
        for case in find_cases(node) if not _defines(node, own) else ():
            if names is not None and case.name not in names:
                continue
            # an assertion sees what stands above it; a test is called when everything is there
            last = place if case.name == ASSERTION else len(statements)
            setup = [part for part in around if part.place < last]
            whole = [*find_needed(case.statements, setup), *case.statements] if not case.refused else []
            refused = case.refused or refuse(case, whole)
            check = make_check(whole) if not refused else None
            if check is None:
                reading.dropped.append(f"{case.name}: {refused or 'it does not compile'}")
            elif len(reading.checks) < _MOST_CHECKS:
                reading.checks.append(check)
    return reading


def _flatten(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """What runs when the file is a program runs like all else."""
    found: list[ast.stmt] = []
    for one in statements:
        match one:
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                found += _flatten(one.body)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="main"))):
                pass  # a runner, which would run all of them
            case _:
                found.append(one)
    return found


def _defines(node: ast.stmt, own: set[str]) -> bool:
    return isinstance(node, Function | ast.ClassDef) and node.name in own


def _keep(node: ast.stmt, own: set[str]) -> ast.stmt | None:
    """A statement without what would bring another target: its definition, or its import from wherever."""
    if _defines(node, own):
        return None
    if isinstance(node, ast.ImportFrom) and any(alias.name in own for alias in node.names):
        names = [alias for alias in node.names if alias.name not in own or alias.asname]
        return ast.copy_location(ast.ImportFrom(node.module, names, node.level), node) if names else None
    return node


def calls_target(statements: Sequence[ast.stmt], qualname: str) -> bool:
    """By its name, or, for what Python and frameworks call themselves, by the name of its class."""
    *owners, name = qualname.split(".")
    names = {name}
    if owners and (name.startswith("__") or name in _CALLED_BY_CLASS):
        names.add(owners[-1])
    for statement in statements:
        for node in ast.walk(statement):
            match node:
                case ast.Name(id=found, ctx=ast.Load()) | ast.Attribute(attr=found) if found in names:
                    return True
    return False
