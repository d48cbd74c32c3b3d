"""Tests that a model wrote: how they are asked for, taken out of its words, and made to stand alone.

They are called checks here, to keep them apart from the project's own tests, which the choice never sees.

What is a check, and when are two of them the same?

Code that stands alone: what it needs comes first, then the test, called. Two that differ only in the names of their
variables, in a docstring or in what they would say when they fail ask the same question, and asking it twice would
count one idea double; so their names are made from their normal form.

Which tests did the model write?

Complete ones that compile and call the target, each made to stand alone. What is not taken is said with the reason: a
model that writes no usable test should be seen to do so. A definition of the target itself in the answer is not taken
along, or the test would judge the model's own copy and say the same of every solution.
"""

import ast
import hashlib
import textwrap
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from dlbench.agreement.model_tests.cases import (
    ASSERTION,
    Case,
    find_cases,
    find_needed,
    keep_compiling,
    read_part,
    read_statements,
)
from dlbench.agreement.model_tests.rename import CALLED_BY_CLASS, last_name, restore_names
from dlbench.agreement.variants import Variant
from dlbench.dataset.similarity import normal_form
from dlbench.dataset.target import Function, is_prose
from dlbench.errors import DLBenchError
from dlbench.parsing import parse


@dataclass(frozen=True)
class ModelTest:
    id: str
    code: str


def make_model_test(statements: Sequence[ast.stmt]) -> ModelTest | None:
    """None where the code, put together, does not compile."""
    code = ast.unparse(ast.Module(list(statements), [])) + "\n"
    try:
        compile(code, "<check>", "exec", dont_inherit=True)
        normal = _normalise(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError, DLBenchError):
        return None
    return ModelTest(hashlib.sha256(normal.encode(errors="surrogatepass")).hexdigest()[:16], code)


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


def count_distinct(checks: Sequence[ModelTest]) -> dict[ModelTest, int]:
    """The distinct ones, in the order of their first appearance, with how often each was written."""
    first: dict[str, ModelTest] = {}
    times: dict[str, int] = {}
    for check in checks:
        first.setdefault(check.id, check)
        times[check.id] = times.get(check.id, 0) + 1
    return {check: times[key] for key, check in first.items()}


MAX_TESTS = 20
"""Of one answer: five or so are asked for, and every one meets every solution."""
_BROKEN = "it is cut off, or does not compile"
_LOOKERS = {
    "callable", "hasattr", "getattr", "isinstance", "issubclass", "type", "id", "repr", "str", "print", "signature",
}  # fmt: skip
"""Who is given a function and does not call it."""
_LIBRARIES = {
    "numpy", "torch", "jax", "tensorflow", "keras", "scipy", "sklearn", "pandas", "polars", "math", "statistics",
    "random", "operator", "functools", "itertools", "os", "sys", "pytest", "unittest", "torchvision", "transformers",
}  # fmt: skip
"""Whose functions may be called like the target and are not it."""


@dataclass
class ParsedTests:
    checks: list[ModelTest] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    """Why, each with the test's name."""


def read_model_tests(answer: str, qualname: str, variant: Variant | None = None) -> ParsedTests:
    """`variant`: the one that was asked, where it may have shown other names than the project's. Never raises."""
    statements, broken = read_statements(answer)
    statements = _flatten(statements)
    if variant is not None:
        renamed = keep_compiling(restore_names(statements, variant))
        statements, broken = renamed.whole, [*broken, *renamed.broken]

    def refuse(case: Case, whole: Sequence[ast.stmt]) -> str:
        if "." not in qualname and any(_binds(one, qualname) for one in case.statements):
            return f"it defines {qualname} itself"
        return "" if calls_target(whole, qualname, package) else f"it does not call {qualname}"

    package = variant.instance.rpartition("/")[2].partition(".")[0] if variant is not None else ""
    reading = _collect(statements, _Own(qualname, package), refuse)
    reading.dropped[:0] = [f"{name}: {_BROKEN}" for name in broken]
    return reading


def read_project_tests(source: str, names: Collection[str]) -> ParsedTests:
    """The tests of these names (`test_x`, `Class.test_x`) in the text of a file, made to stand alone like a model's."""

    return _collect(_flatten(parse(source).body), _Own(""), lambda case, whole: "", names)


class _Own:
    """The names of the target. A variable that is called like its method is none of them; one like its class is."""

    def __init__(self, qualname: str, package: str = "") -> None:
        self.package = package
        parts = [part for part in qualname.split(".") if part]
        self.defined = set(parts)
        self.assigned = set(parts[:-1] or parts)


