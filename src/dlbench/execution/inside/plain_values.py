"""Take immutable values apart into plain parts, and put them together again.

Each kind of value has a name, a function that returns its parts, and a function that makes an equal value from them. No
part is ever called, so that made-up parts can do no harm beyond a wrong value.
"""

import datetime
import decimal
import fractions
import functools
import importlib
import logging
import pathlib
import re
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any


class Unreplayable(Exception):
    """The value cannot be sent as plain data, or what was received is not."""


Parts = tuple[Any, ...]
_STANDARD: dict[type, tuple[Callable[[Any], Parts], Callable[..., Any]]] = {
    complex: (lambda value: (value.real, value.imag), complex),
    slice: (lambda value: (value.start, value.stop, value.step), slice),
    range: (lambda value: (value.start, value.stop, value.step), range),
    frozenset: (lambda value: (list(value),), frozenset),
    bytearray: (lambda value: (bytes(value),), bytearray),
    type(Ellipsis): (lambda value: (), lambda: Ellipsis),
    decimal.Decimal: (lambda value: (str(value),), decimal.Decimal),
    fractions.Fraction: (lambda value: (value.numerator, value.denominator), fractions.Fraction),
    datetime.date: (lambda value: (value.year, value.month, value.day), datetime.date),
    datetime.datetime: (lambda value: (value.isoformat(),), datetime.datetime.fromisoformat),
    datetime.timedelta: (lambda value: (value.days, value.seconds, value.microseconds), datetime.timedelta),
    pathlib.PosixPath: (lambda value: (str(value),), pathlib.PosixPath),
    logging.Logger: (lambda value: (value.name,), logging.getLogger),
    re.Pattern: (lambda value: (value.pattern, value.flags), re.compile),
    weakref.ReferenceType: (lambda value: (value(),), weakref.ref),
    functools.partial: (
        lambda value: (value.func, value.args, value.keywords),
        lambda function, arguments, keywords: functools.partial(function, *arguments, **keywords),
    ),
}
_MAKERS: dict[str, Callable[..., Any]] = {
    f"{kind.__module__}.{kind.__name__}": made for kind, (_, made) in _STANDARD.items()
}
_PLAIN = (type(None), bool, int, float, str, bytes, list)
_MOST_ITEMS = 100_000
_PANDAS_TYPE = re.compile(r"str|string|boolean|(U?Int|Float)\d+")


def take_apart(value: Any) -> tuple[str, Parts] | None:  # noqa: ANN401 - any value
    """The name of its kind and its parts; None for everything else."""
    kind = type(value)
    if kind in _STANDARD:
        return f"{kind.__module__}.{kind.__name__}", _STANDARD[kind][0](value)
    root, name = kind.__module__.partition(".")[0], kind.__name__
    if isinstance(value, types.GeneratorType | map | zip | filter) or name.endswith("_iterator"):
        return "iterator", (_take_all(value),)
    if root == "numpy":
        return _take_numpy_apart(value)
    if kind.__module__ == "torch" and name in {"dtype", "device", "layout", "memory_format", "Size"}:
        return f"torch.{name}", (list(value) if name == "Size" else str(value).removeprefix("torch."),)
    if root == "jaxlib" and name == "ArrayImpl":
        return "jax", (sys.modules["numpy"].asarray(value),)
    if name == "EagerTensor":
        return "tensorflow", (value.numpy(),)
    if root == "pyarrow" and isinstance(value, sys.modules["pyarrow"].Array):
        return "pyarrow", (value.to_pylist(), str(value.type))
    if root == "polars" and name in {"DataFrame", "Series"}:
        if name == "DataFrame":
            return "polars.DataFrame", (value.get_columns(),)
        unit = getattr(value.dtype, "time_unit", None)  # of dates with a time
        return "polars.Series", (value.name, value.dtype.base_type().__name__, [unit] if unit else [], value.to_list())
    return _take_pandas_apart(value) if root == "pandas" else None


def _take_numpy_apart(value: Any) -> tuple[str, Parts] | None:  # noqa: ANN401
    numpy = sys.modules["numpy"]
    if isinstance(value, numpy.dtype):
        return "numpy.dtype", (name_dtype(value),)
    if isinstance(value, numpy.generic) and not isinstance(value, numpy.object_):
        return "numpy.scalar", (name_dtype(value.dtype), value.tobytes())
    return None


def _take_pandas_apart(value: Any) -> tuple[str, Parts] | None:  # noqa: ANN401
    """Tables are sent as values: a change in place by the candidate is not seen by the tests."""
    pandas, kind = sys.modules["pandas"], type(value)
    if kind is pandas.RangeIndex:
        return "pandas.RangeIndex", (value.start, value.stop, value.step, value.name)
    if kind in (pandas.Index, pandas.Series, pandas.DatetimeIndex):
        index = value.index if kind is pandas.Series else getattr(value, "freqstr", None)
        if isinstance(value.dtype, sys.modules["numpy"].dtype):
            return f"pandas.{kind.__name__}", (value.to_numpy(copy=True), None, index, value.name)
        if _PANDAS_TYPE.fullmatch(str(value.dtype)):
            values = [None if is_missing else one for one, is_missing in zip(value, value.isna(), strict=True)]
            return f"pandas.{kind.__name__}", (values, str(value.dtype), index, value.name)
    if isinstance(value, pandas.offsets.BaseOffset) and "<" not in value.freqstr:  # that one has no text
        return "pandas.offset", (value.freqstr,)
    if kind is pandas.DataFrame:
        return "pandas.DataFrame", (
            [value.iloc[:, place] for place in range(value.shape[1])],
            value.index,
            value.columns,
        )
    return None


