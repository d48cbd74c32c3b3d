"""How do scores become JSON? Records become objects, and what is not a number becomes null: JSON has no NaN."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any


def make_plain(value: object) -> Any:  # noqa: ANN401 - whatever JSON has
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: make_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): make_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [make_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
