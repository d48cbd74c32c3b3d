"""Do rules, model and people say the same?

Share of failures on which two raters agree, Krippendorff's alpha, which takes away what chance would give, and what one
calls what the other calls. An alpha over failures that only one has looked at says nothing and is n/a.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from dlbench.analysis.bugs.votes import Votes
from dlbench.errors import DLBenchError


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
        what, mend = "the package krippendorff is not installed", "pip install 'dlbench[analysis]'"
        raise DLBenchError(what, mend=mend) from None

    units = dict.fromkeys(one for votes in raters for one in votes)
    given = [[votes[one] for votes in raters if one in votes] for one in units]
    counted = [Counter(votes) for votes in given if len(votes) > 1]
    values = sorted({value for counts in counted for value in counts})
    if len(values) < 2:
        return math.nan
    table = [[counts[value] for value in values] for counts in counted]
    return float(krippendorff.alpha(value_counts=table, level_of_measurement="nominal"))