def put_together(name: str, parts: Parts, *, is_trusted: bool) -> Any:  # noqa: ANN401
    """The reverse of `take_apart`; raises Unreplayable for an unknown kind, and for parts that could be called."""
    if not is_trusted:
        _check_parts(name, parts)
    elif name.startswith(("pandas", "polars", "pyarrow")):
        importlib.import_module(name.partition(".")[0])  # the candidate's process may not have needed it yet
    if name in _MAKERS:
        return _MAKERS[name](*parts)
    numpy, torch, pandas = map(sys.modules.get, ("numpy", "torch", "pandas"))
    match name, parts:
        case "iterator", [list(items)]:
            return (one for one in items)
        case "numpy.dtype", [str() | list() as dtype]:
            return read_dtype(dtype)
        case "numpy.scalar", [str() | list() as dtype, bytes(data)] if numpy is not None:
            found = numpy.frombuffer(data, read_dtype(dtype))
            if not is_trusted:
                check_booleans(found)
            (made,) = found
            return made
        case "torch.Size", [list(sizes)] if torch is not None:
            return torch.Size(sizes)
        case "torch.device", [str(text)] if torch is not None:
            return torch.device(text)
        case "torch.dtype" | "torch.layout" | "torch.memory_format", [str(text)] if torch is not None:
            found = getattr(torch, text)
            if type(found) is getattr(torch, name.removeprefix("torch.")):
                return found
        case "jax", [array]:
            return sys.modules["jax.numpy"].asarray(array)
        case "tensorflow", [array]:
            return sys.modules["tensorflow"].convert_to_tensor(array)
        case "pyarrow", [list(values), str(dtype)]:
            return sys.modules["pyarrow"].array(values, dtype)
        case "polars.DataFrame", [list(columns)]:
            return sys.modules["polars"].DataFrame(columns)
        case "polars.Series", [str(label), str(dtype), list(units), list(values)]:
            polars = sys.modules["polars"]
            found = getattr(polars, dtype)
            if isinstance(found, type) and issubclass(found, polars.DataType):
                return polars.Series(label, values, found(*units))
        case "pandas.offset", [str(text)]:
            return sys.modules["pandas.tseries.frequencies"].to_offset(text)
        case "pandas.RangeIndex", [start, stop, step, label] if pandas is not None:
            return pandas.RangeIndex(start, stop, step, name=label)
        case "pandas.Index" | "pandas.DatetimeIndex" | "pandas.Series", [values, dtype, index, label]:
            return _make_pandas(name.removeprefix("pandas."), values, dtype, index, label)
        case "pandas.DataFrame", [list(columns), index, names] if pandas is not None:
            made = pandas.DataFrame(dict(enumerate(columns)), index=index)
            made.columns = names
            return made
    raise Unreplayable(f"a value of kind {name}")


def _make_pandas(name: str, values: Any, dtype: str | None, index: Any, label: Any) -> Any:  # noqa: ANN401
    if dtype is not None and not _PANDAS_TYPE.fullmatch(dtype):
        raise Unreplayable(f"a table of type {dtype}")
    more = {"Series": {"index": index}, "DatetimeIndex": {"freq": index}}.get(name, {})
    kind = getattr(sys.modules["pandas"], name)
    return kind(values, dtype=values.dtype if dtype is None else dtype, name=label, **more)


def _check_parts(name: str, parts: Parts) -> None:
    """Makers of libraries ask their parts for special methods, so the parts must be of exact types."""
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    arrays = (numpy.ndarray,) if numpy is not None else ()
    tables = (pandas.Index, pandas.RangeIndex, pandas.DatetimeIndex, pandas.Series) if pandas is not None else ()
    if name == "functools.partial" or (name == "weakref.ReferenceType" and len(parts) != 1):
        raise Unreplayable(f"a value of kind {name}")
    if name in {"weakref.ReferenceType", "builtins.slice", "iterator"}:  # they only hold them
        return
    pending = list(parts)
    while pending:
        part = pending.pop()
        kind = type(part)
        is_series = kind.__module__.startswith("polars.") and kind.__name__ == "Series"
        if kind in (list, tuple):
            pending += part
        elif kind not in _PLAIN and kind not in (*arrays, *tables) and kind.__module__ != "numpy" and not is_series:
            raise Unreplayable(f"a value of kind {name} with other parts")


def _take_all(values: Any) -> list[Any]:  # noqa: ANN401
    found = []
    for one in values:
        found.append(one)
        if len(found) > _MOST_ITEMS:
            raise Unreplayable(f"an iterator of more than {_MOST_ITEMS:,} items")
    return found


def name_dtype(dtype: Any) -> Any:  # noqa: ANN401
    if dtype.hasobject:
        raise Unreplayable("an array of structures with objects")
    return [list(map(_list, field)) for field in dtype.descr] if dtype.fields else dtype.str


def _list(value: Any) -> Any:  # noqa: ANN401
    return list(value) if isinstance(value, tuple) else value


def check_booleans(array: Any) -> None:  # noqa: ANN401
    """A byte of a boolean array that is neither 0 nor 1 is equal to nothing or to everything."""
    if array.dtype.names:
        for name in array.dtype.names:
            check_booleans(array[name])
    elif array.dtype.kind == "b" and array.tobytes().strip(b"\0\1"):
        raise Unreplayable("a boolean array with other values")


def read_dtype(name: Any) -> Any:  # noqa: ANN401
    fields = (
        [tuple(tuple(one) if isinstance(one, list) else one for one in field) for field in name]
        if isinstance(name, list)
        else name
    )
    found = sys.modules["numpy"].dtype(fields)
    if found.hasobject:
        raise Unreplayable("an array of objects given as bytes")
    return found
