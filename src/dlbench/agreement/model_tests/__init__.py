"""Extract the tests that a model wrote, each as code that runs alone.

The model's own definition of the target is left out: a test of that copy would give the same result for every
solution. Tests that differ only in variable names, docstrings or messages are the same: ids hash a normal form.
"""

import ast
import hashlib
import textwrap
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from dlbench.agreement.model_tests import cases
from dlbench.agreement.model_tests.rename import CALLED_BY_CLASS, restore_names
from dlbench.agreement.variants import Variant
from dlbench.dataset.similarity import normal_form
from dlbench.dataset.target import Function, is_prose, last_name, root_name
from dlbench.errors import DLBenchError
from dlbench.parsing import parse


@dataclass(frozen=True)
class ModelTest:
    id: str
    code: str


def make_model_test(statements: Sequence[ast.stmt]) -> ModelTest | None:
    """None if the statements together do not compile."""
    code = ast.unparse(ast.Module(list(statements), [])) + "\n"
    try:
        compile(code, "<test>", "exec", dont_inherit=True)
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
    # inside a function, every name that the test binds is local and gets renamed
    return normal_form(f"def check():\n{textwrap.indent(ast.unparse(tree), '    ')}\n")


def count_distinct(tests: Sequence[ModelTest]) -> dict[ModelTest, int]:
    """The distinct tests, in order of first appearance, with how often each was written."""
    times = Counter(test.id for test in tests)
    first = {test.id: test for test in reversed(tests)}
    return {first[key]: count for key, count in times.items()}


MAX_TESTS = 20
"""Of one answer: five or so are requested, and each one runs on every solution."""
_BROKEN = "truncated, or does not compile"
_INSPECTORS = {
    "callable", "hasattr", "getattr", "isinstance", "issubclass", "type", "id", "repr", "str", "print", "signature",
}  # fmt: skip
"""Functions that take a function and do not call it."""
_LIBRARIES = {
    "numpy", "torch", "jax", "tensorflow", "keras", "scipy", "sklearn", "pandas", "polars", "math", "statistics",
    "random", "operator", "functools", "itertools", "os", "sys", "pytest", "unittest", "torchvision", "transformers",
}  # fmt: skip
"""Modules whose functions may share the target's name."""


@dataclass
class ParsedTests:
    tests: list[ModelTest] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)


def read_model_tests(answer: str, qualname: str, variant: Variant | None = None) -> ParsedTests:
    """`variant` is the one the answer is for, since it may show other names than the project's. Never raises."""
    statements, broken = cases.read_statements(answer)
    statements = _flatten(statements)
    package = ""
    if variant is not None:
        package = variant.instance.rpartition("/")[2].partition(".")[0]
        renamed = cases.keep_compiling(restore_names(statements, variant))
        statements, broken = renamed.whole, [*broken, *renamed.broken]
    parsed = _collect(statements, _Target(qualname, package))
    parsed.dropped[:0] = [f"{name}: {_BROKEN}" for name in broken]
    return parsed


def read_project_tests(source: str, names: Collection[str]) -> ParsedTests:
    """The tests of a project's file with these names (`test_x`, `Class.test_x`), as code that runs alone."""
    return _collect(_flatten(parse(source).body), _Target(""), names)


class _Target:
    """The names of the target, if any, and its package. Only an assignment to its class redefines a method."""

    def __init__(self, qualname: str, package: str = "") -> None:
        self.qualname, self.package = qualname, package
        parts = [part for part in qualname.split(".") if part]
        self.defined = set(parts)
        self.assigned = set(parts[:-1] or parts)

    def reject(self, case: cases.Case, whole: Sequence[ast.stmt]) -> str:
        if self.qualname and "." not in self.qualname and any(_binds(one, self.qualname) for one in case.statements):
            return f"defines {self.qualname} itself"
        is_called = not self.qualname or calls_target(whole, self.qualname, self.package)
        return "" if is_called else f"does not call {self.qualname}"


