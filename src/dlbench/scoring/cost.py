"""What did the answers cost?

Tokens, money and seconds, summed over the samples that say so. A model that reports no usage has not cost nothing: a
figure that no sample carries is NaN, and how many samples carry one stands beside it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Usage:
    samples: int
    with_tokens: int
    """How many of the samples say how many tokens they took."""
    prompt_tokens: float
    completion_tokens: float
    cost: float
    """In the currency of the price table or of the endpoint; mostly US dollars."""
    with_cost: int
    seconds: float


def total_usage(samples: Iterable[dict[str, Any]]) -> Usage:
    """Of sample records: `usage.prompt_tokens`, `usage.completion_tokens`, `cost` (or `usage.cost`), `seconds`."""
    known = list(samples)
    usages = [_object(record.get("usage")) for record in known]
    prompts = [_number(usage.get("prompt_tokens")) for usage in usages]
    completions = [_number(usage.get("completion_tokens")) for usage in usages]
    costs = [_number(record.get("cost", usage.get("cost"))) for record, usage in zip(known, usages, strict=True)]
    return Usage(
        samples=len(known),
        with_tokens=sum(not math.isnan(tokens) for tokens in completions),
        prompt_tokens=_total(prompts),
        completion_tokens=_total(completions),
        cost=_total(costs),
        with_cost=sum(not math.isnan(cost) for cost in costs),
        seconds=_total([_number(record.get("seconds")) for record in known]),
    )


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float:
    """People exchange samples by hand: what is not a number is none, and does not end a report."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def _total(values: list[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) if known else math.nan
