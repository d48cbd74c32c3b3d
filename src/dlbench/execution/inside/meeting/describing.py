"""What did a solution return, in a form that can be compared outside?

Numbers, texts, lists and arrays, cut short: enough to tell two behaviours apart, not to rebuild the value. Of an array
the shape, its first numbers and, where there are more, their sum; of anything else the name of its class. All of it
together stays small: a line of the channel that is too long is no line at all, and would cost other meetings theirs.
"""

from __future__ import annotations

from typing import Any

_MOST = 64
_DEEPEST = 4
_LEAVES = 512
"""Numbers and pieces of text of one value; some ten kilobytes."""


def describe(value: Any) -> Any:  # noqa: ANN401 - any value, as what JSON has
    return _describe_safely(value, 0, [_LEAVES])


def _describe_safely(value: Any, depth: int, left: list[int]) -> Any:  # noqa: ANN401 - any value, as what JSON has
    try:
        return _describe(value, depth, left)
    except Exception:
        return {"class": type(value).__name__}


def _describe(value: Any, depth: int, left: list[int]) -> Any:  # noqa: ANN401 - any value, as what JSON has
    left[0] -= 1 + len(value) // 20 if isinstance(value, str | bytes) else 1
    if left[0] < 0:
        return {"cut": type(value).__name__}
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return {"class": "int", "bits": value.bit_length()}
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value[:200]
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, bytes):
        return {"bytes": value[:100].hex(), "length": len(value)}
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(value, "reshape"):
        return _describe_array(value, shape, left)
    if depth < _DEEPEST and isinstance(value, list | tuple):
        return [_describe_safely(one, depth + 1, left) for one in value[:_MOST]]
    if depth < _DEEPEST and isinstance(value, set | frozenset):
        return {"set": sorted((_describe_safely(one, depth + 1, left) for one in value), key=repr)[:_MOST]}
    if depth < _DEEPEST and isinstance(value, dict):
        pairs = list(value.items())[:_MOST]
        return {str(key)[:100]: _describe_safely(one, depth + 1, left) for key, one in pairs}
    return {"class": type(value).__name__}


def _describe_array(value: Any, shape: Any, left: list[int]) -> dict[str, Any]:  # noqa: ANN401 - of any library
    flat = (value.detach() if hasattr(value, "detach") else value).reshape(-1)
    numbers = flat[:_MOST].tolist()
    told = {
        "shape": [int(size) for size in shape],
        "values": [_describe_safely(one, _DEEPEST, left) for one in numbers],
    }
    if flat.shape[0] > _MOST:
        told["sum"] = _describe_safely(flat.sum().tolist(), _DEEPEST, left)
    return told
