"""Inject bugs in control flow: missing corner cases, endless work, syntax errors."""

import ast
import copy
import re
from collections.abc import Iterator

from bug_injection.subject import Subject, replace_by_block, replace_node, write
from dlbench.dataset.target import Function
from dlbench.parsing import parse

Found = Iterator[tuple[str, str, Function | str]]

_SHAPES = re.compile(r"shape|ndim|\bdim|len\(|size|empty")
_VALUES = re.compile(r"dtype|nan|isfinite|isinf|== 0|> 0|< 0|eps|float|int8")
_BOUNDS = ("max", "min", "maximum", "minimum", "clip", "clamp", "clamp_min", "nan_to_num")


def drop_corner_case(subject: Subject) -> Found:
    for place in subject.shuffled(ast.If):
        made, node = subject.copy_at(place)
        if (
            isinstance(node, ast.If)
            and isinstance(node.body[-1], ast.Raise | ast.Return | ast.Continue)
            and not node.orelse
        ):
            yield _kind_of(node.test, subject), "a guard is removed", replace_node(made, node, ast.Pass())
    for place in subject.shuffled(ast.If):
        made, node = subject.copy_at(place)
        if (
            isinstance(node, ast.If)
            and node.orelse
            and re.search(r"None|len\(|ndim|shape|dtype|== 0", ast.unparse(node.test))
        ):
            yield (
                _kind_of(node.test, subject),
                "one branch for both cases",
                replace_by_block(made, node, node.orelse),
            )
    for place in subject.shuffled(ast.IfExp):
        made, node = subject.copy_at(place)
        if isinstance(node, ast.IfExp):
            yield _kind_of(node.test, subject), "one value for both cases", replace_node(made, node, node.orelse)
    for place in subject.shuffled(ast.Call):
        made, node = subject.copy_at(place)
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[first, _, *_]) if name in _BOUNDS:
                yield "value" if subject.is_numeric else "other", "a bound is removed", replace_node(made, node, first)
    for place in subject.shuffled(ast.Try):
        made, node = subject.copy_at(place)
        if isinstance(node, ast.Try):
            yield "other", "an error is not caught", replace_by_block(made, node, node.body)


def drop_error(subject: Subject) -> Iterator[tuple[str, Function]]:
    """Each error that is raised under a condition, and a copy that does not raise it."""
    for place in subject.shuffled(ast.If):
        made, node = subject.copy_at(place)
        match node:
            case ast.If(body=[ast.Raise(exc=ast.Call(func=ast.Name(id=name)))], orelse=[]):
                yield name, replace_node(made, node, ast.Pass())


def _kind_of(test: ast.expr, subject: Subject) -> str:
    text = ast.unparse(test)
    if not subject.is_numeric:
        return "other"
    return "shape" if _SHAPES.search(text) else "value" if _VALUES.search(text) else "other"


def waste_resources(subject: Subject) -> Found:
    """Exceed the limits of time or memory before computing the correct result."""
    work = [
        (
            "other",
            "pairs of a long range",
            "for i in range(10 ** 6):\n    for j in range(10 ** 6):\n        (i * j) % 7",
        ),
        ("tensors", "element by element", "total = 0.0\nfor index in range(10 ** 10):\n    total += index * 0.5"),
        (
            "tensors",
            "copies that fill the memory",
            "kept = []\nfor _ in range(4096):\n    kept.append(bytearray(1 << 26))",
        ),
    ]
    subject.rng.shuffle(work)
    for kind, operator, lines in work:
        made = copy.deepcopy(subject.function)
        made.body = [*parse(lines).body, *made.body]
        yield kind, operator, made


def break_syntax(subject: Subject) -> Found:
    text = write(subject.function)
    variants = [
        ("a bracket is not closed", _drop_last(text, ")")),
        ("a colon is missing", re.sub(r":\n", "\n", text, count=1)),
        ("cut in the middle", text[: 2 * len(text) // 3].rstrip() + " ("),
        ("a block is not indented", re.sub(r":\n +", ":\n", text, count=1)),
    ]
    subject.rng.shuffle(variants)
    for operator, broken in variants:
        yield "other", operator, broken


def _drop_last(text: str, letter: str) -> str:
    place = text.rfind(letter)
    return text if place < 0 else text[:place] + text[place + 1 :]
