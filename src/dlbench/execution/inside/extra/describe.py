"""Describe a returned value in a form that JSON holds and that can be compared outside the sandbox.

Numbers, text, containers and arrays are shortened, enough to tell two behaviours apart. An array becomes its shape and
some values at equal distances; any other object the name of its class. A shortened value says so, since two values may
differ in the missing part. The total is limited: too long a line would cost other checks their results.
"""

from typing import Any

_MOST = 64
_DEEPEST = 4
_LONGEST = 200
_LEAVES = 512
"""Numbers and pieces of text of one value; about ten kilobytes."""


def describe(value: Any) -> Any:  # noqa: ANN401 - any value, as what JSON has
    return _describe_safely(value, 0, [_LEAVES])


def _describe_safely(value: Any, depth: int, left: list[int]) -> Any:  # noqa: ANN401 - any value, as what JSON has
    try:
        return _describe(value, depth, left)
    except Exception:
        return {"class": type(value).__name__}


def _describe(value: Any, depth: int, left: list[int]) -> Any:  # noqa: ANN401 - any value, as what JSON has
    left[0] -= 1
    if left[0] < 0:
        return {"cut": type(value).__name__}
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > _LONGEST:
        return {"cut": value.bit_length(), "class": "int"}
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str | bytes):
        left[0] -= min(len(value), _LONGEST) // 8
        shown: Any = value[:_LONGEST]
        is_bytes = isinstance(shown, bytes)
        shown = {"bytes": shown.hex()} if is_bytes else shown
        return _mark_cut(shown, "bytes" if is_bytes else "text", len(value), _LONGEST)
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(value, "reshape"):
        return _describe_array(value, shape, left)
    if depth < _DEEPEST and isinstance(value, list | tuple):
        return _mark_cut([_describe_safely(one, depth + 1, left) for one in value[:_MOST]], "list", len(value))
    if depth < _DEEPEST and isinstance(value, set | frozenset):
        shown = sorted((_describe_safely(one, depth + 1, left) for one in value), key=repr)[:_MOST]
        return {"set": shown} | ({"cut": len(value)} if len(value) > _MOST else {})
    if depth < _DEEPEST and isinstance(value, dict):
        found = {}
        for key, one in list(value.items())[:_MOST]:
            name = str(key)[:100]
            left[0] -= len(name) // 8
            found[name] = _describe_safely(one, depth + 1, left)
        return _mark_cut(found, "dict", len(value))
    return {"class": type(value).__name__}


def _describe_array(value: Any, shape: Any, left: list[int]) -> dict[str, Any]:  # noqa: ANN401 - of any library
    flat = (value.detach() if hasattr(value, "detach") else value).reshape(-1)
    size = int(flat.shape[0])
    numbers = flat[:: max(1, -(-size // _MOST))].tolist()
    values = [_describe_safely(one, _DEEPEST, left) for one in numbers]
    return {"shape": [int(one) for one in shape], "values": values} | ({"cut": size} if size > _MOST else {})


def _mark_cut(shown: Any, kind: str, length: int, most: int = _MOST) -> Any:  # noqa: ANN401 - unchanged if complete
    return shown if length <= most else {kind: shown, "cut": length}
