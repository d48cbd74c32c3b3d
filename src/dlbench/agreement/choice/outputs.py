"""Are two outputs the same, but for the noise of floating-point arithmetic?

Two right solutions that add up in another order differ in the last digits; who compares them bit by bit finds no two
that agree. Outputs are compared as they were described inside the sandbox: numbers, texts, lists, and arrays by shape
and values. Kinds of numbers (float32 or float64) count as the same; shapes do not.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

RELATIVE = 1e-5
ABSOLUTE = 1e-8


def are_near(one: Any, other: Any, *, relative: float = RELATIVE, absolute: float = ABSOLUTE) -> bool:  # noqa: ANN401 - what JSON has
    """The same structure, and numbers within the larger of both tolerances; nan is near nan."""
    if _is_number(one) and _is_number(other):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return math.isclose(one, other, rel_tol=relative, abs_tol=absolute)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(
            are_near(one[key], other[key], relative=relative, absolute=absolute) for key in one
        )
    if _is_list(one) and _is_list(other):
        return len(one) == len(other) and all(
            are_near(left, right, relative=relative, absolute=absolute) for left, right in zip(one, other, strict=True)
        )
    return type(one) is type(other) and bool(one == other)


def tells(output: Any) -> bool:  # noqa: ANN401 - what JSON has
    """Whether it says what was returned: nothing, an error, and a bare class or cut text say only a part."""
    if isinstance(output, Mapping):
        return not output.keys() & {"class", "raised", "cut"} and all(tells(value) for value in output.values())
    if _is_list(output):
        return all(tells(value) for value in output)
    return output is not None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
