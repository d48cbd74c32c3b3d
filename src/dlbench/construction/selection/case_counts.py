"""Estimate, without running anything, how many test cases a project has and how many for each tested function.

A test function counts once for each value of its parametrization if the values are written out. A function of the
project counts as tested by every test that names it, directly or through a helper or fixture in the same file. With too
few cases for a function, wrong answers pass.
"""

import ast
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from dlbench.construction.selection.source_layout import Function, Module, members

MAX_VALUES = 1000
"""Upper bound for one parametrization, against claims of millions of cases."""
_SET_UP = frozenset({"setUp", "setup", "setup_method", "setUpClass", "setup_class"})
_SAME_COUNT = frozenset({"list", "tuple", "sorted", "set", "reversed", "enumerate", "keys", "values", "items"})


@dataclass(frozen=True)
class ProjectNames:
    """The names that the project defines; methods by class."""

    packages: frozenset[str]
    functions: frozenset[str]
    classes: dict[str, frozenset[str]]


@dataclass
class Cases:
    """`by_function`: number of cases that name each function, method or class of the project."""

    functions: int
    cases: int
    by_function: Counter[str]

    @property
    def ratio(self) -> float:
        return self.by_function.total() / len(self.by_function) if self.by_function else 0.0


def collect_names(packages: Collection[str], modules: Collection[Module]) -> ProjectNames:
    classes: dict[str, frozenset[str]] = {}
    for module in modules:
        for name, methods in module.classes.items():
            classes[name] = classes.get(name, frozenset()) | methods
    functions = frozenset(name for module in modules for name in module.functions)
    return ProjectNames(frozenset(packages), functions, classes)


def count_cases(tree: ast.Module, known: ProjectNames) -> Cases:
    """Count the cases of one test file."""
    names = _TestFileNames(tree, known)
    helpers = _find_helpers(tree)
    constants = _find_constants(tree)
    found = Cases(0, 0, Counter())
    for test, owner in find_test_functions(tree):
        decorators = [*test.decorator_list, *(owner.decorator_list if owner else [])]
        count = math.prod(_count_parameters(decorator, constants) for decorator in decorators)
        found.functions += 1
        found.cases += count
        for name in names.tested_by(_collect_code(test, owner, helpers, names)):
            found.by_function[name] += count
    return found


def find_test_functions(tree: ast.Module) -> Iterator[tuple[Function, ast.ClassDef | None]]:
    """Tests with their classes, by pytest's rules: `test*` functions, and methods of `Test*` and unittest classes."""
    of_unittest: set[str] = set()
    for node in members(tree):
        if isinstance(node, Function) and node.name.startswith("test"):
            yield node, None
        elif isinstance(node, ast.ClassDef):
            bases = {_last_name(base) for base in node.bases}
            if bases & of_unittest or any(base.endswith("TestCase") for base in bases):
                of_unittest.add(node.name)
            inner = [method for method in members(node) if isinstance(method, Function)]
            by_name = node.name.startswith("Test") and "__init__" not in {method.name for method in inner}
            if by_name or node.name in of_unittest:
                yield from ((method, node) for method in inner if method.name.startswith("test"))


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _find_helpers(tree: ast.Module) -> dict[str, list[Function]]:
    """Functions defined in the file that a test may call or use as a fixture."""
    helpers: dict[str, list[Function]] = {}
    for node in members(tree):
        inner = members(node) if isinstance(node, ast.ClassDef) else [node]
        for function in inner:
            if isinstance(function, Function) and not function.name.startswith("test"):
                helpers.setdefault(function.name, []).append(function)
    return helpers


def _collect_code(
    test: Function, owner: ast.ClassDef | None, helpers: Mapping[str, list[Function]], names: "_TestFileNames"
) -> list[Function]:
    """The test, its set-up methods, and the helpers and fixtures that it uses."""
    waiting: list[Function] = [test]
    if owner:
        waiting += [method for method in members(owner) if isinstance(method, Function) and method.name in _SET_UP]
    seen: dict[int, Function] = {}
    while waiting:
        function = waiting.pop()
        if id(function) in seen:
            continue
        seen[id(function)] = function
        for name in names.read(function).mentioned & helpers.keys():
            waiting += helpers[name]
    return list(seen.values())


@dataclass
class _Mentions:
    """The names in one function: possible helpers and fixtures, names of the project, called methods."""

    mentioned: set[str]
    named: set[str]
    called: set[str]