def _collect(
    statements: list[ast.stmt],
    own: _Own,
    refuse: Callable[[Case, Sequence[ast.stmt]], str],
    names: Collection[str] | None = None,
) -> ParsedTests:
    """`names`: those of the tests that are wanted, if not all."""
    statements = _Imports(own).visit(ast.Module(statements, [])).body
    around = [
        read_part(place, one) for place, one in enumerate(statements) if not find_cases(one) and not _defines(one, own)
    ]
    reading = ParsedTests()
    for place, node in enumerate(statements):
        for case in find_cases(node) if not _defines(node, own) else ():
            if names is not None and case.name not in names:
                continue
            # an assertion sees what stands above it; a test is called when everything is there
            last = place if case.name == ASSERTION else len(statements)
            setup = [part for part in around if part.place < last]
            whole = [*find_needed(case.statements, setup), *case.statements] if not case.refused else []
            refused = case.refused or refuse(case, whole)
            check = make_model_test(whole) if not refused else None
            if check is None:
                reading.dropped.append(f"{case.name}: {refused or _BROKEN}")
            elif len(reading.checks) < MAX_TESTS:
                reading.checks.append(check)
            else:
                reading.dropped.append(f"{case.name}: {MAX_TESTS} of one answer are taken at most")
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


def _defines(node: ast.stmt, own: _Own) -> bool:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(target, ast.Name) and target.id in own.assigned for target in targets)
    return isinstance(node, Function | ast.ClassDef) and node.name in own.defined


def _binds(statement: ast.stmt, name: str) -> bool:
    """Does the test, anywhere in it, give the name to something of its own?"""
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=found, ctx=ast.Store()) | ast.FunctionDef(name=found) if found == name:
                return True
    return False


class _Imports(ast.NodeTransformer):
    """Takes out what would bring another target, at the margin and inside of tests: its import, from wherever."""

    def __init__(self, own: _Own) -> None:
        self.own = own

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        brings = [alias for alias in node.names if alias.name in self.own.defined and not self._is_foreign(node, alias)]
        if not brings:
            return [node]
        others = [alias for alias in node.names if alias not in brings]
        kept: list[ast.stmt] = [ast.ImportFrom(node.module, others, node.level)] if others else []
        for alias in brings:
            if alias.asname:  # by the name that the test has given it
                kept += parse(f"{alias.asname} = {alias.name}").body
        return [ast.copy_location(one, node) for one in kept or [ast.Pass()]]

    def _is_foreign(self, node: ast.ImportFrom, alias: ast.alias) -> bool:
        """A library's function of that name, under another one: what the target is to be compared with."""
        top = (node.module or "").partition(".")[0]
        return bool(alias.asname) and not node.level and top in _LIBRARIES and top != self.own.package


def calls_target(statements: Sequence[ast.stmt], qualname: str, package: str = "") -> bool:
    """By its name, or, for what Python and frameworks call themselves, by the name of its class. `package`: the
    project's own, of which a function may be called by its path."""
    *owners, name = qualname.split(".")
    if not owners:
        return _uses_function(statements, name, package)
    names = {name}
    if name.startswith("__") or name in CALLED_BY_CLASS:
        names.add(owners[-1])
    for statement in statements:
        for node in ast.walk(statement):
            match node:
                case ast.Name(id=found, ctx=ast.Load()) | ast.Attribute(attr=found) if found in names:
                    return True
    return False


def _uses_function(statements: Sequence[ast.stmt], name: str, package: str) -> bool:
    """By its bare name anywhere but in the hands of who only looks at it, or by the path of a module that is no
    library: `np.mean` is not the project's `mean`, nor is the method of some object."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    looked_at = {
        id(argument)
        for node in nodes
        if isinstance(node, ast.Call) and last_name(node.func) in _LOOKERS
        for argument in node.args
    }
    modules = _find_modules(nodes, package)
    for node in nodes:
        match node:
            case ast.Name(id=found, ctx=ast.Load()) if found == name and id(node) not in looked_at:
                return True
            case ast.Attribute(attr=found) if found == name and _root(node) in modules and id(node) not in looked_at:
                return True
    return False


def _find_modules(nodes: Sequence[ast.AST], package: str) -> set[str]:
    """Names under which the code has imported modules that may be the project's."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                path = f"{node.module}." if isinstance(node, ast.ImportFrom) and node.module else ""
                top = f"{path}{alias.name}".partition(".")[0]
                if top == package or top not in _LIBRARIES:
                    found.add(alias.asname or alias.name.partition(".")[0])
    return found


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
