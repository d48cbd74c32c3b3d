"""Vary recorded arguments by type: values, shapes, dtypes, memory layout, numbers, flags, lists and texts.

A mutator is a function of a copy of recorded arguments, all recorded arguments, and a random generator; it changes the
copy and returns False if there is nothing to change. Sizes that are equal in one call change together. Objects of
classes keep their structure, because their parts depend on each other; only their floating-point values change.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dlbench.execution.plus.nodes import Array, Data, Node, Place, list_places, read_array, write_array

Mutator = Callable[["Arguments", np.random.Generator], bool]
MUTATORS: dict[str, Mutator] = {}
_ATOMIC = ("enum", "class", "function", "module", "value", "tuple", "named")
_MOST_ELEMENTS = 1 << 18


def mutator(name: str) -> Callable[[Mutator], Mutator]:
    def add(function: Mutator) -> Mutator:
        MUTATORS[name] = function
        return function

    return add


@dataclass
class Arguments:
    """A copy of recorded arguments that may be changed."""

    data: Data
    others: Sequence[Data]
    """All recorded arguments of the target."""

    def __post_init__(self) -> None:
        every = list(list_places([self.data.node], 0))
        inside = {id(node) for node, content in _list_new(every) if content[0] == "object"}
        below = {
            (id(holder), index)
            for node, _ in _list_new(every)
            if id(node) in inside
            for holder, index in list(list_places([node], 0))[1:]
        }
        outside = [place for place in every if (id(place[0]), place[1]) not in below]
        is_mutable = any(_is_value(holder[index]) for holder, index in outside)
        self.places: list[Place] = outside if is_mutable else every
        """Outside of objects, unless there is nothing else."""
        self.every = every

    def list_nodes(self, *, inside: bool = False) -> Iterator[Node]:
        return (holder[index] for holder, index in (self.every if inside else self.places))

    def list_arrays(self, *, inside: bool = False) -> list[tuple[list[Any], Array]]:
        """The contents of arrays and tensors, and their values."""
        contents = [node[2] for node in self.list_nodes(inside=inside) if _is_new(node)]
        pairs = [(content, read_array(content, self.data.blobs)) for content in contents]
        return [(content, array) for content, array in pairs if array is not None]

    def list_floats(self) -> list[tuple[list[Any], Array]]:
        """Those of floating-point numbers; those inside of objects if there are no others."""
        for inside in (False, True):
            pairs = self.list_arrays(inside=inside)
            if found := [(content, array) for content, array in pairs if array.dtype.kind == "f" and array.size]:
                return found
        return []

    def write(self, content: list[Any], array: Array) -> None:
        write_array(content, array, self.data.blobs)

    def list_lists(self) -> list[list[Any]]:
        """The items of Python lists."""
        return [node[2][1] for node in self.list_nodes() if _is_new(node) and node[2][0] == "list"]

    def list_atoms(self, *kinds: type) -> list[Place]:
        """The places of numbers, flags or texts, except names of arguments."""
        pairs = {
            id(pair) for node in self.list_nodes() if _is_new(node) and node[2][0] == "dict" for pair in node[2][3]
        }
        return [
            (holder, index)
            for holder, index in self.places
            if type(holder[index]) in kinds and not (id(holder) in pairs and index == 0)
        ]


def _list_new(places: Sequence[Place]) -> Iterator[tuple[Node, list[Any]]]:
    return ((holder[index], holder[index][2]) for holder, index in places if _is_new(holder[index]))


def _is_value(node: Node) -> bool:
    """Whether something in it can be changed; the dictionary of keywords is always there."""
    is_content = _is_new(node) and node[2][0] not in ("object", "dict", "pickled")
    return is_content or isinstance(node, bool | int | float | str)


def _is_new(node: Node) -> bool:
    return isinstance(node, list) and node[:1] == ["new"]


def vary(name: str, recorded: Data, others: Sequence[Data], seed: int) -> Data | None:
    """Recorded arguments changed by a mutator; None if it does not apply."""
    data = recorded.copy()
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    with np.errstate(all="ignore"):
        return data if MUTATORS[name](Arguments(data, others), rng) else None


@mutator("values")
def change_values(arguments: Arguments, rng: np.random.Generator) -> bool:
    """Other values of the same range and order, in all arrays."""
    arrays = [
        *arguments.list_floats(),
        *((one, array) for one, array in arguments.list_arrays() if array.dtype.kind in "iub"),
    ]
    for content, array in arrays:
        if array.size:
            arguments.write(content, _draw_like(array, rng))
    return bool(arrays)


def _draw_like(array: Array, rng: np.random.Generator) -> Array:
    flat = array.reshape(-1)
    drawn = flat[rng.integers(0, flat.size, flat.size)]
    if array.dtype.kind == "f" and np.isfinite(flat).all() and (flat != np.round(flat)).any():
        noise = drawn + rng.normal(0, 0.3, flat.size) * (flat.std() or 1.0)
        drawn = np.clip(noise, flat.min(), flat.max()) if flat.min() >= 0 else noise
    drawn = drawn.astype(array.dtype).reshape(array.shape)
    if array.ndim and array.shape[-1] > 1:
        if (np.diff(array.astype(float), axis=-1) >= 0).all():
            drawn = np.sort(drawn, axis=-1)
        sums = array.astype(float).sum(-1)
        if array.dtype.kind == "f" and array.min() >= 0 and np.allclose(sums, 1, atol=1e-3):
            total = drawn.sum(-1, keepdims=True)
            drawn = np.where(total > 0, drawn / np.where(total > 0, total, 1), array)
    return drawn.astype(array.dtype)


def _add_sizes() -> None:
    sizes: dict[str, Callable[[int], int]] = {
        "one": lambda size: 1,
        "empty": lambda size: 0,
        "shorter": lambda size: size - 1,
        "longer": lambda size: size + 1,
        "double": lambda size: 2 * size,
    }
    for name, change in sizes.items():
        MUTATORS[name] = lambda arguments, rng, change=change: _resize(arguments, rng, change)  # type: ignore[misc]


def _resize(arguments: Arguments, rng: np.random.Generator, change: Callable[[int], int]) -> bool:
    """Change one size wherever it occurs: in arrays, in lists of that length, in indexes of tables."""
    arrays, lists, nodes = arguments.list_arrays(), arguments.list_lists(), list(arguments.list_nodes())
    sizes = sorted({size for _, array in arrays for size in array.shape} or {len(items) for items in lists})
    sizes = [size for size in sizes if size > 0 and change(size) not in (size, -1)]
    if not sizes:
        return False
    old = int(rng.choice(sizes))
    new = change(old)
    for content, array in arrays:
        found = array
        for axis, size in enumerate(array.shape):
            if size == old:
                found = np.take(found, np.arange(new) % old, axis=axis)
        if found.size > _MOST_ELEMENTS:
            return False
        if found is not array:
            arguments.write(content, found)
    for items in lists:
        if len(items) == old and not any(_is_new(item) for item in items):
            items[:] = [items[place % old] for place in range(new)]
        elif len(items) == old and new < old:
            del items[new:]
            return _renumber(arguments.data)
    for node in nodes:
        match node:
            case ["value", "pandas.RangeIndex", [int(start), int(stop), int(step), _]] if (stop - start) // step == old:
                node[2][1] = start + new * step
    return True


_add_sizes()


@mutator("dtype")
def change_dtype(arguments: Arguments, rng: np.random.Generator) -> bool:
    """Another precision in all arrays of one type."""
    pairs = {"float32": "float64", "float64": "float32", "int64": "int32", "int32": "int64", "uint8": "int64"}
    arrays = [(one, array) for one, array in arguments.list_arrays() if array.dtype.name in pairs]
    arrays = [(one, array) for one, array in arrays if "bfloat16" not in one]
    if not arrays:
        return False
    chosen = rng.choice(sorted({array.dtype.name for _, array in arrays}))
    for content, array in arrays:
        if array.dtype.name == chosen:
            arguments.write(content, array.astype(pairs[array.dtype.name]))
    return True


@mutator("layout")
def change_layout(arguments: Arguments, rng: np.random.Generator) -> bool:
    """Non-contiguous memory in all arrays of two or more axes."""
    found = False
    for node in list(arguments.list_nodes()):
        if _is_new(node) and node[2][0] in ("array", "tensor"):
            array = read_array(node[2], arguments.data.blobs)
            if array is not None and array.ndim > 1 and array.size > 1:
                node[2] = ["transposed", node[2]]
                found = True
    return found


@mutator("gradient")
def ask_gradient(arguments: Arguments, rng: np.random.Generator) -> bool:
    """Gradients with respect to all floating-point tensors."""
    tensors = [content for content, _ in arguments.list_floats() if content[0] == "tensor" and not content[5]]
    for content in tensors:
        content[5] = True
    return bool(tensors)


def _add_specials() -> None:
    specials: dict[str, Callable[[Array, np.random.Generator], Array]] = {
        "nan": lambda array, rng: _put(array, np.nan, rng),
        "infinity": lambda array, rng: _put(array, np.inf, rng),
        "negative": lambda array, rng: -array,
        "large": lambda array, rng: array * array.dtype.type(1000),
        "small": lambda array, rng: array * array.dtype.type(1e-3),
        "zeros": lambda array, rng: np.zeros_like(array),
        "constant": lambda array, rng: np.full_like(array, array.reshape(-1)[rng.integers(array.size)]),
        "ties": lambda array, rng: np.round(array, 1).astype(array.dtype),
    }
    for name, change in specials.items():
        MUTATORS[name] = lambda arguments, rng, change=change: _change_one(arguments, rng, change)  # type: ignore[misc]


def _put(array: Array, value: float, rng: np.random.Generator) -> Array:
    changed = array.copy()
    changed.reshape(-1)[rng.integers(array.size)] = value
    return changed


def _change_one(
    arguments: Arguments, rng: np.random.Generator, change: Callable[[Array, np.random.Generator], Array]
) -> bool:
    """Change one array of floating-point numbers outside of objects."""
    arrays = [(one, array) for one, array in arguments.list_arrays() if array.dtype.kind == "f" and array.size]
    if not arrays:
        return False
    content, array = arrays[rng.integers(len(arrays))]
    arguments.write(content, change(array, rng))
    return True


_add_specials()


@mutator("integers")
def change_integers(arguments: Arguments, rng: np.random.Generator) -> bool:
    """Some elements of an integer or boolean array take the value of others, or the largest value."""
    arrays = [(one, array) for one, array in arguments.list_arrays() if array.dtype.kind in "iub" and array.size]
    if not arrays:
        return False
    content, array = arrays[rng.integers(len(arrays))]
    changed = array.copy().reshape(-1)
    chosen = rng.random(changed.size) < 0.3
    changed[chosen] = rng.choice([array.max(), array.min(), array.reshape(-1)[0]])
    arguments.write(content, changed.reshape(array.shape))
    return True


@mutator("number")
def change_number(arguments: Arguments, rng: np.random.Generator) -> bool:
    """One number among the arguments."""
    places = arguments.list_atoms(int, float)
    if not places:
        return False
    holder, index = places[rng.integers(len(places))]
    old = holder[index]
    if isinstance(old, int):
        choices: list[float] = [0, 1, 2, 3, old + 1, old - 1, 2 * old, -old]
    else:
        choices = [0.0, 1.0, old / 2, 2 * old, old + 0.1, -old, 0.25]
    choices = [one for one in choices if one != old]
    holder[index] = choices[int(rng.integers(len(choices)))]
    return True


@mutator("flag")
def change_flag(arguments: Arguments, rng: np.random.Generator) -> bool:
    """One flag among the arguments."""
    places = arguments.list_atoms(bool)
    if not places:
        return False
    holder, index = places[rng.integers(len(places))]
    holder[index] = not holder[index]
    return True


@mutator("other call")
def take_from_other_call(arguments: Arguments, rng: np.random.Generator) -> bool:
    """An option or number that another call passes for the same parameter."""
    own = list(_list_parameters(arguments.data))
    choices = [
        (holder, index, value)
        for (key, holder, index) in own
        for other in arguments.others
        for other_key, place, number in _list_parameters(other)
        if key == other_key
        and _is_plain(value := place[number])
        and _is_plain(holder[index])
        and value != holder[index]
    ]
    if not choices:
        return False
    holder, index, value = choices[rng.integers(len(choices))]
    holder[index] = value
    return True


def _list_parameters(data: Data) -> Iterator[tuple[str, list[Any], int]]:
    match data.node:
        case ["tuple", [["tuple", list(items)], ["new", _, ["dict", _, _, list(pairs)]]]]:
            yield from ((str(place), items, place) for place in range(len(items)))
            yield from ((str(pair[0]), pair, 1) for pair in pairs)


def _is_plain(node: Node) -> bool:
    """Whether it has no shared objects and no bytes, which another call numbers otherwise."""
    if not isinstance(node, list):
        return True
    tags = [holder[index][0] for holder, index in list_places([node], 0) if isinstance(holder[index], list)]
    return node[0] in _ATOMIC and not {"new", "ref", "bytes", "own", "handle"} & set(tags)


@mutator("items")
def change_items(arguments: Arguments, rng: np.random.Generator) -> bool:
    """Leave out, repeat or reverse the items of a list."""
    lists = [items for items in arguments.list_lists() if items]
    if not lists:
        return False
    items = lists[rng.integers(len(lists))]
    if any(_is_new(inner[0][inner[1]]) for item in items for inner in list_places([item], 0)):
        del items[int(rng.integers(len(items))) :]
        return _renumber(arguments.data)
    match int(rng.integers(4)):
        case 0:
            del items[rng.integers(len(items))]
        case 1:
            items.insert(0, items[rng.integers(len(items))])
        case 2:
            items.reverse()
        case 3:
            items.clear()
    return True


def _renumber(data: Data) -> bool:
    """Number the shared objects anew after some were left out; False if one of those is still referred to."""
    numbers: dict[int, int] = {}
    for holder, index in list_places([data.node], 0):
        match holder[index]:
            case ["new", int(number), _]:
                numbers[number] = len(numbers)
                holder[index][1] = numbers[number]
            case ["ref", int(number)]:
                if number not in numbers:
                    return False
                holder[index][1] = numbers[number]
    return True


@mutator("text")
def change_text(arguments: Arguments, rng: np.random.Generator) -> bool:
    """One text among the arguments: empty, shorter, doubled, in capitals, or with a space."""
    places = arguments.list_atoms(str)
    if not places:
        return False
    holder, index = places[rng.integers(len(places))]
    old = holder[index]
    choices = ["", old[1:], old[:-1], old * 2, old.upper(), f"{old} ", old[::-1]]
    choices = [one for one in choices if one != old]
    holder[index] = choices[int(rng.integers(len(choices)))]
    return True
