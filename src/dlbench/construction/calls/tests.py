"""Which tests are written in a file, and what does pytest run and hand over with each?

A test comes with the fixtures that it names, those used by all, what sets its class up, and the values of its
parametrization. What makes tests at run time is not seen.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from dlbench.construction.calls.sources import ClassDef, FunctionDef, Module, Sources, last_name
from dlbench.construction.calls.things import Bound, Lookup

SET_UP = (
    "setUp", "setup", "setup_method", "setUpClass", "setup_class", "tearDown", "teardown_method", "tearDownClass",
)  # fmt: skip


@dataclass
class WrittenTest:
    """`around`: what runs before and after the test."""

    id: str
    bound: Bound
    around: list[Bound] = field(default_factory=list)


@dataclass
class Handed:
    """What pytest binds to the parameters of a function: fixtures, and the expressions of a parametrization."""

    fixtures: dict[str, list[Bound]] = field(default_factory=dict)
    values: dict[str, list[ast.expr]] = field(default_factory=dict)


def find_written(lookup: Lookup, module: Module) -> Iterator[WrittenTest]:
    for name, definitions in module.names.items():
        for definition in definitions[-1:]:
            if isinstance(definition, FunctionDef) and name.startswith("test"):
                yield WrittenTest(f"{module.path}::{name}", Bound(definition), find_set_up(lookup, module, None))
            elif isinstance(definition, ClassDef) and _is_test_class(lookup, definition):
                yield from _find_methods(lookup, definition)


def _find_methods(lookup: Lookup, owner: ClassDef) -> Iterator[WrittenTest]:
    around = find_set_up(lookup, owner.module, owner)
    seen: set[str] = set()
    for one in lookup.order(owner):
        for name, parts in one.members.items():
            if name.startswith("test") and name not in seen and isinstance(parts[-1], FunctionDef):
                seen.add(name)
                test_id = f"{owner.module.path}::{owner.qualname.replace('.', '::')}::{name}"
                yield WrittenTest(test_id, Bound(parts[-1], owner), around)


def _is_test_class(lookup: Lookup, owner: ClassDef) -> bool:
    order = lookup.order(owner)
    bases = {last_name(base) for one in order for base in one.node.bases}
    by_name = owner.node.name.startswith("Test") and not any("__init__" in one.members for one in order)
    return by_name or any(base.endswith("TestCase") for base in bases)


def find_set_up(lookup: Lookup, module: Module, owner: ClassDef | None) -> list[Bound]:
    found: list[Bound] = []
    if owner is not None:
        for name in SET_UP:
            found += [thing for thing in lookup.member(owner, name, owner) if isinstance(thing, Bound)]
    homes = [*find_conftests(lookup.sources, module), module]
    functions = [part for home in homes for parts in home.names.values() for part in parts]
    if owner is not None:
        functions += [part for one in lookup.order(owner) for parts in one.members.values() for part in parts]
    for function in functions:
        if isinstance(function, FunctionDef) and _is_for_all(function):
            found.append(Bound(function, owner if function.owner else None))
    return found


def _is_for_all(function: FunctionDef) -> bool:
    return any(
        isinstance(decorator, ast.Call)
        and last_name(decorator) == "fixture"
        and any(keyword.arg == "autouse" for keyword in decorator.keywords)
        for decorator in function.node.decorator_list
    )


def find_conftests(sources: Sources, module: Module) -> list[Module]:
    """Those of the folders above, outermost first."""
    folders = [str(folder) for folder in reversed(PurePosixPath(module.path).parents)]
    paths = ["conftest.py" if folder == "." else f"{folder}/conftest.py" for folder in folders]
    return [sources.by_path[path] for path in paths if path in sources.by_path]


def read_handed(lookup: Lookup, bound: Bound) -> Handed:
    handed = Handed()
    module = bound.function.module
    decorators = list(bound.function.node.decorator_list)
    for one in lookup.order(bound.receiver) if bound.receiver else []:
        decorators += one.node.decorator_list
    for decorator in decorators:
        if isinstance(decorator, ast.Call):
            _read_decorator(decorator, handed)
    arguments = bound.function.node.args
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
        if argument.arg not in handed.values:
            fixtures = _find_fixture(lookup, module, bound.receiver, argument.arg)
            if fixtures:
                handed.fixtures[argument.arg] = fixtures
    return handed


def _find_fixture(lookup: Lookup, module: Module, owner: ClassDef | None, name: str) -> list[Bound]:
    for one in lookup.order(owner) if owner else []:
        for part in one.members.get(name, []):
            if isinstance(part, FunctionDef) and "fixture" in part.decorators:
                return [Bound(part, owner)]
    for home in [module, *reversed(find_conftests(lookup.sources, module))]:
        for thing in lookup.global_name(home, name):
            if isinstance(thing, Bound) and "fixture" in thing.function.decorators:
                return [thing]
    return []


def _read_decorator(decorator: ast.Call, handed: Handed) -> None:
    given = {keyword.arg: keyword.value for keyword in decorator.keywords}
    match last_name(decorator):
        case "fixture" if "params" in given:
            handed.values.setdefault("request", []).append(given["params"])
        case "parametrize" if decorator.args:
            values = decorator.args[1] if len(decorator.args) > 1 else given.get("argvalues")
            if values is not None:
                _spread(_read_names(decorator.args[0]), values, handed)
        case "product":
            for name, value in given.items():
                handed.values.setdefault(name or "", []).append(value)
        case "parameters" | "named_parameters" | "expand":
            handed.values.setdefault("*", []).extend(decorator.args)


def _read_names(node: ast.expr) -> list[str]:
    match node:
        case ast.Constant(value=str(text)):
            return [name.strip() for name in text.split(",")]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return []


def _spread(names: list[str], values: ast.expr, handed: Handed) -> None:
    """Column by column where the rows are written out, otherwise every name may be any of it."""
    rows = values.elts if isinstance(values, ast.List | ast.Tuple) else [values]
    for row in rows:
        parts = row.args if isinstance(row, ast.Call) and last_name(row) == "param" else None
        parts = row.elts if isinstance(row, ast.Tuple | ast.List) else parts
        for place, name in enumerate(names):
            is_column = parts is not None and len(parts) == len(names) and len(names) > 1
            handed.values.setdefault(name, []).append(parts[place] if parts is not None and is_column else row)
