"""Sum the tokens, money and seconds of a run's samples; a figure that no sample carries is NaN, not 0."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Usage:
    samples: int
    with_tokens: int
    """Samples that report their tokens."""
    prompt_tokens: float
    completion_tokens: float
    cost: float
    """In the currency of the price table or of the endpoint; mostly US dollars."""
    with_cost: int
    seconds: float


def total_usage(samples: Iterable[dict[str, Any]]) -> Usage:
    """Of sample records: `usage.prompt_tokens`, `usage.completion_tokens`, `cost` (or `usage.cost`), `seconds`."""
    known = list(samples)
    usages = [usage if isinstance(usage := record.get("usage"), dict) else {} for record in known]
    prompts = _numbers(usage.get("prompt_tokens") for usage in usages)
    completions = _numbers(usage.get("completion_tokens") for usage in usages)
    costs = _numbers(record.get("cost", usage.get("cost")) for record, usage in zip(known, usages, strict=True))
    return Usage(
        samples=len(known),
        with_tokens=len(completions),
        prompt_tokens=_total(prompts),
        completion_tokens=_total(completions),
        cost=_total(costs),
        with_cost=len(costs),
        seconds=_total(_numbers(record.get("seconds") for record in known)),
    )


def _numbers(values: Iterable[object]) -> list[float]:
    """People exchange samples by hand: a value that is not a number is ignored and does not end a report."""
    numbers = (float(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool))
    return [number for number in numbers if not math.isnan(number)]


def _total(values: list[float]) -> float:
    return math.fsum(values) if values else math.nan
