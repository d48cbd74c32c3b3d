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
from dlbench.agreement.checks.own_names import CALLED_BY_CLASS, use_own_names
from dlbench.agreement.checks.slices import find_needed, read_part
from dlbench.agreement.checks.statements import read_statements
from dlbench.agreement.variant import Variant
from dlbench.dataset.target import Function
from dlbench.parsing import parse

_MOST_CHECKS = 20
"""Of one answer: five or so are asked for, and every one meets every solution."""
_LOOKERS = {
    "callable",
    "hasattr",
    "getattr",
    "isinstance",
    "issubclass",
    "type",
    "id",
    "repr",
    "str",
    "print",
    "signature",
}
"""Who is given a function and does not call it."""


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
        if "." not in qualname and any(_binds(one, qualname) for one in case.statements):
            return f"it defines {qualname} itself"
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
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(target, ast.Name) and target.id in own for target in targets)
    return isinstance(node, Function | ast.ClassDef) and node.name in own


def _binds(statement: ast.stmt, name: str) -> bool:
    """Does the test, anywhere in it, give the name to something of its own?"""
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=found, ctx=ast.Store()) | ast.FunctionDef(name=found) if found == name:
                return True
    return False


def _keep(node: ast.stmt, own: set[str]) -> ast.stmt | None:
    """A statement without what would bring another target: its definition, or its import from wherever."""
    if _defines(node, own):
        return None
    if isinstance(node, ast.ImportFrom) and any(alias.name in own for alias in node.names):
        for alias in node.names:
            if alias.name in own and alias.asname:  # by the name that the test has given it
                return ast.copy_location(parse(f"{alias.asname} = {alias.name}").body[0], node)
        names = [alias for alias in node.names if alias.name not in own]
        return ast.copy_location(ast.ImportFrom(node.module, names, node.level), node) if names else None
    return node


def calls_target(statements: Sequence[ast.stmt], qualname: str) -> bool:
    """By its name, or, for what Python and frameworks call themselves, by the name of its class."""
    *owners, name = qualname.split(".")
    if not owners:
        called = {name, *(other for one in statements if (other := _find_alias(one, name)))}
        return any(_calls_function(node, one) for one in called for part in statements for node in ast.walk(part))
    names = {name}
    if name.startswith("__") or name in CALLED_BY_CLASS:
        names.add(owners[-1])
    for statement in statements:
        for node in ast.walk(statement):
            match node:
                case ast.Name(id=found, ctx=ast.Load()) | ast.Attribute(attr=found) if found in names:
                    return True
    return False


def _find_alias(statement: ast.stmt, name: str) -> str:
    match statement:
        case ast.Assign(targets=[ast.Name(id=other)], value=ast.Name(id=found)) if found == name:
            return other
    return ""


def _calls_function(node: ast.AST, name: str) -> bool:
    """By its bare name, of a module that is named, or handed to another function to call."""
    if not isinstance(node, ast.Call):
        return False
    match node.func:
        case ast.Name(id=found) | ast.Attribute(value=ast.Name(), attr=found) if found == name:
            return True
        case ast.Name(id=found) | ast.Attribute(attr=found) if found in _LOOKERS:
            return False
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return any(isinstance(one, ast.Name) and one.id == name for one in given)
