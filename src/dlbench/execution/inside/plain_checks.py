"""Check objects that were read from another process: whatever their attributes say, they must not mislead their users.

A library trusts the state of its own objects. Indices of a sparse matrix outside its shape read foreign memory, and a
name that stands for a special method decides what an object is equal to.
"""

import dis
import math
import re
import sys
import types
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from .plain_values import Unreplayable

_DECIDING = {
    "__getattr__", "__getattribute__", "__array__", "__array_interface__", "__array_struct__", "__array_ufunc__",
    "__array_function__", "__torch_function__", "__torch_dispatch__", "__instancecheck__", "__subclasscheck__",
    "__del__",
}  # fmt: skip
_CHECKED = {"torch.nn.modules.module.Module", "sklearn.utils._bunch.Bunch"}
"""Classes whose `__getattr__` is known: their names are checked."""
_TORCH_FUNCTIONS = ("linear_operator.", "gpytorch.")
"""Their objects are used through `__torch_function__`."""
_DTYPE = re.compile(r"[<>|=]?([biuf][1248]|c8|c16|[mM]8(\[\w+\])?|[SUV]\d+)")
TORCH_TYPE = re.compile(r"bool|u?int(8|16|32|64)|b?float16|float(32|64)|float8_\w+|complex(64|128)")
"""Types of tensors that bytes can be read as; for a quantized one torch ends the process."""
_COMPRESSED = ("csr", "csc", "bsr")
_MOST_DIMENSIONS = 64


def has_known_methods(kind: type) -> bool:
    """Whether no method of the class makes attributes up, or takes over how arrays and tensors are compared."""
    for cls in kind.__mro__:
        name = f"{cls.__module__}.{cls.__qualname__}"
        if cls in (object, dict, list, tuple, BaseException, Exception) or name in _CHECKED:
            continue
        if any(_ignores_other(vars(cls).get(method)) for method in ("__eq__", "__ne__")):
            return False
        found = _DECIDING & vars(cls).keys()
        if found - ({"__torch_function__"} if cls.__module__.startswith(_TORCH_FUNCTIONS) else set()):
            return False
    return True


def _ignores_other(method: Any) -> bool:  # noqa: ANN401 - any value
    """Whether a comparison never reads what it compares with: then the object equals everything, or nothing."""
    if not isinstance(method, types.FunctionType) or method.__code__.co_argcount < 2:
        return False
    other = method.__code__.co_varnames[1]
    read = [one.argval for one in dis.get_instructions(method)]
    return not any(other in one if isinstance(one, tuple) else other == one for one in read)


def check_attribute(kind: type, name: Any, value: Any) -> bool:  # noqa: ANN401
    """A new attribute of an object must be one that its class provides for. Otherwise a test that calls a method, or
    uses data of the class, would call or use the candidate's instead. True if it hides data of the class."""
    if type(name) is not str or name.startswith("__"):
        raise Unreplayable(f"an object with the attribute {name}")
    held = getattr(kind, name, None)
    used, stored = _find_attributes(kind)
    is_data = hasattr(kind, name) and not hasattr(held, "__get__")
    is_hidden = is_data and held is not None and name not in stored
    if callable(held) or is_hidden or (callable(value) and name not in used):
        raise Unreplayable(f"an object of {kind.__name__} with an attribute {name}, which its class does not assign")
    return is_data


@lru_cache(maxsize=256)
def list_asked(kind: type) -> set[str]:
    """The names that its methods write out as texts and nothing in it assigns: `getattr(self, "limit", 1)`."""
    members = [member for cls in kind.__mro__ for member in vars(cls).values()]
    codes = [getattr(getattr(one, "fget", None) or getattr(one, "func", one), "__code__", None) for one in members]
    written = {text for code in codes for text in getattr(code, "co_consts", ()) if type(text) is str}
    return written - _find_attributes(kind)[1]


@lru_cache(maxsize=256)
def _find_attributes(kind: type) -> tuple[set[str], set[str]]:
    """The names that methods of the class use, and the attributes that they or its annotations define."""
    used, stored = set[str](), set[str]()
    for cls in kind.__mro__:
        annotations = vars(cls).get("__annotations__", {})
        stored |= {name for name, kept in annotations.items() if "ClassVar" not in str(kept)}
        for member in vars(cls).values():
            function = getattr(member, "fget", None) or getattr(member, "__func__", member)
            codes = [getattr(getattr(function, "__wrapped__", function), "__code__", None)]
            while codes:
                code = codes.pop()
                if isinstance(code, types.CodeType):
                    used.update(code.co_names)
                    stored |= {one.argval for one in dis.get_instructions(code) if one.opname == "STORE_ATTR"}
                    codes += code.co_consts
    return used | stored, stored


