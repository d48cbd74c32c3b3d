"""Do rules, model and people say the same?

Share of failures on which two raters agree, Krippendorff's alpha, which takes away what chance would give, and what one
calls what the other calls. An alpha over failures that only one has looked at says nothing and is n/a.

What do people say of failures?

A vote names a failure by run, instance and sample, a category, and who said it; JSONL or CSV, one a line. A misspelt
category, or a vote on what is no failure here, is refused by file and line: it would be missing from the count in
silence.

How often are answers right, where the truth is known?

Accuracy, and for each category how many of it were found and how many of those named were it. The mean of the F1s over
categories counts a rare one as much as a frequent one: who always says the most frequent has a good accuracy and a bad
mean.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from dlbench.analysis.bugs.evidence import Failure
from dlbench.analysis.bugs.planting.truth import check_category
from dlbench.construction.labelling.votes import read_rows
from dlbench.errors import DLBenchError
from dlbench.scoring.intervals import Interval, find_interval
from dlbench.scoring.tally import mean

Votes = Mapping[str, str]
"""The category, by the failure's id."""

_KEYS = {"run", "instance", "sample", "category", "annotator", "note"}


def read_people(paths: Iterable[Path], failures: Iterable[Failure]) -> dict[str, Votes]:
    """By annotator. The last word of each on a failure counts; without `run`, there must be one run to speak of."""
    known = {(one.run, *one.key): one.id for one in failures}
    runs = {run for run, _, _ in known}
    samples: dict[tuple[str, str], list[int]] = {}
    for run, instance, sample in known:
        samples.setdefault((run, instance), []).append(sample)
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        for row, annotator, where in read_rows(path):
            strange = sorted(set(row) - _KEYS)
            if strange:
                fix = f"use {', '.join(sorted(_KEYS))}"
                raise DLBenchError(f"unknown: {', '.join(map(str, strange))}", where=where, fix=fix)
            if missing := [key for key in ("instance", "category") if not row.get(key)]:
                fix = "each vote names at least an instance and a category"
                raise DLBenchError(f"there is no {', '.join(missing)}", where=where, fix=fix)
            run = row.get("run") or (next(iter(runs)) if len(runs) == 1 else "")
            numbers, given = samples.get((str(run), str(row["instance"])), [0]), row.get("sample")
            if given in (None, "") and len(numbers) > 1:
                what = f"there is no sample, and {len(numbers)} of {row['instance']} failed"
                raise DLBenchError(what, where=where, fix="give `sample`, the number of the one that is meant")
            try:
                key = str(run), str(row["instance"]), int(numbers[0] if given in (None, "") else given)
            except (TypeError, ValueError):
                raise DLBenchError("`sample` is no number", where=where, fix="give 0, 1, 2, …") from None
            if key not in known:
                what = f"no failure: {key[1]}, sample {key[2]}" + (f" of {key[0]}" if key[0] else ", of an unnamed run")
                raise DLBenchError(what, where=where, fix="name run, instance and sample as the list of failures does")
            found.setdefault(str(annotator), {})[known[key]] = check_category(row.get("category"), where)
    return found  # type: ignore[return-value]


@dataclass(frozen=True)
class Pair:
    a: str
    b: str
    failures: int
    """That both have looked at."""
    share: float
    alpha: float
    confusions: tuple[tuple[str, str, int], ...]
    """What a says, what b says, how often; the most frequent first."""


@dataclass(frozen=True)
class Agreement:
    pairs: tuple[Pair, ...]
    alpha: float
    """Of all raters together."""
    failures: int
    """That two of them or more have looked at."""


def agree(raters: Mapping[str, Votes]) -> Agreement:
    return Agreement(
        pairs=tuple(_compare(a, b, raters[a], raters[b]) for a, b in combinations(raters, 2)),
        alpha=measure_alpha(list(raters.values())),
        failures=sum(count > 1 for count in Counter(one for votes in raters.values() for one in votes).values()),
    )


def _compare(a: str, b: str, ours: Votes, theirs: Votes) -> Pair:
    common = [one for one in ours if one in theirs]
    same = sum(ours[one] == theirs[one] for one in common)
    differing = Counter((ours[one], theirs[one]) for one in common if ours[one] != theirs[one])
    ordered = sorted(differing.items(), key=lambda one: (-one[1], one[0]))
    share = same / len(common) if common else math.nan
    return Pair(a, b, len(common), share, measure_alpha([ours, theirs]), tuple((*pair, n) for pair, n in ordered))


def measure_alpha(raters: Sequence[Votes]) -> float:
    """Nominal; NaN where nobody can be compared, or all votes are the same."""
    try:
        import krippendorff
    except ImportError:
        what, fix = "the package krippendorff is not installed", "pip install 'dlbench[analysis]'"
        raise DLBenchError(what, fix=fix) from None

    units = dict.fromkeys(one for votes in raters for one in votes)
    given = [[votes[one] for votes in raters if one in votes] for one in units]
    counted = [Counter(votes) for votes in given if len(votes) > 1]
    values = sorted({value for counts in counted for value in counts})
    if len(values) < 2:
        return math.nan
    table = [[counts[value] for value in values] for counts in counted]
    return float(krippendorff.alpha(value_counts=table, level_of_measurement="nominal"))


@dataclass(frozen=True)
class Row:
    category: str
    planted: int
    named: int
    right: int

    @property
    def recall(self) -> float:
        return self.right / self.planted if self.planted else math.nan

    @property
    def precision(self) -> float:
        return self.right / self.named if self.named else math.nan

    @property
    def f1(self) -> float:
        """NaN where the category was not planted; 0 where it was and never named rightly."""
        return 2 * self.right / (self.planted + self.named) if self.planted else math.nan


@dataclass(frozen=True)
class Measured:
    failures: int
    accuracy: float
    interval: Interval
    macro_f1: float
    """Over the categories that were planted."""
    kinds: float
    """Of the answers whose category is right, and has several subcategories, the share whose subcategory is."""
    rows: tuple[Row, ...]
    confusions: tuple[tuple[str, str, int], ...]
    """Planted, named, how often; the most frequent first."""


def measure(pairs: Sequence[tuple[tuple[str, str], tuple[str, str]]], categories: Mapping[str, int]) -> Measured:
    """`pairs`: category and kind as planted, and as named; `categories`: how many kinds each has."""
    planted = Counter(truth for (truth, _), _ in pairs)
    named = Counter(answer for _, (answer, _) in pairs)
    right = Counter(truth for (truth, _), (answer, _) in pairs if truth == answer)
    wrong = Counter((truth, answer) for (truth, _), (answer, _) in pairs if truth != answer)
    rows = tuple(Row(one, planted[one], named[one], right[one]) for one in categories)
    hits = [float(truth == answer) for (truth, _), (answer, _) in pairs]
    kinds = [float(a == b) for (truth, a), (answer, b) in pairs if truth == answer and categories[truth] > 1]
    known = [row.f1 for row in rows if row.planted]
    return Measured(
        failures=len(pairs),
        accuracy=mean(hits) if hits else math.nan,
        interval=find_interval(hits),
        macro_f1=mean(known) if known else math.nan,
        kinds=mean(kinds) if kinds else math.nan,
        rows=rows,
        confusions=tuple((*pair, count) for pair, count in sorted(wrong.items(), key=lambda one: (-one[1], one[0]))),
    )
