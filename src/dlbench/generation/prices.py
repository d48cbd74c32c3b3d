"""What does an answer cost?

By a table that the user can edit, since prices change and ours are only a start; or by what the endpoint itself says it
took. A model that stands in no table costs an unknown sum, which is not nothing.
"""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dlbench.errors import DLBenchError
from dlbench.generation.providers import presets

_MILLION = 1_000_000
_OURS = Path(__file__).with_name("prices.toml")
_FORM = 'write ["NAME"], then input = … and output = … in dollars for a million tokens'


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        return (prompt_tokens * self.input + completion_tokens * self.output) / _MILLION


FREE = Price(0.0, 0.0)


def find_price(model: str, table: Path | None = None) -> Price | None:
    """Of a model by its name, also without the prefix of the default provider; None where no table has it."""
    known = _read(_OURS) | (_read(table) if table is not None else {})
    found = known.get(model) or known.get(f"openai/{model}")
    is_local = presets().get(model.partition("/")[0], {}).get("local", False)
    return found or (FREE if is_local else None)


def read_cost(usage: Mapping[str, Any], price: Price | None) -> float | None:
    """What the endpoint says goes first: it knows what was cached and what was given away. A sum that is none would
    make every later sum pass for less than the most that may be spent."""
    said = usage.get("cost")
    if isinstance(said, int | float) and not isinstance(said, bool) and 0 <= said < math.inf:
        return float(said)
    counted = count_tokens(usage)
    return None if price is None or counted is None else price.of(*counted)


def count_tokens(usage: Mapping[str, Any]) -> tuple[float, float] | None:
    """Of the prompt and of the answer; None where the endpoint does not say."""
    match usage:
        case {"prompt_tokens": int() | float() as prompt, "completion_tokens": int() | float() as completion}:
            return prompt, completion
    return None


def _read(path: Path) -> dict[str, Price]:
    try:
        lines = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DLBenchError(f"cannot be read: {error.strerror}", where=str(path), fix="check --prices") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DLBenchError(f"not TOML: {error}", where=str(path), fix=_FORM) from None
    return {name: _price(line, f"{path}: {name}") for name, line in lines.items()}


def _price(line: object, where: str) -> Price:
    try:
        read = _Line.model_validate(line)
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{'.'.join(map(str, first['loc'])) or 'the entry'}: {first['msg']}"
        raise DLBenchError(what, where=where, fix=_FORM) from None
    return Price(read.input, read.output)