def check_array(dtype: Any, shape: list[Any], size: int) -> None:  # noqa: ANN401 - as it was received
    """`size`: the number of bytes that came with it."""
    names: list[Any] = [dtype] if isinstance(dtype, str) else []
    if isinstance(dtype, list):
        fields = [field for field in dtype if isinstance(field, list) and 2 <= len(field) <= 3]
        names = [field[1] for field in fields if isinstance(field[0], str)]
        names = names if len(names) == len(dtype) > 0 else []
    if not names or not all(isinstance(name, str) and _DTYPE.fullmatch(name) for name in names):
        raise Unreplayable(f"an array of type {dtype!r:.80}")
    check_size(shape, size // sys.modules["numpy"].dtype(_as_fields(dtype)).itemsize)


def _as_fields(dtype: Any) -> Any:  # noqa: ANN401
    if isinstance(dtype, str):
        return dtype
    return [tuple(tuple(one) if isinstance(one, list) else one for one in field) for field in dtype]


def check_size(shape: list[Any], count: int) -> None:
    """Otherwise elements would be memory that held something else before."""
    if len(shape) > _MOST_DIMENSIONS or not all(type(one) is int and one >= 0 for one in shape):
        raise Unreplayable("an array of an impossible shape")
    if math.prod(shape) != count:
        raise Unreplayable("an array whose data does not fit its shape")


def check_flags(data: bytes | bytearray) -> None:
    """A byte of a boolean array that is neither 0 nor 1 is equal to nothing or to everything."""
    if data.strip(b"\0\1"):
        raise Unreplayable("a boolean array with other values")


def check_objects(objects: list[Any]) -> None:
    for value in objects:
        kind = type(value)
        for cls in kind.__mro__:
            check = _CHECKS.get(f"{cls.__module__}.{cls.__qualname__}")
            if check is not None:
                check(value, kind)


def _check_names(names: Any, kind: type) -> None:  # noqa: ANN401 - any keys
    for name in names:
        if type(name) is not str or "." in name or name.startswith("__") or hasattr(kind, name):
            raise Unreplayable(f"a {kind.__name__} with the name {name!r:.80}")


def _check_bunch(value: Any, kind: type) -> None:  # noqa: ANN401
    _check_names(dict.keys(value), kind)


def _check_module(value: Any, kind: type) -> None:  # noqa: ANN401 - a module of torch
    torch = sys.modules["torch"]
    classes = {"_parameters": torch.nn.Parameter, "_buffers": torch.Tensor, "_modules": torch.nn.Module}
    for registry, held in classes.items():
        found = vars(value).get(registry, {})
        if type(found) not in (dict, OrderedDict):
            raise Unreplayable(f"a {kind.__name__} whose {registry} are no dictionary")
        _check_names(found, kind)
        if not all(one is None or isinstance(one, held) for one in found.values()):
            raise Unreplayable(f"a {kind.__name__} with other {registry}")


def _check_sparse(value: Any, kind: type) -> None:  # noqa: ANN401 - a sparse array of scipy
    """Also forget what it claims of the order of its indices: scipy looks again."""
    held = vars(value)
    form, shape = getattr(kind, "_format", ""), held.get("_shape")
    if type(shape) is not tuple or not all(type(one) is int and 0 <= one < 1 << 62 for one in shape) or not shape:
        raise Unreplayable("a sparse array of an impossible shape")
    try:
        if form in _COMPRESSED:
            _check_compressed(held, form, shape)
        elif form == "coo":
            _check_coordinates(held, shape)
        elif form == "dia":
            _check_diagonals(held, shape)
        else:
            raise Unreplayable(f"a sparse array of the format {form}")
    except (KeyError, AttributeError, TypeError):
        raise Unreplayable("an incomplete sparse array") from None
    for name in ("_has_sorted_indices", "_has_canonical_format"):
        held.pop(name, None)
    if form == "coo":
        held["has_canonical_format"] = False


def _require(*conditions: bool) -> None:
    if not all(conditions):
        raise Unreplayable("a sparse array with indices outside its shape")


def _check_part(part: Any, dimensions: int, kinds: str) -> None:  # noqa: ANN401
    numpy = sys.modules["numpy"]
    _require(type(part) is numpy.ndarray and part.ndim == dimensions and part.dtype.kind in kinds)


def _check_compressed(held: dict[str, Any], form: str, shape: tuple[int, ...]) -> None:
    data, indices, starts = held["data"], held["indices"], held["indptr"]
    _check_part(data, 3 if form == "bsr" else 1, "biufc")
    _check_part(indices, 1, "i")
    _check_part(starts, 1, "i")
    rows, columns = (1, *shape) if len(shape) == 1 else shape[::-1] if form == "csc" else shape
    if form == "bsr":
        _require(min(data.shape[1:]) > 0 and rows % data.shape[1] == 0 and columns % data.shape[2] == 0)
        rows, columns = rows // data.shape[1], columns // data.shape[2]
    _require(len(starts) == rows + 1 and starts[0] == 0 and starts[-1] == len(indices) == len(data))
    _require(bool((starts[1:] >= starts[:-1]).all()), _are_within(indices, columns), indices.dtype == starts.dtype)


def _are_within(indices: Any, size: int) -> bool:  # noqa: ANN401
    return len(indices) == 0 or (int(indices.min()) >= 0 and int(indices.max()) < size)


def _check_coordinates(held: dict[str, Any], shape: tuple[int, ...]) -> None:
    _check_part(held["data"], 1, "biufc")
    coordinates = held["coords"] if "coords" in held else (held["row"], held["col"])
    _require(type(coordinates) is tuple and len(coordinates) == len(shape))
    for indices, size in zip(coordinates, shape, strict=True):
        _check_part(indices, 1, "i")
        _require(len(indices) == len(held["data"]) and _are_within(indices, size))


def _check_diagonals(held: dict[str, Any], shape: tuple[int, ...]) -> None:
    data, offsets = held["data"], held["offsets"]
    _check_part(data, 2, "biufc")
    _check_part(offsets, 1, "i")
    _require(len(shape) == 2 and len(offsets) == len(data) == len(set(offsets.tolist())))
    _require(all(abs(one) <= max(shape) for one in offsets.tolist()))


_CHECKS: dict[str, Callable[[Any, type], None]] = {
    "torch.nn.modules.module.Module": _check_module,
    "sklearn.utils._bunch.Bunch": _check_bunch,
    "scipy.sparse._base._spbase": _check_sparse,
}