def _collect(statements: list[ast.stmt], target: _Target, names: Collection[str] | None = None) -> ParsedTests:
    """`names`: the tests to read; all if None."""
    statements = _ImportRemover(target).visit(ast.Module(statements, [])).body
    kept = [(place, one) for place, one in enumerate(statements) if not _defines(one, target)]
    by_place = {place: cases.find_cases(one) for place, one in kept}
    context = [cases.read_part(place, one) for place, one in kept if not by_place[place]]
    parsed = ParsedTests()
    for place, found in by_place.items():
        for case in found:
            if names is not None and case.name not in names:
                continue
            # an assertion sees what is above it; a test function runs when the whole module is loaded
            last = place if case.name == cases.ASSERTION else len(statements)
            setup = [part for part in context if part.place < last]
            whole = [*cases.find_needed(case.statements, setup), *case.statements] if not case.rejected else []
            reason = case.rejected or target.reject(case, whole)
            test = make_model_test(whole) if not reason else None
            if test is None:
                parsed.dropped.append(f"{case.name}: {reason or _BROKEN}")
            elif len(parsed.tests) < MAX_TESTS:
                parsed.tests.append(test)
            else:
                parsed.dropped.append(f"{case.name}: above the limit of {MAX_TESTS} tests per answer")
    return parsed


def _flatten(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Move the body of `if __name__ == ...` to module level."""
    found: list[ast.stmt] = []
    for one in statements:
        match one:
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                found += _flatten(one.body)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="main"))):
                pass  # it would run every test
            case _:
                found.append(one)
    return found


def _defines(node: ast.stmt, own: _Target) -> bool:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(isinstance(target, ast.Name) and target.id in own.assigned for target in targets)
    return isinstance(node, Function | ast.ClassDef) and node.name in own.defined


def _binds(statement: ast.stmt, name: str) -> bool:
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=found, ctx=ast.Store()) | ast.FunctionDef(name=found) if found == name:
                return True
    return False


class _ImportRemover(ast.NodeTransformer):
    """Remove imports of the target, at module level and inside tests: the solution is in scope instead."""

    def __init__(self, target: _Target) -> None:
        self.target = target

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        own = [alias for alias in node.names if alias.name in self.target.defined and not self._is_foreign(node, alias)]
        if not own:
            return [node]
        others = [alias for alias in node.names if alias not in own]
        kept: list[ast.stmt] = [ast.ImportFrom(node.module, others, node.level)] if others else []
        for alias in own:
            if alias.asname:
                kept += parse(f"{alias.asname} = {alias.name}").body
        return [ast.copy_location(one, node) for one in kept or [ast.Pass()]]

    def _is_foreign(self, node: ast.ImportFrom, alias: ast.alias) -> bool:
        """A library's function of the same name, imported under another one: the test compares the target with it."""
        top = (node.module or "").partition(".")[0]
        return bool(alias.asname) and not node.level and top in _LIBRARIES and top != self.target.package


def calls_target(statements: Sequence[ast.stmt], qualname: str, package: str) -> bool:
    """By name, by its path in `package` (the project's own), or by its class where Python or a framework calls it."""
    *owners, name = qualname.split(".")
    nodes = [node for statement in statements for node in ast.walk(statement)]
    if owners:
        names = {name, owners[-1]} if name.startswith("__") or name in CALLED_BY_CLASS else {name}
        return any(_find_use(node) in names for node in nodes)
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    inspected = {id(argument) for call in calls if last_name(call.func) in _INSPECTORS for argument in call.args}
    modules = _find_modules(nodes, package)
    used = [node for node in nodes if _find_use(node) == name and id(node) not in inspected]
    # `np.mean` is not the project's `mean`, nor is a method of some object
    return any(isinstance(node, ast.Name) or root_name(node) in modules for node in used)


def _find_use(node: ast.AST) -> str:
    match node:
        case ast.Name(id=found, ctx=ast.Load()) | ast.Attribute(attr=found):
            return found
    return ""


def _find_modules(nodes: Sequence[ast.AST], package: str) -> set[str]:
    """Names of imported modules that may be the project's."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                top = (getattr(node, "module", None) or alias.name).partition(".")[0]
                if top == package or top not in _LIBRARIES:
                    found.add(alias.asname or alias.name.partition(".")[0])
    return found
