"""Compute the cost of an answer from a price table, or from what the endpoint reports.

Prices change and ours are a start, so users can pass their own table. A model that is in no table has an unknown cost,
not zero.
"""

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

from dlbench.errors import DLBenchError
from dlbench.generation.providers import presets

_MILLION = 1_000_000
_OURS = Path(__file__).with_name("prices.toml")
_FORM = 'write ["NAME"], then input = … and output = … in dollars per million tokens'


@dataclass(frozen=True, config=ConfigDict(extra="forbid", strict=True))
class Price:
    """US dollars per million tokens."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        return (prompt_tokens * self.input + completion_tokens * self.output) / _MILLION


FREE = Price(0.0, 0.0)


def find_price(model: str, table: Path | None = None) -> Price | None:
    """The price of a model, also without the prefix of the default provider; None if no table has it."""
    prices = _read(_OURS) | (_read(table) if table is not None else {})
    found = prices.get(model) or prices.get(f"openai/{model}")
    is_local = presets().get(model.partition("/")[0], {}).get("local", False)
    return found or (FREE if is_local else None)


def read_cost(usage: Mapping[str, Any], price: Price | None) -> float | None:
    """The endpoint's own figure comes first: it knows about caches and discounts. NaN or a negative cost is ignored:
    added to a sum, it would disable the limit."""
    reported = usage.get("cost")
    if isinstance(reported, int | float) and not isinstance(reported, bool) and 0 <= reported < math.inf:
        return float(reported)
    counted = count_tokens(usage)
    return None if price is None or counted is None else price.of(*counted)


def count_tokens(usage: Mapping[str, Any]) -> tuple[float, float] | None:
    """Prompt and completion tokens; None if the endpoint does not report them."""
    match usage:
        case {"prompt_tokens": int() | float() as prompt, "completion_tokens": int() | float() as completion}:
            return prompt, completion
    return None


def _read(path: Path) -> dict[str, Price]:
    where = str(path)
    try:
        prices = {}
        for name, line in tomllib.loads(path.read_text(encoding="utf-8")).items():
            where = f"{path}: {name}"
            prices[name] = Price(**(line if isinstance(line, dict) else {}))
    except OSError as error:
        raise DLBenchError(f"cannot be read: {error.strerror}", where=where, fix="check --prices") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise DLBenchError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", where=where, fix=_FORM) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DLBenchError(f"not TOML: {error}", where=where, fix=_FORM) from None
    return prices
