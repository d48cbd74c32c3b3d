"""What did a solution return, in a form that can be compared outside?

Numbers, texts, lists and arrays, cut short: enough to tell two behaviours apart, not to rebuild the value. Of an array
the shape and its first numbers; of anything else the name of its class.
"""

from __future__ import annotations

from typing import Any

_MOST = 64
_DEEPEST = 4


def describe(value: Any, depth: int = 0) -> Any:  # noqa: ANN401 - any value, as what JSON has
    try:
        return _describe(value, depth)
    except Exception:
        return {"class": type(value).__name__}


def _describe(value: Any, depth: int) -> Any:  # noqa: ANN401 - any value, as what JSON has
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value[:200]
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(value, "reshape"):
        flat = value.detach() if hasattr(value, "detach") else value
        numbers = flat.reshape(-1)[:_MOST]
        return {
            "shape": [int(size) for size in shape],
            "values": [describe(one, _DEEPEST) for one in numbers.tolist()],
        }
    if depth < _DEEPEST and isinstance(value, list | tuple):
        return [describe(one, depth + 1) for one in value[:_MOST]]
    if depth < _DEEPEST and isinstance(value, dict):
        pairs = list(value.items())[:_MOST]
        return {str(key)[:100]: describe(one, depth + 1) for key, one in pairs}
    return {"class": type(value).__name__}
