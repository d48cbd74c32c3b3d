"""Inject bugs in calls and results: wrong inputs, wrong results, unrequested behaviour."""

import ast
import copy
from collections.abc import Iterator

from bug_injection.subject import Subject, parse_expression, prepend, replace_by_block, replace_node
from dlbench.analysis.bugs.evidence import ARRAYS
from dlbench.dataset.target import Function, dotted_name
from dlbench.parsing import parse
from dlbench.validation.mutants import is_logging

Found = Iterator[tuple[str, str, Function | str]]

_KEPT = {
    "isinstance",
    "len",
    "range",
    "print",
    "super",
    "str",
    "repr",
    "type",
    "hasattr",
    "getattr",
    "enumerate",
    "zip",
}
_OTHERS = {"np": ("torch", "tf"), "numpy": ("torch", "tf"), "torch": ("np", "tf"), "tl": ("torch", "tf")}
_IMPORTS = {"torch": "import torch", "tf": "import tensorflow as tf", "np": "import numpy as np"}


def pass_wrong_input(subject: Subject) -> Found:
    for place in subject.shuffled(ast.Call):
        made, node = subject.copy_at(place)
        if not isinstance(node, ast.Call) or not _is_plain(node):
            continue
        library = dotted_name(node.func).partition(".")[0] in ARRAYS
        variant = subject.rng.choice(("text", "nothing", "nested", "unknown", "outside"))
        first = node.args[0]
        if variant == "text":
            node.args[0] = parse_expression("str(value)", value=first)
            yield "type" if library else "other", "a string as argument", made
        elif variant == "nothing":
            node.args[0] = ast.Constant(None)
            yield "type" if library else "other", "None as argument", made
        elif variant == "nested" and library:
            node.args[0] = parse_expression("value[None, None]", value=first)
            yield "shape", "an argument with extra dimensions", made
        elif variant == "unknown":
            node.keywords.append(
                ast.keyword(subject.rng.choice(("verbose", "inplace", "mode_name")), ast.Constant(True))
            )
            yield "arguments" if library else "other", "an unknown argument", made
        elif variant == "outside":
            for word in node.keywords:
                if word.arg in ("axis", "dim", "dtype", "mode", "order"):
                    word.value = ast.Constant(7 if word.arg in ("axis", "dim") else "unknown")
                    yield "arguments", "an invalid option value", made
                    break


def _is_plain(node: ast.Call) -> bool:
    name = dotted_name(node.func).rpartition(".")[2]
    starred = any(isinstance(one, ast.Starred) for one in node.args)
    return bool(node.args) and not starred and bool(name) and name not in _KEPT and not is_logging(node.func)


def misread(subject: Subject) -> Found:
    """Solve another task."""
    yield from _use_another_library(subject)
    if subject.is_numeric:
        for shape, text in _SHAPES[:: subject.rng.choice((1, -1))]:
            yield from _change_result(subject, "shape", f"the result {shape}", text)
    kind = "functionality" if subject.is_numeric else "other"
    if subject.parameters:
        made = copy.deepcopy(subject.function)
        made.body = [ast.Return(ast.Name(subject.parameters[0], ast.Load()))]
        yield kind, "returns its input", made
    yield from _do_half(subject, kind)
    yield from _call_neighbour(subject, kind)


_SHAPES = [("flat", "value.reshape(-1)"), ("with a dimension more", "value[None]"), ("turned", "value.T")]


def _use_another_library(subject: Subject) -> Found:
    for name, others in _OTHERS.items():
        if not any(isinstance(node, ast.Name) and node.id == name for node in subject.walk):
            continue
        other = subject.rng.choice(others)
        made = copy.deepcopy(subject.function)
        for node in ast.walk(made):
            if isinstance(node, ast.Name) and node.id == name:
                node.id = other
        yield "library", "another framework does the work", prepend(made, _IMPORTS[other])


def _change_result(subject: Subject, kind: str, operator: str, text: str) -> Found:
    places = subject.shuffled(ast.Return)
    if places:
        made, node = subject.copy_at(max(places))
        if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
            node.value = parse_expression(text, value=node.value)
            yield kind, operator, made


def _do_half(subject: Subject, kind: str) -> Found:
    body = subject.function.body
    for end in range(len(body) // 2, 0, -1):
        match body[end - 1]:
            case ast.Assign(targets=[ast.Name(id=name)]) if end < len(body) - 1:
                made = copy.deepcopy(subject.function)
                made.body = [*made.body[:end], ast.Return(ast.Name(name, ast.Load()))]
                yield kind, "only the first half is done", made
                return


def _call_neighbour(subject: Subject, kind: str) -> Found:
    arity = len(subject.parameters)
    if subject.function.args.args[:1] and subject.function.args.args[0].arg in ("self", "cls"):
        return
    for one in subject.module.body:
        if isinstance(one, ast.FunctionDef) and one.name != subject.function.name and len(one.args.args) == arity:
            made = copy.deepcopy(subject.function)
            call = f"{one.name}({', '.join(subject.parameters)})"
            made.body = [ast.Return(parse(call, mode="eval").body)]
            yield kind, "calls another function", made
            return


def do_more(subject: Subject) -> Found:
    """Do something that the task does not ask for."""
    rng, parameters = subject.rng, subject.parameters
    variants = [
        ("rounded", "round(value, 1)" if not subject.is_numeric else "value.round(1)"),
        ("with a second result", "(value, {'status': 'ok'})"),
        ("as a text", "str(value)"),
        ("as a list", "[value]" if not subject.is_numeric else "value.tolist()"),
    ]
    rng.shuffle(variants)
    if parameters:
        name = rng.choice(parameters)
        rejected = rng.choice(
            [f"not isinstance({name}, (set, frozenset))", f"{name} is not None and not callable({name})"]
        )
        check = f"if {rejected}:\n    raise TypeError('{name} is not of a supported type')"
        yield "other", "a check that rejects valid input", prepend(subject.function, check)
    for operator, text in variants[:2]:
        yield from _change_result(subject, "other", f"the result {operator}", text)
    if parameters:
        name = rng.choice(parameters)
        lines = [f"if isinstance({name}, (list, dict)):", f"    {name}.clear()"]
        if subject.is_numeric:
            lines = [f"if hasattr({name}, 'clip'):", f"    {name} = {name}.clip(0, 1)"]
        yield "other", "changes the caller's data", prepend(subject.function, *lines)


def slip(subject: Subject) -> Found:
    """Discard a result, or do a step twice."""
    for place in subject.shuffled(ast.Assign):
        made, node = subject.copy_at(place)
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value) if name in subject.parameters:
                yield "other", "a result is not used", replace_node(made, node, ast.Expr(value))
                break
    for place in subject.shuffled(ast.Assign, ast.AugAssign, ast.Expr):
        made, node = subject.copy_at(place)
        twice = [copy.deepcopy(node), copy.deepcopy(node)]
        match node:
            case ast.AugAssign() | ast.Expr(value=ast.Call()):
                yield "other", "a step is done twice", replace_by_block(made, node, twice)
                break
            case ast.Assign(targets=[ast.Name(id=name)]) if _reads(node, name):
                yield "other", "a step is done twice", replace_by_block(made, node, twice)
                break


def _reads(node: ast.Assign, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node.value))
