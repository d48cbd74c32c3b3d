"""Read and change values written as plain data, without making the values: only numbers, texts and bytes are touched.

A value is a tree of nodes as `inside/plain_writer.py` writes it: an atom, or a list that begins with a tag. Bytes are
kept beside the tree, and a node refers to them by place.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np

Node = Any
Array = np.ndarray[Any, Any]
Place = tuple[list[Any], int]
"""A list and an index in it: where a node stands in its tree."""
_ONLY_THERE = ("handle", "own", "local")
"""Tags of things that live in another process."""


@dataclass
class Data:
    """A value as plain data."""

    node: Node
    blobs: list[bytes]

    def copy(self) -> "Data":
        return Data(json.loads(self._text), list(self.blobs))

    def without_clock(self) -> "Data":
        """The time of today in texts, such as when an object was made, would make each recording another one."""
        today = datetime.now(UTC).date()
        days = "|".join(str(today + timedelta(days=more)) for more in (-1, 0, 1))
        text = re.sub(rf'"({days})([ T])\d\d:\d\d:\d\d(\.\d+)?"', r'"2000-01-01\g<2>00:00:00"', self._text)
        return self if text == self._text else Data(json.loads(text), self.blobs)

    @cached_property
    def _text(self) -> str:
        return json.dumps(self.node)

    @cached_property
    def objects(self) -> dict[int, list[Any]]:
        return list_objects(self.node)

    @property
    def is_foreign(self) -> bool:
        """Whether a part of it lives in another process only, so that it cannot be made without that process."""
        return any(f'["{tag}", ' in self._text for tag in _ONLY_THERE)

    @property
    def has_functions(self) -> bool:
        return '["handle", ' in self._text

    @property
    def size(self) -> int:
        return len(self._text) + sum(map(len, self.blobs))

    @cached_property
    def digest(self) -> str:
        total = hashlib.sha256(self._text.encode())
        for blob in self.blobs:
            total.update(hashlib.sha256(blob).digest())
        return total.hexdigest()[:10]


def list_places(holder: list[Any], index: int) -> Iterator[Place]:
    """The place of a node, and of every node below it, each before what is below it."""
    waiting: list[Place] = [(holder, index)]
    while waiting:
        place = waiting.pop()
        yield place
        waiting += reversed(list(_list_children(place[0][place[1]])))


def _list_children(node: Node) -> Iterator[Place]:
    match node:
        case ["new", _, list(content)]:
            yield from _list_contents(content)
        case ["tuple", list(items)] | ["named" | "value", _, list(items)]:
            yield from _list_items(items)
        case ["items", list(items)]:  # of a subclass of list or dict
            yield from _list_items(items)
        case ["pairs", list(pairs)]:
            yield from _list_pairs(pairs)
        case ["method", _, _]:
            yield node, 1
        case ["error", _, list(items), list(pairs)]:
            yield from _list_items(items)
            yield from _list_pairs(pairs)


def _list_contents(content: list[Any]) -> Iterator[Place]:
    match content:
        case ["list" | "set" | "deque", list(items)] | ["objects", _, list(items)]:
            yield from _list_items(items)
        case ["dict", _, _, list(pairs)]:
            yield from _list_pairs(pairs)
        case ["tensor", *_, list(pairs)]:
            yield content, 6
            yield from _list_pairs(pairs)
        case ["random", _, _]:
            yield content, 2
        case ["object", _, _, list(pairs)]:
            yield content, 2
            yield from _list_pairs(pairs)


def _list_items(items: list[Any]) -> Iterator[Place]:
    return ((items, index) for index in range(len(items)))


def _list_pairs(pairs: list[Any]) -> Iterator[Place]:
    return ((pair, index) for pair in pairs if isinstance(pair, list) and len(pair) == 2 for index in (0, 1))


def list_objects(node: Node) -> dict[int, list[Any]]:
    """The contents of the shared objects that a tree describes, by number."""
    nodes = (holder[index] for holder, index in list_places([node], 0))
    found = {}
    for node in nodes:
        match node:
            case ["new", int(number), ["transposed", list(content)]] | ["new", int(number), list(content)]:
                found[number] = content
    return found


_DTYPE = re.compile(r"[<>|=]?[a-zA-Z]+\d*(\[\w+\])?")


def read_array(content: Node, blobs: list[bytes]) -> Array | None:
    """The array in the content of an array, a tensor or a numpy scalar; None if it is none that numpy can read."""
    match content:
        case ["array", str(name), list(shape), int(place)] | ["tensor", _, str(name), list(shape), int(place), *_]:
            return _read(name, shape, blobs[place])
        case ["value", "numpy.scalar", [str(name), ["bytes", int(place)]]]:
            return _read(name, [], blobs[place])
    return None


def _read(name: str, shape: list[int], data: bytes) -> Array | None:
    """None for other types, and for bytes that do not fill the shape."""
    if not _DTYPE.fullmatch(name) or not all(type(size) is int and size >= 0 for size in shape):
        return None
    try:
        dtype = np.dtype(np.uint16 if name == "bfloat16" else name)
        if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(data):
            return None
        array = np.frombuffer(data, dtype)
    except (TypeError, ValueError):
        return None
    if name == "bfloat16":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array.reshape(shape)


def write_array(content: list[Any], array: Array, blobs: list[bytes]) -> None:
    """Give the content of an array or tensor other values, which may have another shape and type."""
    name, shape, place = (1, 2, 3) if content[0] == "array" else (2, 3, 4)
    if content[name] == "bfloat16":
        array = (array.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    else:
        content[name] = array.dtype.str if content[0] == "array" else array.dtype.name
    content[shape] = list(array.shape)
    content[place] = len(blobs)
    blobs.append(np.ascontiguousarray(array).tobytes())
