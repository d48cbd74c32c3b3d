"""Inject bugs in computations: wrong operations and constants, slips, values fixed to an example."""

import ast
import copy
from collections.abc import Iterator

from bug_injection.subject import Subject, replace_node
from dlbench.analysis.bugs.evidence import mentions
from dlbench.dataset.target import Function
from dlbench.validation.mutation_operators import Change, find_changes, find_tensor_changes

Found = Iterator[tuple[str, str, Function | str]]

_OPERATIONS = {
    "operator exchanged": "algebra", "unary minus removed": "algebra", "reduction exchanged": "algebra",
    "method exchanged": "algebra", "axis changed": "shape", "keepdims negated": "shape", "dtype changed": "casting",
    "and/or exchanged": "other", "slice bound shifted": "other", "range bound off by one": "other",
}  # fmt: skip
_SLIPS = ("nothing returned", "condition negated", "comparison turned", "arguments swapped")
_FILLS = ("zeros", "ones", "zeros_like", "ones_like", "new_zeros", "new_ones", "full", "full_like")


def miscompute(subject: Subject) -> Found:
    for name, made in _change(subject, tuple(_OPERATIONS)):
        kind = _OPERATIONS[name]
        yield kind if subject.is_numeric or kind == "other" else "other", name, made


def slip_in_logic(subject: Subject) -> Found:
    for name, made in _change(subject, _SLIPS):
        yield "other", name, made


def _change(subject: Subject, operators: tuple[str, ...]) -> Iterator[tuple[str, Function]]:
    """Changes of the mutation operators in random order, operators in turn."""
    by_operator: dict[str, list[tuple[int, Change]]] = {}
    kept = _headers(subject.function)
    for place, node in enumerate(subject.walk):
        if id(node) in kept:
            continue
        for change in [*find_changes(node), *find_tensor_changes(node)]:
            if change.operator in operators and not _fills(node):
                by_operator.setdefault(change.operator, []).append((place, change))
    for places in by_operator.values():
        subject.rng.shuffle(places)
    names = sorted(by_operator)
    subject.rng.shuffle(names)
    while any(by_operator.values()):
        for name in names:
            if by_operator[name]:
                place, change = by_operator[name].pop()
                made, node = subject.copy_at(place)
                value = copy.deepcopy(change.value)
                if change.field:
                    setattr(node, change.field, value)
                elif isinstance(value, ast.AST):
                    replace_node(made, node, value)
                yield name, made


def _headers(function: Function) -> set[int]:
    """Ids of nodes in the signature, in annotations and in raised errors."""
    raised = [node.exc for node in ast.walk(function) if isinstance(node, ast.Raise) and node.exc]
    annotated = [node.annotation for node in ast.walk(function) if isinstance(node, ast.AnnAssign)]
    return {id(inner) for node in [function.args, *raised, *annotated] for inner in ast.walk(node)}


def _fills(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FILLS


def mistake_constant(subject: Subject) -> Found:
    """Change a constant that the prompt mentions."""
    for literal, made in find_constants(subject):
        if mentions(subject.prompt, literal):
            yield "tensor" if subject.is_numeric and not isinstance(literal, str) else "other", "another constant", made
    for place in subject.shuffled(ast.Call):
        made, node = subject.copy_at(place)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            old = node.func.attr
            if old in _FILLS and "full" not in old:
                node.func.attr = old.replace("zeros", "\0").replace("ones", "zeros").replace("\0", "ones")
                yield "tensor", "filled with another value", made


def find_constants(subject: Subject) -> Iterator[tuple[object, Function]]:
    """Copies with one constant changed, except indices, axes, headers and messages."""
    skipped = _headers(subject.function)
    for node in subject.walk:
        parts = [node.slice] if isinstance(node, ast.Subscript) and not _is_key(node.slice) else []
        parts += [node.value] if isinstance(node, ast.keyword) and node.arg in ("axis", "dim", "axes", "dims") else []
        parts += [node] if isinstance(node, ast.JoinedStr) else []
        skipped |= {id(inner) for part in parts for inner in ast.walk(part)}
    for place in subject.shuffled(ast.Constant):
        if id(subject.walk[place]) in skipped:
            continue
        made, node = subject.copy_at(place)
        match node:
            case ast.Constant(value=bool() | None):
                continue
            case ast.Constant(value=int(number)):
                node.value = subject.rng.choice((number + 1, number + 2, 2 * number + 3))
                yield number, made
            case ast.Constant(value=float(share)):
                node.value = round(share * subject.rng.choice((2.0, 10.0)) + 0.1, 6)
                yield share, made
            case ast.Constant(value=str(word)) if word.strip():
                node.value = subject.rng.choice((f"{word}s", f"{word}_0", word[::-1] + "_"))
                yield word, made


def _is_key(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def follow_example(subject: Subject) -> Found:
    """Replace a parameter by its default or by a size as in an example."""
    arguments = subject.function.args
    pairs = list(zip(reversed(arguments.args), reversed(arguments.defaults), strict=False))
    pairs += [
        (one, value)
        for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if value is not None
    ]
    subject.rng.shuffle(pairs)
    for parameter, value in pairs:
        if isinstance(value, ast.Constant):
            yield from _fix_parameter(subject, parameter.arg, value)
    for name in subject.parameters[1:]:
        if mentions(subject.prompt, name) and name not in {one.arg for one, _ in pairs}:
            yield from _fix_parameter(subject, name, ast.Constant(subject.rng.choice((2, 3, 4))))
    for place in subject.shuffled(ast.Call, ast.Subscript):
        made, node = subject.copy_at(place)
        match node:
            case ast.Call(func=ast.Name(id="len")) | ast.Subscript(value=ast.Attribute(attr="shape"), ctx=ast.Load()):
                number = subject.rng.choice((3, 4, 5))
                yield "other", "a size of the example", replace_node(made, node, ast.Constant(number))


def _fix_parameter(subject: Subject, name: str, value: ast.Constant) -> Found:
    made = copy.deepcopy(subject.function)
    loads = [
        node
        for statement in made.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]
    for node in loads:
        replace_node(made, node, copy.deepcopy(value))
    if loads:
        yield "other", "a parameter is fixed", made
