"""Detect values that decide themselves what they are equal to.

What a candidate returns, or leaves in its arguments, is searched for objects whose comparison the candidate wrote.
"""

import collections
import functools
import sys
import threading
import types
from collections.abc import Callable, Iterable
from typing import Any

from .audit import IsCandidateCode
from .integrity import FindReplaced, check

_COMPARING = frozenset({
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__bool__", "__sub__", "__rsub__", "__abs__",
    "__contains__", "__float__", "__index__", "__int__", "__round__", "__hash__", "__del__", "__class__",
    "__getattribute__", "__getattr__", "__instancecheck__", "__subclasscheck__", "__array__", "__array_ufunc__",
    "__array_function__", "__array_interface__", "__array_struct__", "__array_priority__", "__torch_function__",
    "__torch_dispatch__", "__jax_array__",
})  # fmt: skip
_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes, range, slice, type(...), type(NotImplemented)})
_CONTAINERS = frozenset({list, tuple, set, frozenset, collections.deque})
_CALLABLES = frozenset({types.FunctionType, types.BuiltinFunctionType})
_CALLED = _CALLABLES | {types.MethodType, type, functools.partial}
"""What no class has as a method, unless it was taken from elsewhere."""
_NUMERICAL = frozenset({"numpy", "torch", "jaxlib", "tensorflow"})
_MOST_SEARCHED = 100_000
_MANY = 200
_HEAP = 1 << 9


def watch(
    is_candidate: IsCandidateCode,
    names: dict[str, Any],
    classes: list[str],
    find_replaced: FindReplaced,
    tampered: Callable[[str], None],
    hand_out: Callable[[str], None],
) -> None:
    """Check every value that leaves the candidate's code, and what the candidate replaced meanwhile.

    `hand_out`: reports a value that may hold an object of a class that the candidate wrote.
    """
    known: dict[type, str] = {}
    written = frozenset(classes)
    roots = (object, type, types.ModuleType, BaseException, Exception)
    all_threads, get_thread = threading.enumerate, threading.get_ident
    main_thread = get_thread()

    def is_own(kind: type) -> bool:
        return any(cls.__name__ in written and cls.__module__ == names["__name__"] for cls in type.mro(kind))

    def find_comparing(kind: type) -> str:
        if kind not in known:
            known[kind] = _find_comparing(kind, is_candidate, names, written)
        return known[kind]

    def profile(frame: types.FrameType, event: str, value: Any) -> None:  # noqa: ANN401 - any return value
        if not is_candidate(frame.f_code):
            return
        if event == "c_call" and getattr(value, "__name__", "") == "__subclasses__" and value.__self__ in roots:
            tampered("the candidate asked for all classes")
        if event != "return":
            return
        caller = frame.f_back
        if caller is None or not is_candidate(caller.f_code):
            code, local = frame.f_code, frame.f_locals
            count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
            # the call may have changed its arguments; its other variables end with it
            arguments = [local[name] for name in code.co_varnames[:count] if name in local]
            if found := _search([value, *arguments], find_comparing):
                tampered(f"the candidate hands out an object that decides itself what it is equal to ({found})")
            if written and (found := _find_own([value, *arguments], is_own)):
                hand_out(found)
            check(find_replaced, tampered, quickly=True)
            if get_thread() != main_thread:  # it returns to its thread, which the candidate may join
                return
            codes = [getattr(getattr(thread, "_target", None), "__code__", None) for thread in all_threads()]
            if any(is_candidate(code) for code in codes if code is not None):
                tampered("the candidate goes on in a thread after it has returned")

    threading.setprofile(profile)
    sys.setprofile(profile)


def find_attached(is_candidate: IsCandidateCode, own: set[str]) -> FindReplaced:
    """A function that lists comparing methods that no body of a class of the answer defines: the class was made, or
    changed, by a call. `own`: files of the answer."""
    known: dict[type, str] = {}
    names: dict[str, Any] = {"__name__": ""}

    def find_method(kind: type) -> str:
        is_own = str(getattr(sys.modules.get(kind.__module__), "__file__", None)) in own
        is_unknown = is_own or (bool(kind.__flags__ & _HEAP) and not _has_name(kind, names))
        for name in _COMPARING & vars(kind).keys():
            method = vars(kind)[name]
            method = method.fget if isinstance(method, property) else getattr(method, "__func__", method)
            code = getattr(method, "__code__", None)
            is_written = isinstance(code, types.CodeType) and is_candidate(code)
            if is_written and getattr(code, "co_qualname", name) != f"{kind.__qualname__}.{name}":
                return name
            if not is_written and is_unknown and _is_attached(method, kind, name):
                return name
        return ""

    def find(quickly: bool) -> list[str]:
        pending, seen = [object], set[type]()
        while pending:
            below = [one for one in type.__subclasses__(pending.pop()) if one not in seen]
            seen.update(below)
            pending += below
            known.update((kind, find_method(kind)) for kind in below if kind not in known)
        return [f"{kind.__module__}.{kind.__qualname__}.{method}" for kind, method in known.items() if method]

    return find


def _is_attached(method: Any, kind: type, name: str) -> bool:  # noqa: ANN401 - any value
    if isinstance(method, types.FunctionType | types.WrapperDescriptorType | types.MethodDescriptorType):
        return isinstance(method, types.FunctionType) and _is_borrowed(method, kind, name)
    return callable(method) or isinstance(method, functools.partialmethod)


