"""Make inputs of any size from a recorded call: sizes that are equal in all recorded calls grow together.

A size is an axis of an array, the length of a list, the number of words of a text, or a number that equals one of
these. Growing repeats items in a random order; sorted values go on rising; other numbers get new values of their range.
All follows from a seed. Objects of classes stay as they are.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dlbench.execution.plus.nodes import Array, Data, Node, list_objects, list_places, read_array, write_array

Sizes = Mapping[str, tuple[int, ...]]
"""By path, the sizes in one call; several where lists are nested."""
_MOST_BYTES = 64 << 20
_FEW_VALUES = 32


class CannotGrow(Exception):
    """The input cannot be made."""


class TooLarge(CannotGrow):
    """At this factor."""


def learn_groups(calls: Sequence[Data]) -> list[tuple[str, ...]]:
    """The sizes of the first call that grow together, judged by all calls of the same form; what varies comes first."""
    first, *others = [list_sizes(data) for data in calls]
    alike = [first, *(one for one in others if one.keys() == first.keys())]
    groups: defaultdict[tuple[tuple[int, ...], ...], list[str]] = defaultdict(list)
    for path in first:
        groups[tuple(sizes[path] for sizes in alike)].append(path)
    found = []
    for values, paths in groups.items():
        # a number stands for a size only if it varies with one
        sizes = [path for path in paths if not path.endswith("=")]
        numbers = [path for path in paths if path.endswith("=")] if len(set(values)) > 1 else []
        if sizes and max(map(max, values), default=0) > 1:
            found.append((len(set(values)), tuple(sorted([*sizes, *numbers]))))
    return [paths for _, paths in sorted(found, key=lambda one: (-one[0], one[1]))]


def list_sizes(data: Data) -> dict[str, tuple[int, ...]]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    for path, size in _list_sizes(_inline(data.copy()).node, "", data.blobs):
        found[path].append(size)
    return {path: tuple(sizes) for path, sizes in found.items() if min(sizes) >= 0 and max(sizes) > 0}


def _list_sizes(node: Node, path: str, blobs: list[bytes]) -> Iterator[tuple[str, int]]:
    match node:
        case bool() | None:
            return
        case int(number):
            yield f"{path}=", number
        case str(text) if " " in text:
            yield f"{path}#", len(text.split())
        case ["new", _, content]:
            array = read_array(content, blobs)
            if array is not None:
                yield from ((f"{path}@{axis}", size) for axis, size in enumerate(array.shape))
            elif content[0] == "list":
                yield f"{path}#", len(content[1])
                for item in content[1]:
                    yield from _list_sizes(item, f"{path}[]", blobs)
            elif content[0] == "dict":
                for key, value in content[3]:
                    yield from _list_sizes(value, f"{path}.{key}", blobs)
        case ["tuple", items] | ["value", _, items] | ["named", _, items]:
            for place, item in enumerate(items):
                yield from _list_sizes(item, f"{path}.{place}", blobs)


def _inline(data: Data) -> Data:
    """Repeat shared lists and arrays where they are referred to, so that copies of items hold what they need."""
    objects = list_objects(data.node)
    for holder, index in list(list_places([data.node], 0)):
        match holder[index]:
            case ["ref", int(number)] if objects.get(number, [""])[0] in ("array", "tensor", "list"):
                if any(node[:1] == ["ref"] for node in _below(objects[number])):
                    raise CannotGrow("it holds itself")
                holder[index] = ["new", number, deepcopy(objects[number])]
    return data


def _below(content: Node) -> list[Node]:
    places = list_places([["new", 0, content]], 0)
    return [node for holder, index in places if isinstance(node := holder[index], list)]


def grow(recorded: Data, growing: Sequence[str], factor: float, seed: int) -> Data:
    """One input, for `join`. Raises CannotGrow."""
    data = _inline(recorded.copy())
    maker = _Maker(data.blobs, frozenset(growing), factor, np.random.default_rng(seed))
    with np.errstate(all="ignore"):
        return Data(maker.change(data.node, "", ()), data.blobs)


def join(calls: Sequence[Data], seed: int) -> Data:
    """The message for several calls: the seed of random numbers, then each call. Objects are numbered anew; bytes that
    nothing refers to are left out."""
    nodes: list[Node] = []
    blobs: list[bytes] = []
    numbers: dict[int, int] = {}
    count = 0
    for call in calls:
        node = deepcopy(call.node)
        holder = [node]
        for place, index in list_places(holder, 0):
            match place[index]:
                case ["new", int(number), content]:
                    numbers[number], count = count, count + 1
                    place[index][1] = numbers[number]
                    content = content[1] if content[0] == "transposed" else content
                    slot = {"array": 3, "tensor": 4, "pickled": 1}.get(content[0])
                    if slot:
                        blobs.append(call.blobs[content[slot]])
                        content[slot] = len(blobs) - 1
                case ["ref", int(number)]:
                    if number not in numbers:
                        raise CannotGrow("it refers to what was left out")
                    place[index][1] = numbers[number]
                case ["bytes", int(slot)]:
                    blobs.append(call.blobs[slot])
                    place[index][1] = len(blobs) - 1
        nodes.append(holder[0])
    return Data(["tuple", [seed, *nodes]], blobs)


@dataclass
class _Maker:
    blobs: list[bytes]
    growing: frozenset[str]
    factor: float
    rng: np.random.Generator
    drawn: dict[Any, Any] = field(default_factory=dict)
    """What equal sizes share: the order in which items are repeated."""

    def size(self, old: int) -> int:
        return max(1, round(old * self.factor)) if old else 0

    def order(self, old: int, where: tuple[int, ...]) -> Any:  # noqa: ANN401 - an array of indices
        """The items to take: as many whole rounds through all of them as needed, each in a random order."""
        key = old, where
        if key not in self.drawn:
            new = self.size(old)
            rounds = -(-new // old) if old else 0
            parts = [self.rng.permutation(old) for _ in range(rounds)]
            self.drawn[key] = np.concatenate(parts)[:new] if parts else np.zeros(0, dtype=int)
        return self.drawn[key]

    def change(self, node: Node, path: str, where: tuple[int, ...]) -> Node:
        match node:
            case bool() | None:
                return node
            case int(number) if f"{path}=" in self.growing:
                return self.size(number)
            case str(text) if f"{path}#" in self.growing:
                words = text.split()
                return " ".join(words[place] for place in self.order(len(words), where))
            case ["new", number, content]:
                return ["new", number, self.change_content(content, path, where)]
            case ["value", "pandas.RangeIndex", [int(start), int(stop), int(step), name]] if (
                f"{path}.1=" in self.growing or any(one.startswith(path.rpartition(".")[0]) for one in self.growing)
            ):
                return [
                    "value",
                    "pandas.RangeIndex",
                    [start, start + step * self.size((stop - start) // step), step, name],
                ]
            case ["tuple", items]:
                return ["tuple", self.change_all(items, path, where)]
            case ["value" | "named" as tag, name, items]:
                return [tag, name, self.change_all(items, path, where)]
        return node

    def change_all(self, items: Sequence[Node], path: str, where: tuple[int, ...]) -> list[Node]:
        return [self.change(item, f"{path}.{place}", where) for place, item in enumerate(items)]

    def change_content(self, content: Node, path: str, where: tuple[int, ...]) -> Node:
        array = read_array(content, self.blobs)
        if array is not None:
            axes = [axis for axis in range(array.ndim) if f"{path}@{axis}" in self.growing]
            if not axes:
                return content
            content = list(content)
            write_array(content, self.change_array(array, axes, where), self.blobs)
            return content
        match content:
            case ["list", items]:
                places = range(len(items))
                if f"{path}#" in self.growing:
                    places = self.order(len(items), where)
                taken = [deepcopy(items[place]) for place in places]
                if not any(isinstance(item, list) or f"{path}[]" in one for item in items for one in self.growing):
                    return ["list", taken]
                return ["list", [self.change(one, f"{path}[]", (*where, at)) for at, one in enumerate(taken)]]
            case ["dict", name, factory, pairs]:
                changed = [[key, self.change(value, f"{path}.{key}", where)] for key, value in pairs]
                return ["dict", name, factory, changed]
        return content

    def change_array(self, array: Array, axes: Sequence[int], where: tuple[int, ...]) -> Array:
        total = np.prod([self.size(size) if axis in axes else size for axis, size in enumerate(array.shape)])
        if total * array.dtype.itemsize > _MOST_BYTES:
            raise TooLarge("an array would be too large")
        found = array
        for axis in axes:
            is_rising = array.shape[axis] > 1 and array.dtype.kind in "iuf" and _rises(array, axis)
            found = (
                self.extend(found, axis) if is_rising else np.take(found, self.order(array.shape[axis], where), axis)
            )
        if not any(_rises(array, axis) for axis in axes):
            found = self.renew(found)
        return found.astype(array.dtype)

    def extend(self, array: Array, axis: int) -> Array:
        """Rising values that go on rising: the same steps again."""
        moved = np.moveaxis(array, axis, 0)
        new, old = self.size(len(moved)), len(moved)
        first, last = moved[0].min(), moved[-1].max()
        meets = moved.ndim == 2 and moved.shape[1] == 2 and (moved[1:, 0] == moved[:-1, 1]).all()
        step = 0 if meets else (last - first) / max(1, old - 1)
        period = last - first + (round(step) if array.dtype.kind in "iu" else step)
        places = np.arange(new)
        grown = moved[places % old] + (period * (places // old)).reshape(-1, *[1] * (moved.ndim - 1))
        if array.dtype.kind == "f":
            grown = grown * self.drawn.setdefault("stretch", self.rng.uniform(0.9, 1.1))
        return np.moveaxis(grown, 0, axis)

    def renew(self, array: Array) -> Array:
        """Other values of the same range."""
        if not array.size or array.dtype.kind not in "iuf":
            return array
        if array.dtype.kind in "iu":
            if len(np.unique(array)) <= _FEW_VALUES:
                return array
            drawn: Array = self.rng.integers(array.min(), array.max(), array.shape, dtype=array.dtype, endpoint=True)
            return drawn
        if not np.isfinite(array).all() or (array == np.round(array)).all():
            return array
        low, high = array.min(), array.max()
        found = array + self.rng.normal(0, 0.1, array.shape) * (array.std() or abs(high) or 1.0)
        found = np.clip(found, low, high) if low >= 0 else found
        sums = array.sum(-1)
        if low >= 0 and array.shape[-1] > 1 and np.allclose(sums, 1, atol=1e-3):
            found = found / np.maximum(found.sum(-1, keepdims=True), 1e-12)
        return found


def _rises(array: Array, axis: int) -> bool:
    if array.dtype.kind not in "iuf" or array.shape[axis] < 3:
        return False
    steps = np.diff(array.astype(np.float64), axis=axis)
    return bool((steps >= 0).all() and (steps > 0).any())


def describe_growth(data: Data, growing: Sequence[str]) -> str:
    """The arguments that grow and their sizes, for a reader."""
    sizes = list_sizes(data)
    shown = []
    for path in growing:
        found = sizes.get(path, ())
        if path.endswith("=") or not found:
            continue
        values = str(found[0]) if len(set(found)) == 1 else f"{min(found):,} to {max(found):,}"
        shown.append(f"{_name_path(path)}: {values}")
    return "; ".join(shown)


def _name_path(path: str) -> str:
    """`.0.1@0` is the first axis of the second positional argument, `.1.name#` the length of a keyword."""
    side, _, rest = path[1:].partition(".")
    place, what = rest.rstrip("#"), "length"
    if "@" in place:
        place, _, axis = place.rpartition("@")
        what = f"axis {axis}"
    inner = place.count("[]")
    place = place.replace("[]", "")
    name = f"argument {place}" if side == "0" else place
    return f"{what} of {'the items of ' * inner}{name}"