class _TestFileNames:
    """Resolves the names of a test file: only names imported from the project refer to the project."""

    def __init__(self, tree: ast.Module, known: ProjectNames) -> None:
        self._known = known
        self._imported: dict[str, str] = {}
        self._modules: set[str] = set()
        self._read: dict[int, _Mentions] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.partition(".")[0] in known.packages:
                        self._modules.add(alias.asname or alias.name.partition(".")[0])
            elif isinstance(node, ast.ImportFrom) and self._is_ours(node):
                for alias in node.names:
                    self._bind(alias.name, alias.asname or alias.name)

    def _is_ours(self, node: ast.ImportFrom) -> bool:
        return bool(node.level) or (node.module or "").partition(".")[0] in self._known.packages

    def _bind(self, name: str, local: str) -> None:
        if name == "*":
            self._imported |= {one: one for one in [*self._known.functions, *self._known.classes] if one[0] != "_"}
        elif self._defines(name):
            self._imported[local] = name
        else:
            self._modules.add(local)

    def tested_by(self, functions: Collection[Function]) -> set[str]:
        mentions = [self.read(function) for function in functions]
        named = {name for part in mentions for name in part.named}
        called = {name for part in mentions for name in part.called}
        return named | {
            f"{name}.{method}" for name in named for method in self._known.classes.get(name, set()) & called
        }

    def read(self, function: Function) -> _Mentions:
        """Cached, since many tests share helpers."""
        if id(function) not in self._read:
            self._read[id(function)] = self._find_mentions(function)
        return self._read[id(function)]

    def _find_mentions(self, function: Function) -> _Mentions:
        found = _Mentions(set(), set(), set())
        for node in ast.walk(function):
            match node:
                case ast.arg(arg=name):
                    found.mentioned.add(name)
                case ast.Name(id=name):
                    found.mentioned.add(name)
                    if name in self._imported:
                        found.named.add(self._imported[name])
                case ast.Attribute(attr=name):
                    root = self._root(node)
                    if root in ("self", "cls"):
                        found.mentioned.add(name)
                    elif root in self._modules and self._defines(name):
                        found.named.add(name)
                case ast.Call(func=ast.Attribute(attr=name)):
                    found.called.add(name)
        return found

    def _defines(self, name: str) -> bool:
        return name in self._known.functions or name in self._known.classes

    @staticmethod
    def _root(node: ast.Attribute) -> str:
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            inner = inner.value
        return inner.id if isinstance(inner, ast.Name) else ""


def _find_constants(tree: ast.Module) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for node in members(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found[name] = value
    return found


def _count_parameters(decorator: ast.expr, constants: Mapping[str, ast.expr]) -> int:
    """How many cases a decorator makes out of one test; 1 if the values are not written out."""
    if not isinstance(decorator, ast.Call):
        return 1
    arguments = decorator.args
    given = {keyword.arg: keyword.value for keyword in decorator.keywords}
    match _last_name(decorator.func):
        case "parametrize":
            values = arguments[1] if len(arguments) > 1 else given.get("argvalues")
            return _count_values(values, constants)
        case "parameters" | "named_parameters" | "parameterized" if len(arguments) != 1:
            return max(len(arguments), 1)
        case "parameters" | "named_parameters" if isinstance(arguments[0], ast.Tuple | ast.Dict):
            return 1  # In absl, one tuple is one case, and one list is a list of cases.
        case "parameters" | "named_parameters" | "parameterized" | "expand":
            return _count_values(arguments[0] if arguments else None, constants)
        case "product" if given and not arguments:
            return min(math.prod(_count_values(value, constants) for value in given.values()), MAX_VALUES)
    return 1


def _count_values(node: ast.expr | None, constants: Mapping[str, ast.expr], depth: int = 0) -> int:
    """Number of values of an expression, at least 1: with no values pytest runs one skipped case."""

    def inner(value: ast.expr) -> int:
        return _count_values(value, constants, depth + 1)

    count = 1
    if depth > 10:  # constants that refer to each other
        return count
    match node:
        case ast.List(elts=values) | ast.Tuple(elts=values) | ast.Set(elts=values):
            count = sum(inner(value.value) if isinstance(value, ast.Starred) else 1 for value in values)
        case ast.Dict(keys=keys):
            count = len(keys)
        case ast.Name(id=name) if name in constants:
            count = inner(constants[name])
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            count = inner(left) + inner(right)
        case ast.ListComp(generators=[ast.comprehension(iter=values, ifs=[])]):
            count = inner(values)
        case ast.Call(func=ast.Name(id="range"), args=arguments):
            count = _count_range(arguments)
        case ast.Call(func=function, args=arguments) if _last_name(function) == "product" and arguments:
            count = math.prod(map(inner, arguments))
        case ast.Call(func=function, args=arguments) if _last_name(function) == "zip" and arguments:
            count = min(map(inner, arguments))
        case ast.Call(func=ast.Name(id=name), args=[values, *_]) if name in _SAME_COUNT:
            count = inner(values)
        case ast.Call(func=ast.Attribute(value=values, attr=name), args=[]) if name in _SAME_COUNT:
            count = inner(values)
    return max(1, min(count, MAX_VALUES))


def _count_range(arguments: list[ast.expr]) -> int:
    try:
        return min(len(range(*(ast.literal_eval(argument) for argument in arguments))), MAX_VALUES)
    except (ValueError, TypeError, SyntaxError, OverflowError, RecursionError, MemoryError):
        return 1