def _find_own(values: list[Any], is_own: Callable[[type], bool]) -> str:
    """A value that is, or may hold, an object of the candidate's classes; everything that is not known to hold none."""
    pending, seen = list(values), set[int]()
    while pending:
        value = pending.pop()
        kind = type(value)
        if kind in _ATOMS or id(value) in seen:
            continue
        seen.add(id(value))
        if is_own(kind) or len(seen) > _MOST_SEARCHED or (isinstance(value, type) and is_own(value)):
            return kind.__qualname__
        if kind in _CONTAINERS:
            pending += value
        elif issubclass(kind, dict):
            pending += [*dict.keys(value), *dict.values(value)]
        elif kind.__name__ == "ndarray":
            pending += value.ravel().tolist() if value.dtype == object else []
        elif isinstance(value, type):
            continue
        elif kind in _CALLABLES or kind.__module__.partition(".")[0] in _NUMERICAL:
            pending += list(getattr(value, "__dict__", {}).values())
        elif kind.__flags__ & _HEAP and hasattr(value, "__dict__"):
            pending += list(object.__getattribute__(value, "__dict__").values())
            pending += list(value) if isinstance(value, list | tuple | set) else []
        else:
            return kind.__qualname__
    return ""


def _search(values: Iterable[Any], find_comparing: Callable[[type], str], depth: int = 3) -> str:
    for count, value in enumerate(values):
        if count > _MANY:
            break
        kind = type(value)
        found = find_comparing(kind) or _find_odd_array(value, kind)
        if not found and depth:
            inner: Iterable[Any] = ()
            if issubclass(kind, list):
                inner = list.__iter__(value)
            elif issubclass(kind, tuple):
                inner = tuple.__iter__(value)
            elif issubclass(kind, dict):
                inner = list(dict.values(value))
            elif kind.__name__ == "ndarray" and value.dtype == object:
                inner = value.ravel()[:_MANY].tolist()
            elif depth == 3 and kind.__flags__ & _HEAP and not issubclass(kind, type):
                inner = list(getattr(value, "__dict__", {}).values())
            found = _search(inner, find_comparing, depth - 1)
        if found:
            return found
    return ""


def _find_odd_array(value: Any, kind: type) -> str:  # noqa: ANN401 - any value
    """Recognise an array with every element masked, which equals any other, or with methods set on the instance."""
    if kind.__name__ in {"MaskedArray", "MaskedConstant"} and kind.__module__.startswith("numpy.ma"):
        mask = sys.modules["numpy"].ma.getmaskarray(value)
        return "an array with everything masked" if mask.size and mask.all() else ""
    own = getattr(value, "__dict__", None) if kind.__name__ in {"Tensor", "Parameter", "ndarray"} else None
    methods = [name for name, part in (own or {}).items() if callable(part) and hasattr(kind, name)]
    return f"{kind.__name__}.{methods[0]}" if methods else ""


def _find_comparing(kind: type, is_candidate: IsCandidateCode, names: dict[str, Any], written: frozenset[str]) -> str:
    """The method, written by the candidate, that decides what such an object is equal to."""
    module = names["__name__"]
    for cls in (*type.mro(kind), type(kind)):
        own = vars(cls)
        is_generated = "__dataclass_fields__" in own or "__attrs_attrs__" in own or "_fields" in own
        is_made = bool(cls.__flags__ & _HEAP) and not _has_name(cls, names)
        is_unknown = is_made or "<locals>" in cls.__qualname__
        is_nameless = is_made and cls.__module__ in {module, "builtins"}
        is_theirs = cls.__module__ == module and cls.__name__ in written
        for name in _COMPARING & own.keys():
            method = own[name]
            if (name == "__class__" and not isinstance(method, property)) or method is None:
                continue  # a dataclass sets `__hash__` to None
            method = method.fget if isinstance(method, property) else getattr(method, "__func__", method)
            code = getattr(method, "__code__", None)
            is_written = isinstance(code, types.CodeType) and is_candidate(code)
            is_made_up = isinstance(code, types.CodeType) and code.co_filename == "<string>" and not is_generated
            is_foreign = (is_nameless or is_theirs) and (is_made_up or not isinstance(code, types.CodeType))
            if is_written or is_foreign or (is_unknown and _is_borrowed(method, cls, name)):
                return f"{cls.__qualname__}.{name}"
    return ""


def _is_borrowed(method: Any, cls: type, name: str) -> bool:  # noqa: ANN401 - any value
    """Was it made for something else than this class?"""
    if isinstance(method, types.FunctionType):
        if method.__code__.co_filename == "<string>" and "__dataclass_fields__" in vars(cls):
            return False
        is_own = method.__qualname__ == f"{cls.__qualname__}.{name}"
        return not is_own and method.__module__ != "functools"  # of total_ordering
    if type(method) in _CALLED:
        return True
    return getattr(method, "__objclass__", cls) is not cls


def _has_name(cls: type, names: dict[str, Any]) -> bool:
    """Is it in its module under its name, or made by a function there, as the project's own classes are?"""
    first, *rest = cls.__qualname__.split(".")
    is_here = cls.__module__ in {names["__name__"], "builtins"}
    found = (names if is_here else getattr(sys.modules.get(cls.__module__), "__dict__", {})).get(first)
    for part in rest:
        found = vars(found).get(part) if isinstance(found, type) else None
    return found is cls or "<locals>" in rest
