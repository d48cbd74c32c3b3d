"""Compare what a candidate answered with what the reference answered, as plain data and outside of their processes.

Compared are structure, types, shapes, dtypes, values, exceptions by type, changes of arguments, and gradients. Numbers
of one kind are equal across Python, numpy and torch scalars, and whether a result shares memory with an argument does
not count: a description rarely says so. The candidate's data may have any form: what cannot be read is a difference.
"""

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dlbench.execution.plus.nodes import Array, Data, Node, list_objects, read_array

_TOLERANCES = {
    "float16": (2e-2, 2e-3),
    "bfloat16": (4e-2, 1e-2),
    "float32": (1e-4, 2e-6),
    "float64": (1e-6, 1e-9),
    "complex64": (1e-4, 2e-6),
    "complex128": (1e-6, 1e-9),
}
"""Relative to the element, and to the largest number of the answer and the arguments."""
_WIDEST = 0.1
"""No tolerance exceeds this share."""
_CLOCK = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?")
_CACHES = re.compile(r"cache|memo", re.IGNORECASE)
_STATE = ("_parameters", "_buffers", "_modules")
_LONGEST = 60
Beside = tuple[list[bytes], list[bytes]]
"""The bytes that nodes of the expected and of the found answer refer to."""


@dataclass(frozen=True)
class Answer:
    """What a process answered to one call."""

    data: Data
    """A tuple: "returned" or "raised", the value, whether random numbers were drawn, the warnings."""
    changed: list[Any] = field(default_factory=list)
    """Arguments with other content than before: number and content."""
    gradients: "dict[int, Answer]" = field(default_factory=dict)
    """With respect to arguments, by number; an answer without node is zero."""
    failure: str = ""
    """Why there is no answer."""
    has_ended: bool = False
    """Whether the process ended or did not answer in time."""
    seconds: float = 0.0

    @classmethod
    def none(cls, failure: str = "it was not asked", *, has_ended: bool = False) -> "Answer":
        what = "the process ended or did not answer in time" if has_ended else failure
        return cls(Data(None, []), failure=what[:500], has_ended=has_ended)

    @cached_property
    def objects(self) -> dict[int, list[Any]]:
        """The contents of the new objects, by number."""
        changed = [["new", -1, content] for _, content in self.changed]
        found = list_objects(["tuple", [self.data.node, *changed]])
        return {number: content for number, content in found.items() if number >= 0}

    @property
    def parts(self) -> list[Any]:
        """The parts of the tuple; empty if the process sent something else."""
        match self.data.node:
            case ["tuple", ["returned" | "raised" as kind, value, bool(drawn), _]]:
                return [kind, value, drawn]
        return []


class Difference(Exception):
    """Where and how two answers differ."""


def find_difference(call: Data, expected: Answer, found: Answer, slack: float = 1.0, prompt: str = "") -> str:
    """How an answer differs from the reference's, or "". `slack`: multiplies the tolerances. `prompt`: private
    attributes of the target's own class count only if it names them."""
    try:
        _Comparison(call, expected, found, slack, prompt).run()
    except Difference as error:
        return str(error)[:500]
    except Exception as error:  # a candidate chooses the data, and so what fails on it
        return f"an answer of another form ({type(error).__name__})"
    return ""


def measure_deviation(call: Data, expected: Answer, found: Answer) -> float:
    """The largest deviation of a number in units of its tolerance; infinite if more than numbers and their precision
    differ."""
    comparison = _Comparison(call, expected, found, np.inf, "")
    try:
        comparison.run()
    except Exception:
        return np.inf
    return comparison.worst


class _Side:
    """One answer with the shared objects that its nodes refer to."""

    def __init__(self, call: Data, answer: Answer) -> None:
        self.call, self.answer = call, answer
        self.changed = {number: content for number, content in answer.changed if number in call.objects}

    def resolve(self, node: Node, beside: list[bytes]) -> tuple[Node, list[bytes], int]:
        """The node, or the content of the object it stands for; the bytes beside it; the object's number."""
        match node:
            case ["new", int(number), list(content)]:
                return content, beside, number
            case ["ref", int(number)] if number in self.changed:
                return self.changed[number], self.answer.data.blobs, number
            case ["ref", int(number)] if number in self.call.objects:
                return self.call.objects[number], self.call.blobs, number
            case ["ref", int(number)]:
                return self.answer.objects[number], self.answer.data.blobs, number
            case ["value", "torch.Size", [["new", _, ["list", sizes]]]]:
                return ["tuple", sizes], beside, -1
        return node, beside, -1


