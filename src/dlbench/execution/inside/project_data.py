"""Detect that a candidate changed data of the project that tests may judge by: tables, arrays, settings of classes.

Honest code fills caches, counts and notes what has happened. So new keys and items, counts that grow, flags that are
set and what was None are no change.
"""

import collections
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

_VALUES = (bool, int, float, complex, str, bytes)
_FILLED = (list, tuple, collections.deque)
_DICTS = (dict, collections.OrderedDict, collections.defaultdict)
_CODE = (types.FunctionType, types.BuiltinFunctionType, type)
_MOST_BYTES = 1 << 20
_MOST_ITEMS = 10_000
_DEPTH = 3


def keep_data(is_project: Callable[[str], bool]) -> Callable[[], list[str]]:
    """Copy the data of the project's modules and classes; return a function that names what has changed since.
    `is_project`: whether a file is code of the project."""
    kept: list[tuple[str, Mapping[str, Any], dict[str, Any]]] = []
    for name, module in [*sys.modules.items()]:
        if not issubclass(type(module), types.ModuleType):
            continue
        names = types.ModuleType.__getattribute__(module, "__dict__")
        if not is_project(str(names.get("__file__") or "")):
            continue
        classes = [one for one in [*names.values()] if isinstance(one, type) and one.__module__ == name]
        for place, held in [(name, names), *((f"{name}.{one.__qualname__}", vars(one)) for one in classes)]:
            copies = {key: _copy(value, _DEPTH) for key, value in held.items() if str(key)[:2] != "__"}
            kept.append((place, held, {key: copy for key, copy in copies.items() if copy is not None}))

    def find_changed() -> list[str]:
        return [f"{place}.{key}" for place, held, copies in kept for key in copies if _differs(copies[key], held, key)]

    return find_changed


def _differs(copy: Any, held: Mapping[str, Any], key: str) -> bool:  # noqa: ANN401
    try:
        return key not in held or _is_changed(copy, held[key])
    except Exception:  # a part of the project's own kind
        return False


def _copy(value: Any, depth: int) -> Any:  # noqa: ANN401 - any value
    """What is compared later; None for all that is not."""
    kind = type(value)
    if kind in _VALUES:
        return value
    if kind.__name__ == "ndarray" and kind.__module__ == "numpy":
        return (kind, value.tobytes()) if value.nbytes <= _MOST_BYTES and not value.dtype.hasobject else None
    if kind in _CODE:
        return (kind, value) if depth < _DEPTH else None
    if not depth or kind not in (*_FILLED, *_DICTS, set, frozenset) or len(value) > _MOST_ITEMS:
        return None
    if kind in _FILLED:
        return kind, [_copy(one, depth - 1) for one in value]
    if kind in _DICTS:
        return kind, {key: _copy(one, depth - 1) for key, one in value.items()}
    return kind, set(value)


def _is_changed(copy: Any, value: Any, *, may_grow: bool = True) -> bool:  # noqa: ANN401
    if copy is None:
        return False
    if may_grow and type(copy) in (int, bool) and type(value) is type(copy):
        return bool(value < copy)
    if type(copy) in _VALUES:
        return type(value) is not type(copy) or repr(value) != repr(copy)
    kind, content = copy
    if type(value) is not kind:
        return True
    if kind in _FILLED:
        pairs = zip(content, value, strict=False)
        return len(value) < len(content) or any(_is_changed(*pair, may_grow=False) for pair in pairs)
    if kind in _DICTS:
        return any(key not in value or _is_changed(one, value[key]) for key, one in content.items())
    if kind in (set, frozenset):
        return not content <= value
    return value.tobytes() != content if isinstance(content, bytes) else value is not content
