"""Detect that a candidate changed data of the project that tests may judge by: tables, arrays, settings of classes.

Honest code fills caches, counts and notes what has happened. So new keys and items, counts that grow, flags that are
set and what was None are no change.
"""

import collections
import decimal
import fractions
import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

_VALUES = (bool, int, float, complex, str, bytes, decimal.Decimal, fractions.Fraction)
_FILLED = (list, tuple, collections.deque)
_DICTS = (dict, collections.OrderedDict, collections.defaultdict)
_CODE = (types.FunctionType, types.BuiltinFunctionType, type)
_MOST_BYTES = 1 << 20
_MOST_ITEMS = 10_000
_DEPTH = 4


def keep_data(is_project: Callable[[str], bool]) -> Callable[[], list[str]]:
    """Copy the data of the project's modules and classes; return a function that names what has changed since.
    `is_project`: whether a file is code of the project."""
    found = [(name, _list_names(module)) for name, module in [*sys.modules.items()]]
    modules = {name: names for name, names in found if is_project(str(names.get("__file__") or ""))}
    kept: list[tuple[str, Mapping[str, Any], dict[str, Any]]] = []
    hidden: list[tuple[str, Mapping[str, Any], dict[str, Any]]] = []
    for name, names in modules.items():
        classes = [*_list_classes(name, names)]
        for place, held in [(name, names), *((f"{name}.{one.__qualname__}", vars(one)) for one in classes)]:
            kept.append((place, held, _copy_all(held, modules)))
        for one in classes:
            bases = [vars(cls) for cls in one.__mro__[:0:-1] if cls.__module__ in modules]
            inherited = {key: value for base in bases for key, value in base.items() if key not in vars(one)}
            hidden.append((f"{name}.{one.__qualname__}", vars(one), _copy_all(inherited, modules)))

    def find_changed() -> list[str]:
        changed = [(place, key) for place, held, copies in kept for key in copies if _differs(copies[key], held, key)]
        for place, held, copies in hidden:  # a new name of a class may hide what the class inherits
            changed += [(place, key) for key in copies if key in held and _differs(copies[key], held, key)]
        return [f"{place}.{key}" for place, key in changed]

    return find_changed


def _list_names(module: object) -> Mapping[str, Any]:
    if not issubclass(type(module), types.ModuleType):
        return {}
    found: Mapping[str, Any] = types.ModuleType.__getattribute__(module, "__dict__")
    return found


def _list_classes(module: str, names: Mapping[str, Any]) -> Iterator[type]:
    """The classes that a module defines, and those inside them."""
    for one in [*names.values()]:
        if isinstance(one, type) and one.__module__ == module:
            yield one
            inner = {key: part for key, part in vars(one).items() if isinstance(part, type)}
            own = {key: part for key, part in inner.items() if part.__qualname__ == f"{one.__qualname__}.{key}"}
            yield from _list_classes(module, own)


def _copy_all(held: Mapping[str, Any], modules: Collection[str]) -> dict[str, Any]:
    copies = {key: _copy(value, _DEPTH, modules) for key, value in held.items() if str(key)[:2] != "__"}
    return {key: copy for key, copy in copies.items() if copy is not None}


def _differs(copy: Any, held: Mapping[str, Any], key: str) -> bool:  # noqa: ANN401
    try:
        return key not in held or _is_changed(copy, held[key])
    except Exception:  # a part of the project's own kind
        return False


def _copy(value: Any, depth: int, modules: Collection[str]) -> Any:  # noqa: ANN401 - any value
    """What is compared later; None for all that is not. `modules`: those of the project."""
    kind = type(value)
    if kind in _VALUES:
        return value
    if _is_array(kind):
        return (kind, value.tobytes()) if value.nbytes <= _MOST_BYTES and not value.dtype.hasobject else None
    if kind in _CODE:
        return (kind, value) if depth < _DEPTH else None
    if not depth:
        return None
    if kind is ContextVar:
        return kind, _copy(_get_current(value), depth, modules)
    if kind.__module__ in modules and not issubclass(kind, tuple):
        attributes = _list_attributes(value)
        return kind, {key: _copy(one, depth - 1, modules) for key, one in attributes.items()}
    is_filled = kind in _FILLED or issubclass(kind, tuple)
    if not (is_filled or kind in (*_DICTS, set, frozenset)) or len(value) > _MOST_ITEMS:
        return None
    if is_filled:
        return kind, [_copy(one, depth - 1, modules) for one in value]
    if kind in _DICTS:
        return kind, {key: _copy(one, depth - 1, modules) for key, one in value.items()}
    return kind, set(value)


def _get_current(variable: ContextVar[Any]) -> Any:  # noqa: ANN401
    try:
        return variable.get()
    except LookupError:
        return None


def _is_array(kind: type) -> bool:
    """Whether it is an array or a number of numpy."""
    return kind.__module__ == "numpy" and any(cls.__name__ in {"ndarray", "generic"} for cls in kind.__mro__)


def _list_attributes(value: object) -> dict[str, Any]:
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


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
    if kind is ContextVar:
        return _is_changed(content, _get_current(value))
    if isinstance(content, list):
        pairs = zip(content, value, strict=False)
        return len(value) < len(content) or any(_is_changed(*pair, may_grow=False) for pair in pairs)
    if isinstance(content, dict):
        parts = value if kind in _DICTS else _list_attributes(value)
        return any(key not in parts or _is_changed(one, parts[key]) for key, one in content.items())
    if kind in (set, frozenset):
        return not content <= value
    return value.tobytes() != content if isinstance(content, bytes) else value is not content