class _Comparison:
    def __init__(self, call: Data, expected: Answer, found: Answer, slack: float, prompt: str) -> None:
        self.call, self.expected, self.found = call, expected, found
        self.slack, self.prompt = slack, prompt
        self.worst = 0.0
        self.seen: set[tuple[int, int]] = set()

    @cached_property
    def scale(self) -> float:
        """The largest number of the arguments, at most 1: what rounding errors of a result are relative to."""
        contents = self.call.objects.values()
        arrays = [array for content in contents if (array := read_array(content, self.call.blobs)) is not None]
        sizes = [float(np.abs(array[np.isfinite(array)]).max(initial=0)) for array in arrays if array.dtype.kind == "f"]
        return min(1.0, max(sizes)) if sizes and max(sizes) > 0 else 1.0

    @cached_property
    def own_class(self) -> Node:
        """The class of the object whose method is called."""
        match self.call.node:
            case ["tuple", [["tuple", [["new", 0, ["object", name, *_]], *_]], _]]:
                return name
        return None

    def run(self) -> None:
        if self.found.failure or not self.found.parts:
            raise Difference(self.found.failure or "an answer of another form")
        is_same = self.expected.data.digest == self.found.data.digest
        self.sides = _Side(self.call, self.expected), _Side(self.call, self.found)
        (kind, value, _), (other_kind, other, _) = self.expected.parts, self.found.parts
        if kind != other_kind:
            raised = other if other_kind == "raised" else value
            raise Difference(f"it {other_kind} instead of {kind} ({_name(raised)})")
        if kind == "raised":
            _require_same(_name(value), _name(other), "the exception")
            return
        beside = self.expected.data.blobs, self.found.data.blobs
        if not is_same or self.expected.changed or self.found.changed:
            self.compare(value, other, beside, "the result")
            for number in self.sides[0].changed.keys() | self.sides[1].changed.keys():
                self.compare(["ref", number], ["ref", number], beside, "an argument after the call")
        for number, gradient in self.expected.gradients.items():
            self.compare_gradient(gradient, self.found.gradients.get(number))

    def compare_gradient(self, expected: Answer, found: Answer | None) -> None:
        if found is None:
            raise Difference("the result is not differentiable as the reference's")
        arrays = [_read_gradient(one) for one in (expected, found)]
        known = next((array for array in arrays if array is not None), None)
        if known is None:
            return
        one, other = (np.zeros_like(known) if array is None else array for array in arrays)
        _require_same(one.shape, other.shape, "shape of a gradient")
        self.compare_floats(one, other, known.dtype.name, "a gradient")

    def compare(self, expected: Node, found: Node, beside: Beside, where: str) -> None:
        if type(expected) is type(found) and not isinstance(expected, list) and expected == found:
            return
        one, blobs, number = self.sides[0].resolve(expected, beside[0])
        other, other_blobs, other_number = self.sides[1].resolve(found, beside[1])
        if number >= 0 and other_number >= 0:
            if (number, other_number) in self.seen:
                return
            self.seen.add((number, other_number))
        beside = blobs, other_blobs
        array, other_array = _read_numbers(one, blobs), _read_numbers(other, other_blobs)
        if array is not None and other_array is not None:
            self.compare_arrays(one, array, other, other_array, where)
            if _kind(one) == "tensor":
                self.compare(one[6], other[6], beside, f"gradient of {where}")
        elif not isinstance(one, list) or not isinstance(other, list):
            if type(one) is not type(other) or one != other:
                raise Difference(f"{where}: {_shorten(other)} instead of {_shorten(one)}")
        else:
            _require_same(_kind(one), _kind(other), where)
            self.compare_contents(one, other, beside, where)

    def compare_contents(self, one: list[Any], other: list[Any], beside: Beside, where: str) -> None:
        match one, other:
            case (["list" | "deque" | "tuple" | "items", list(items)], [_, list(others)]):
                self.compare_items(items, others, beside, where)
            case (["set", list(items)], [_, list(others)]) | (
                ["value", "builtins.frozenset", [["new", _, ["list", list(items)]]]],
                ["value", "builtins.frozenset", [["new", _, ["list", list(others)]]]],
            ):
                ours = sorted(items, key=lambda item: _spell(item, beside[0]))
                theirs = sorted(others, key=lambda item: _spell(item, beside[1]))
                self.compare_items(ours, theirs, beside, where)
            case (["objects", list(shape), list(items)], [_, other_shape, list(others)]):
                _require_same(shape, other_shape, f"shape of {where}")
                self.compare_items(items, others, beside, where)
            case (["named" | "value", name, list(items)], [_, other_name, list(others)]):
                _require_same(name, other_name, where)
                self.compare_items(items, others, beside, where)
            case (["dict", name, _, list(pairs)], [_, other_name, _, list(others)]):
                _require_same(name, other_name, where)
                self.compare_pairs(pairs, others, beside, where)
            case (["pairs", list(pairs)], [_, list(others)]):
                self.compare_pairs(pairs, others, beside, where)
            case (["object", name, items, list(pairs)], [_, other_name, other_items, list(others)]):
                _require_same(name, other_name, where)
                self.compare(items, other_items, beside, where)
                is_own = name == self.own_class
                kept = [[pair for pair in each if self.counts(pair, is_own)] for each in (pairs, others)]
                self.compare_pairs(kept[0], kept[1], beside, where)
            case (["bytes" | "pickled", int(place)], [_, int(other_place)]):
                _require_same(beside[0][place], beside[1][other_place], where)
            case (["array", *head, int(place)], [_, *other_head, int(other_place)]):  # of a type that numpy lacks here
                _require_same(head, other_head, where)
                _require_same(beside[0][place], beside[1][other_place], where)
            case (
                ["tensor", _, *head, int(place), _, _, _, _, _],
                [_, _, *other_head, int(other_place), _, _, _, _, _],
            ):
                _require_same(head, other_head, where)
                _require_same(beside[0][place], beside[1][other_place], where)
            case (["error", name, *_], [_, other_name, *_]):
                _require_same(name, other_name, where)
            case _:
                _require_same(one, other, where)

    def counts(self, pair: list[Any], is_own: bool) -> bool:
        """Whether an attribute is compared. `is_own`: of the class whose method the target is, which may keep what it
        likes in private attributes."""
        name, value = pair
        if isinstance(value, str) and _CLOCK.fullmatch(value):  # when something was done differs from run to run
            return False
        text = str(name)
        if not text.startswith("_") or text in _STATE:
            return True
        if is_own:
            return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", self.prompt) is not None
        return not _CACHES.search(text)

    def compare_items(self, items: list[Any], others: list[Any], beside: Beside, where: str) -> None:
        _require_same(len(items), len(others), f"number of items of {where}")
        for place, (item, other) in enumerate(zip(items, others, strict=True)):
            self.compare(item, other, beside, f"{where}[{place}]")

    def compare_pairs(self, pairs: list[Any], others: list[Any], beside: Beside, where: str) -> None:
        """Keys are found by what they spell, whatever the order."""
        known = {_spell(key, beside[1]): value for key, value in others}
        named = {_spell(key, beside[0]): value for key, value in pairs}
        if named.keys() != known.keys():
            raise Difference(f"{where}: keys differ in {_shorten(', '.join(sorted(named.keys() ^ known.keys())))}")
        for key, value in named.items():
            self.compare(value, known[key], beside, f"{where}[{key[:_LONGEST]}]")

    def compare_arrays(self, one: Node, array: Array, other: Node, found: Array, where: str) -> None:
        kinds = [_kind(node) if _kind(node) in ("array", "tensor") else "a number" for node in (one, other)]
        _require_same(kinds[0], kinds[1], where)
        _require_same(array.shape, found.shape, f"shape of {where}")
        if kinds[0] != "a number":
            place = 1 if kinds[0] == "array" else 2
            if not (self.slack == np.inf and array.dtype.kind == found.dtype.kind == "f"):
                _require_same(one[place], other[place], f"dtype of {where}")
        elif _sort(array) != _sort(found):
            raise Difference(f"{where}: {_shorten(other)} instead of {_shorten(one)}")
        name = "bfloat16" if kinds[0] == "tensor" and one[2] == "bfloat16" else array.dtype.name
        if array.dtype.kind in "fc" or found.dtype.kind in "fc":
            self.compare_floats(array, found, name if array.dtype.kind in "fc" else found.dtype.name, where)
        elif not np.array_equal(array, found):
            raise Difference(f"{where}: {_first_values(array, found)}")

    def compare_floats(self, array: Array, found: Array, name: str, where: str) -> None:
        relative, absolute = _TOLERANCES.get(name, _TOLERANCES["float64"])
        wide = np.complex128 if array.dtype.kind == "c" else np.float64
        array, found = array.astype(wide), found.astype(wide)
        finite = np.isfinite(array)
        same = finite | (array == found) | (np.isnan(array) & np.isnan(found))
        if not (same.all() and np.isfinite(found[finite]).all()):
            raise Difference(f"{where}: {_first_values(array, found)}")
        size, apart = np.abs(array[finite]), np.abs(array[finite] - found[finite])
        if not size.size:
            return
        with np.errstate(all="ignore"):
            largest = max(self.scale, float(size.max()))
            self.worst = max(self.worst, float((apart / (relative * size + absolute * largest)).max()))
            share, part = (min(self.slack * one, _WIDEST) for one in (relative, absolute))
            holds = self.slack == np.inf or bool((apart <= share * size + part * largest).all())
        if not holds:
            raise Difference(f"{where}: {_first_values(array, found)}")


