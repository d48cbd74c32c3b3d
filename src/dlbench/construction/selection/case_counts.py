"""Estimate, without running anything, how many test cases a project has and how many for each tested function.

A test function counts once for each value of its parametrization if the values are written out. A function of the
project counts as tested by every test that names it, directly or through a helper or fixture in the same file.
"""

import ast
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from dlbench.construction.selection.source_layout import Module, members
from dlbench.dataset.target import Function, last_name, root_name

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
        return self.by_function.total() / max(1, len(self.by_function))


def collect_names(packages: Collection[str], modules: Collection[Module]) -> ProjectNames:
    classes: dict[str, frozenset[str]] = {}
    for module in modules:
        for name, methods in module.classes.items():
            classes[name] = classes.get(name, frozenset()) | methods
    functions = frozenset(name for module in modules for name in module.functions)
    return ProjectNames(frozenset(packages), functions, classes)


def count_cases(tree: ast.Module, known: ProjectNames) -> Cases:
    file = _TestFile(tree, known)
    constants = _find_constants(tree)
    found = Cases(0, 0, Counter())
    for test, owner in find_test_functions(tree):
        decorators = [*test.decorator_list, *(owner.decorator_list if owner else [])]
        count = math.prod(_count_parameters(decorator, constants) for decorator in decorators)
        found.functions += 1
        found.cases += count
        for name in file.tested_by(test, owner):
            found.by_function[name] += count
    return found


def find_test_functions(tree: ast.Module) -> Iterator[tuple[Function, ast.ClassDef | None]]:
    """Tests with their classes, by pytest's rules: `test*` functions, and methods of `Test*` and unittest classes."""
    of_unittest: set[str] = set()
    for node in members(tree):
        if isinstance(node, Function) and node.name.startswith("test"):
            yield node, None
        elif isinstance(node, ast.ClassDef):
            bases = {last_name(base) for base in node.bases}
            if bases & of_unittest or any(base.endswith("TestCase") for base in bases):
                of_unittest.add(node.name)
            inner = [method for method in members(node) if isinstance(method, Function)]
            by_name = node.name.startswith("Test") and "__init__" not in {method.name for method in inner}
            if by_name or node.name in of_unittest:
                yield from ((method, node) for method in inner if method.name.startswith("test"))


@dataclass
class _Mentions:
    """The names in one function: possible helpers and fixtures, names of the project, called methods."""

    mentioned: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)


class _TestFile:
    """Resolves the names of a test file: only names imported from the project refer to the project."""

    def __init__(self, tree: ast.Module, known: ProjectNames) -> None:
        self._known = known
        self._imported: dict[str, str] = {}
        self._modules: set[str] = set()
        self._helpers: dict[str, list[Function]] = {}
        """Functions defined in the file that a test may call or use as a fixture."""
        self._find_mentions = cache(self._read_mentions)  # many tests share helpers
        for member in members(tree):
            for function in members(member) if isinstance(member, ast.ClassDef) else [member]:
                if isinstance(function, Function) and not function.name.startswith("test"):
                    self._helpers.setdefault(function.name, []).append(function)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if _top(alias.name) in known.packages:
                        self._modules.add(alias.asname or _top(alias.name))
            elif isinstance(node, ast.ImportFrom) and (node.level or _top(node.module or "") in known.packages):
                for alias in node.names:
                    self._bind(alias.name, alias.asname or alias.name)

    def _bind(self, name: str, local: str) -> None:
        if name == "*":
            self._imported |= {one: one for one in [*self._known.functions, *self._known.classes] if one[0] != "_"}
        elif self._defines(name):
            self._imported[local] = name
        else:
            self._modules.add(local)

    def tested_by(self, test: Function, owner: ast.ClassDef | None) -> set[str]:
        """Names of the project in the test, its set-up methods, and the helpers and fixtures that it uses."""
        waiting = [test]
        if owner:
            waiting += [method for method in members(owner) if isinstance(method, Function) and method.name in _SET_UP]
        seen: set[Function] = set()
        found = _Mentions()
        while waiting:
            function = waiting.pop()
            if function not in seen:
                seen.add(function)
                mentions = self._find_mentions(function)
                found.named |= mentions.named
                found.called |= mentions.called
                for name in mentions.mentioned & self._helpers.keys():
                    waiting += self._helpers[name]
        methods = self._known.classes
        return found.named | {
            f"{name}.{method}" for name in found.named for method in methods.get(name, set()) & found.called
        }

    def _read_mentions(self, function: Function) -> _Mentions:
        found = _Mentions()
        for node in ast.walk(function):
            match node:
                case ast.arg(arg=name):
                    found.mentioned.add(name)
                case ast.Name(id=name):
                    found.mentioned.add(name)
                    if name in self._imported:
                        found.named.add(self._imported[name])
                case ast.Attribute(attr=name):
                    root = root_name(node)
                    if root in ("self", "cls"):
                        found.mentioned.add(name)
                    elif root in self._modules and self._defines(name):
                        found.named.add(name)
                case ast.Call(func=ast.Attribute(attr=name)):
                    found.called.add(name)
        return found

    def _defines(self, name: str) -> bool:
        return name in self._known.functions or name in self._known.classes


def _top(module: str) -> str:
    return module.partition(".")[0]


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
    match last_name(decorator.func):
        case "parametrize":
            return _count_values(arguments[1] if len(arguments) > 1 else given.get("argvalues"), constants)
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
        case ast.Call(func=function, args=arguments) if last_name(function) == "product" and arguments:
            count = math.prod(map(inner, arguments))
        case ast.Call(func=function, args=arguments) if last_name(function) == "zip" and arguments:
            count = min(map(inner, arguments))
        case (
            ast.Call(func=ast.Name(id=name), args=[values, *_]) | ast.Call(func=ast.Attribute(values, name), args=[])
        ) if name in _SAME_COUNT:
            count = inner(values)
    return max(1, min(count, MAX_VALUES))


def _count_range(arguments: list[ast.expr]) -> int:
    try:
        return min(len(range(*(ast.literal_eval(argument) for argument in arguments))), MAX_VALUES)
    except (ValueError, TypeError, SyntaxError, OverflowError, RecursionError, MemoryError):
        return 1
