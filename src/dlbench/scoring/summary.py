"""What do a run's verdicts say, overall and by group?

Pure functions over verdict records: a run can be scored again at any time without running anything. Every instance that
was asked counts the same, however many samples it has. Harness errors stay in the denominator, are counted in every row
that they touch, and the summary says how far they could have moved the score.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from dlbench.dataset import Benchmark
from dlbench.scoring.groups import CUTOFFS, LABELS, group
from dlbench.scoring.intervals import NOTHING, Interval, find_clustered, find_interval
from dlbench.scoring.passk import mean
from dlbench.scoring.tally import Tally, tally

KS = (1, 3, 5, 10)


@dataclass(frozen=True)
class Score:
    """One row of a table: a group of instances and how they went."""

    axis: str
    label: str
    instances: int
    samples: int
    pass_at_1: float
    passing_rate: float
    """Mean over instances of the share of tests passed."""
    interval: Interval = NOTHING
    """Of pass@1."""
    clustered: Interval = NOTHING
    """Of pass@1, when whole projects are resampled."""
    pass_at: dict[int, float] = field(default_factory=dict)
    """pass@k by k; NaN where an instance of the group has fewer than k samples."""
    harness_errors: int = 0


@dataclass(frozen=True)
class Summary:
    scores: tuple[Score, ...]
    statuses: dict[str, int]
    rate_interval: Interval
    """Of the overall average passing rate."""
    if_faults_passed: float
    """pass@1 if every harness error had been a pass: the score lies between `overall.pass_at_1` and this."""

    @property
    def overall(self) -> Score:
        return self.scores[0]


def summarise(
    records: Iterable[dict[str, Any]],
    benchmark: Benchmark,
    axes: Sequence[str] = LABELS,
    cutoffs: Sequence[date] = CUTOFFS,
    ks: Sequence[int] = KS,
) -> Summary:
    """`axes`: any of `groups.BREAKDOWNS`; `cutoffs` are the days of the axis `live`."""
    known = list(records)
    tallies = tally(known, benchmark)
    columns = _Columns(tallies, benchmark, ks)
    groups = group(tallies, benchmark, axes, cutoffs)
    return Summary(
        scores=tuple(_score(axis, label, ids, columns) for (axis, label), ids in groups.items()),
        statuses=dict(Counter(record["status"] for record in known)),
        rate_interval=find_interval(list(columns.rates.values())),
        if_faults_passed=mean((one.passed + one.harness_errors) / one.samples for one in tallies.values()),
    )


class _Columns:
    """What every row looks up of its instances, computed once."""

    def __init__(self, tallies: dict[str, Tally], benchmark: Benchmark, ks: Sequence[int]) -> None:
        self.tallies = tallies
        self.shares = {name: one.share for name, one in tallies.items()}
        self.rates = {name: one.rate for name, one in tallies.items()}
        self.projects = {name: benchmark.instances[name].project for name in tallies}
        self.pass_at = {k: {name: one.pass_at(k) for name, one in tallies.items()} for k in ks}


def _score(axis: str, label: str, ids: list[str], columns: _Columns) -> Score:
    shares = [columns.shares[one] for one in ids]
    clusters: defaultdict[str, list[float]] = defaultdict(list)
    for one, share in zip(ids, shares, strict=True):
        clusters[columns.projects[one]].append(share)
    return Score(
        axis=axis,
        label=label,
        instances=len(ids),
        samples=sum(columns.tallies[one].samples for one in ids),
        pass_at_1=mean(shares),
        passing_rate=mean(map(columns.rates.__getitem__, ids)),
        interval=find_interval(shares),
        clustered=find_clustered(clusters),
        pass_at={k: mean(map(known.__getitem__, ids)) for k, known in columns.pass_at.items()},
        harness_errors=sum(columns.tallies[one].harness_errors for one in ids),
    )
