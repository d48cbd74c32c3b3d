"""Count how each instance went, from which all scores are computed, and sum tokens and money of samples.

A tampered verdict passes no test. Harness errors are counted separately: one that looked like a plain failure would be
a zero that the model did not earn. What cannot be computed is NaN, never 0.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any, TypeVar

from dlbench.dataset.tracks import TrackBenchmark
from dlbench.registry import find_known
from dlbench.runs.verdict import share_passed

HARNESS_ERROR = "harness_error"
Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


@cache  # few distinct counts, needed again in every row of every table
def pass_at_k(samples: int, passed: int, k: int) -> float:
    """1 - C(n-c, k) / C(n, k): the probability that k of the n samples, drawn at random, contain one that passes."""
    if not 0 <= passed <= samples:
        raise ValueError(f"{passed} of {samples} samples cannot have passed")
    if k < 1 or samples < k:
        return math.nan
    return 1.0 - math.comb(samples - passed, k) / math.comb(samples, k)


def mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known) if known else math.nan


def group_by(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    found: defaultdict[Key, list[Item]] = defaultdict(list)
    for item in items:
        found[key(item)].append(item)
    return dict(found)


@dataclass(frozen=True)
class Tally:
    """One instance: its samples, how many passed, and how many are harness errors."""

    instance: str
    samples: int
    passed: int
    rate: float
    """Mean over samples of the share of tests passed."""
    harness_errors: int = 0
    passed_plus: float = math.nan
    """How many passed and did not fail on further inputs; NaN if the run was not judged on any."""

    @property
    def share(self) -> float:
        """pass@1: the share of samples that pass."""
        return self.passed / self.samples

    @property
    def solved(self) -> bool:
        """More than half of the samples pass; with one sample, that it passes."""
        return 2 * self.passed > self.samples


def tally(records: Iterable[dict[str, Any]], benchmark: TrackBenchmark) -> dict[str, Tally]:
    """By instance, in the order of their first record. An instance that the benchmark does not have is an error."""
    found = {}
    every = list(records)
    has_plus = any("plus" in record for record in every)
    for instance, known in group_by(every, itemgetter("instance")).items():
        find_known(instance, benchmark.instances, "instance")
        statuses = [record["status"] for record in known]
        found[instance] = Tally(
            instance=instance,
            samples=len(known),
            passed=statuses.count("pass"),
            rate=mean(share_passed(record["status"], record["tests"].values()) for record in known),
            harness_errors=statuses.count(HARNESS_ERROR),
            passed_plus=sum(map(passes_plus, known)) if has_plus else math.nan,
        )
    return found


def passes_plus(record: Mapping[str, Any]) -> bool:
    """Whether it passed all tests and did not fail on further inputs; an instance may have none."""
    return record["status"] == "pass" and record.get("plus") != "failed"


def apply_plus(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records, with a failure on further inputs as a failure."""
    return [
        record | {"status": "fail"} if record["status"] == "pass" and not passes_plus(record) else record
        for record in records
    ]


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
    with_prompt_tokens: int

    @property
    def tokens_per_sample(self) -> tuple[float, float]:
        """Of the prompt and of the completion, over the samples that report them."""
        pairs = ((self.prompt_tokens, self.with_prompt_tokens), (self.completion_tokens, self.with_tokens))
        prompt, completion = (total / count if count else math.nan for total, count in pairs)
        return prompt, completion


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
        with_prompt_tokens=len(prompts),
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
