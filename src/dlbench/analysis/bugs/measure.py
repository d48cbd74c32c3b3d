"""How often are answers right, where the truth is known?

Accuracy, and for each category how many of it were found and how many of those named were it. The mean of the F1s over
categories counts a rare one as much as a frequent one: who always says the most frequent has a good accuracy and a bad
mean.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dlbench.scoring.intervals import Interval, find_interval
from dlbench.scoring.tally import mean


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
