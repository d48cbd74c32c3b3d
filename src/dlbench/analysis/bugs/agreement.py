"""Read people's votes on failures and measure how far raters (rules, LLM judge, people) agree.

A misspelt category, or a vote on something else, is rejected with file and line: it would be missing from the counts.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from dlbench.analysis.bugs import Failure, check_category
from dlbench.construction.labelling import find_alpha
from dlbench.construction.labelling.votes import read_rows
from dlbench.errors import DLBenchError

Votes = Mapping[str, str]
"""By failure id, the category."""

_KEYS = {"run", "instance", "sample", "category", "annotator", "note"}


def read_votes(paths: Iterable[Path], failures: Iterable[Failure]) -> dict[str, Votes]:
    """By annotator. The last vote of an annotator on a failure counts; `run` may be omitted if there is only one."""
    known = {(failure.run, *failure.key): failure.id for failure in failures}
    runs = {run for run, _, _ in known}
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        for row, annotator, where in read_rows(path):
            if unknown := sorted(map(str, set(row) - _KEYS)):
                fix = f"use {', '.join(sorted(_KEYS))}"
                raise DLBenchError(f"unknown key: {', '.join(unknown)}", where=where, fix=fix)
            if missing := [key for key in ("instance", "category") if not row.get(key)]:
                fix = "each vote needs at least an instance and a category"
                raise DLBenchError(f"missing: {', '.join(missing)}", where=where, fix=fix)
            run, instance = str(row.get("run") or (min(runs) if len(runs) == 1 else "")), str(row["instance"])
            index = row.get("sample")
            if index in (None, ""):
                choices = [key[2] for key in known if key[:2] == (run, instance)] or [0]
                if len(choices) > 1:
                    what = f"`sample` is missing, and {len(choices)} samples of {instance} failed"
                    raise DLBenchError(what, where=where, fix="give `sample`, the index of the sample")
                index = choices[0]
            try:
                key = run, instance, int(index)
            except (TypeError, ValueError):
                what = f"`sample` is not a number: {index!r}"
                raise DLBenchError(what, where=where, fix="give 0, 1, 2, …") from None
            if key not in known:
                what = f"not a failure: {instance}, sample {key[2]}" + (f" of {run}" if run else ", of an unnamed run")
                raise DLBenchError(what, where=where, fix="name run, instance and sample as in the list of failures")
            found.setdefault(str(annotator), {})[known[key]] = check_category(row.get("category"), where)
    return dict(found)


def find_majority(people: Iterable[Votes]) -> Votes:
    """The category that most people chose for each failure; a failure without a majority is left out."""
    counts: dict[str, Counter[str]] = {}
    for votes in people:
        for failure, category in votes.items():
            counts.setdefault(failure, Counter())[category] += 1
    top = {failure: count.most_common(2) for failure, count in counts.items()}
    return {failure: each[0][0] for failure, each in top.items() if len(each) == 1 or each[0][1] > each[1][1]}


@dataclass(frozen=True)
class Pair:
    a: str
    b: str
    failures: int
    share: float
    alpha: float
    confusions: tuple[tuple[str, str, int], ...]
    """Category by a, category by b, count; most frequent first."""


@dataclass(frozen=True)
class Agreement:
    pairs: tuple[Pair, ...]
    alpha: float
    failures: int
    """Failures that two raters or more have rated."""


def measure_agreement(raters: Mapping[str, Votes]) -> Agreement:
    return Agreement(
        pairs=tuple(_compare(a, b, raters[a], raters[b]) for a, b in combinations(raters, 2)),
        alpha=measure_alpha(list(raters.values())),
        failures=sum(count > 1 for count in Counter(one for votes in raters.values() for one in votes).values()),
    )


def _compare(a: str, b: str, by_a: Votes, by_b: Votes) -> Pair:
    both = [(by_a[one], by_b[one]) for one in by_a if one in by_b]
    share = sum(first == second for first, second in both) / len(both) if both else math.nan
    different = Counter(pair for pair in both if pair[0] != pair[1])
    ordered = sorted(different.items(), key=lambda one: (-one[1], one[0]))
    return Pair(a, b, len(both), share, measure_alpha([by_a, by_b]), tuple((*pair, count) for pair, count in ordered))


def measure_alpha(raters: Sequence[Votes]) -> float:
    """Nominal; NaN if no failure has two votes or all votes are the same."""
    failures = dict.fromkeys(one for votes in raters for one in votes)
    counts = [Counter(votes[one] for votes in raters if one in votes) for one in failures]
    counts = [one for one in counts if one.total() > 1]
    categories = sorted({category for one in counts for category in one})
    return find_alpha([[one[category] for category in categories] for one in counts], "analysis")