def _read_numbers(node: Node, blobs: list[bytes]) -> Array | None:
    if isinstance(node, bool | float):
        return np.asarray(node)
    if isinstance(node, int):
        return np.asarray(node) if abs(node) < 1 << 63 else None
    return read_array(node, blobs) if isinstance(node, list) else None


def _read_gradient(answer: Answer) -> Array | None:
    """None is a gradient of zeros."""
    if answer.data.node is None:
        return None
    match answer.data.node:
        case ["new", _, list(content)] if (array := read_array(content, answer.data.blobs)) is not None:
            return array
    raise Difference("a gradient of another form")


def _spell(node: Node, blobs: list[bytes]) -> str:
    """A text that is equal for equal keys of dictionaries and items of sets."""
    if isinstance(node, list) and (array := read_array(node, blobs)) is not None and array.shape == ():
        node = array.item()
    match node:
        case bool() | int() | float() | complex():
            return repr(complex(node))
        case ["tuple", list(items)]:
            return f"({', '.join(_spell(item, blobs) for item in items)})"
        case ["bytes", int(place)]:
            return repr(blobs[place])
    return repr(node)


def _sort(array: Array) -> str:
    return {"b": "flag", "c": "complex", "U": "text", "S": "bytes"}.get(array.dtype.kind, "number")


def _require_same(expected: object, found: object, where: str) -> None:
    if expected != found:
        raise Difference(f"{where}: {_shorten(found)} instead of {_shorten(expected)}")


def _first_values(array: Array, found: Array) -> str:
    """The elements that differ most."""
    if array.dtype.kind not in "fiuc":
        return "other values"
    with np.errstate(all="ignore"):
        apart = np.abs(np.nan_to_num(array.astype(complex)) - np.nan_to_num(found.astype(complex)))
        apart = np.where(np.isnan(array) != np.isnan(found), np.inf, apart) if array.dtype.kind in "fc" else apart
    place = np.unravel_index(int(np.argmax(apart)), array.shape) if array.ndim else ()
    at = f" at {tuple(map(int, place))}" if array.ndim else ""
    return f"{found[place]:.6g} instead of {array[place]:.6g}{at}"


def _kind(node: Node) -> str:
    """The tag of a node, or the name of what it is."""
    if not isinstance(node, list) or not node:
        return type(node).__name__
    return str(node[1]) if node[0] in ("dict", "value") else str(node[0])


def _name(raised: Node) -> str:
    match raised:
        case ["error", [_, str(name)], *_] | ["unsendable", str(name)]:
            return name[:_LONGEST]
    return "an exception"


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
