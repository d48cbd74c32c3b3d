"""What do a run's verdicts say, overall and by group?

Pure functions over verdict records: a run can be scored again at any time without running anything. Every instance that
was asked counts the same, however many samples it has. Harness errors stay in the denominator, are counted in every row
that they touch, and the summary says how far they could have moved the score.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlbench.dataset import Benchmark
from dlbench.scoring.groups import CUTOFFS, LABELS, group
from dlbench.scoring.intervals import NOTHING, Interval, find_clustered, find_interval, find_intervals
from dlbench.scoring.passk import mean
from dlbench.scoring.resample import Clusters
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
    pass_at_interval: dict[int, Interval] = field(default_factory=dict)
    """Of each pass@k, with the same resamples as pass@1; n/a where pass@k is NaN."""
    harness_errors: int = 0


@dataclass(frozen=True)
class Summary:
    scores: tuple[Score, ...]
    statuses: dict[str, int]
    truncated: int
    """Answers that stop in the middle, whatever became of them."""
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
    return summarise_all({"": records}, benchmark, axes, cutoffs, ks)[""]


def summarise_all(
    runs: Mapping[str, Iterable[dict[str, Any]]],
    benchmark: Benchmark,
    axes: Sequence[str] = LABELS,
    cutoffs: Sequence[date] = CUTOFFS,
    ks: Sequence[int] = KS,
) -> dict[str, Summary]:
    """Of many runs, which mostly have the same instances: those are put into groups once."""
    known: dict[tuple[str, ...], list[_Group]] = {}
    found = {}
    for name, records in runs.items():
        judged = list(records)
        tallies = tally(judged, benchmark)
        ids = tuple(tallies)
        if ids not in known:
            known[ids] = _find_groups(ids, benchmark, axes, cutoffs)
        found[name] = _summarise(judged, list(tallies.values()), known[ids], ks)
    return found


@dataclass(frozen=True)
class _Group:
    """A row of the table before anything is known of a run: where its instances stand among all."""

    axis: str
    label: str
    places: NDArray[np.int64]
    clusters: Clusters


def _find_groups(
    ids: Sequence[str], benchmark: Benchmark, axes: Sequence[str], cutoffs: Sequence[date]
) -> list[_Group]:
    place_of = {one: place for place, one in enumerate(ids)}
    return [
        _Group(
            axis,
            label,
            np.array([place_of[one] for one in members], dtype=np.int64),
            Clusters(benchmark.instances[one].project for one in members),
        )
        for (axis, label), members in group(ids, benchmark, axes, cutoffs).items()
    ]


def _summarise(
    records: list[dict[str, Any]], tallies: Sequence[Tally], groups: Iterable[_Group], ks: Sequence[int]
) -> Summary:
    columns = _Columns(tallies, ks)
    return Summary(
        scores=tuple(_score(each, columns) for each in groups),
        statuses=dict(Counter(record["status"] for record in records)),
        truncated=sum(record.get("truncated") is True for record in records),
        rate_interval=find_interval([one.rate for one in tallies]),
        if_faults_passed=mean((one.passed + one.harness_errors) / one.samples for one in tallies),
    )


class _Columns:
    """What every row takes its part of: a line for each figure, a column for each instance."""

    def __init__(self, tallies: Sequence[Tally], ks: Sequence[int]) -> None:
        self.ks = ks
        self.larger = [k for k in ks if k > 1]
        lines = [
            [one.samples for one in tallies],
            [one.harness_errors for one in tallies],
            [one.rate for one in tallies],
            [one.share for one in tallies],
            *([one.pass_at(k) for one in tallies] for k in self.larger),
        ]
        self.figures = np.array(lines, dtype=np.float64)


def _score(group: _Group, columns: _Columns) -> Score:
    size = len(group.places)
    figures = columns.figures[:, group.places]
    samples, harness_errors, *totals = figures.sum(axis=1).tolist()
    rate, *means = [total / size if size else math.nan for total in totals]
    intervals = find_intervals(figures[3:], means)
    pass_at = dict(zip([1, *columns.larger], means, strict=True))
    bounds = dict(zip([1, *columns.larger], intervals, strict=True))
    return Score(
        axis=group.axis,
        label=group.label,
        instances=size,
        samples=int(samples),
        pass_at_1=means[0],
        passing_rate=rate,
        interval=intervals[0],
        clustered=find_clustered(figures[3], group.clusters),
        pass_at={k: pass_at[k] for k in columns.ks},
        pass_at_interval={k: bounds[k] for k in columns.ks},
        harness_errors=int(harness_errors),
    )
