"""What do a run's verdicts say, overall and by group?

Pure functions over verdict records: a run can be scored again at any time without running anything. Every instance that
was asked counts the same, however many samples it has. Harness errors stay in the denominator, are counted in every row
that they touch, and the summary says how far they could have moved the score.

How much does a score move when the same model is asked again?

Mean, variance and standard deviation (divided by n - 1) over several runs of one model, or over the samples of one run,
of which the first of every instance make one run, the second ones another. What two numbers need cannot be said of one.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from statistics import fmean, variance
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlbench.dataset import Benchmark
from dlbench.scoring.breakdowns import CUTOFFS, LABELS, group
from dlbench.scoring.intervals import NOTHING, Clusters, Interval, find_all_clustered, find_interval, find_intervals
from dlbench.scoring.tally import Tally, mean, tally

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
    """Of many runs, which mostly have the same instances: those are put into groups, and resampled, together."""
    runs_by_ids: defaultdict[tuple[str, ...], list[_Judged]] = defaultdict(list)
    for name, records in runs.items():
        judged = _judge(name, records, benchmark)
        runs_by_ids[tuple(judged.tallies)].append(judged)
    found: dict[str, Summary] = {}
    for ids, alike in runs_by_ids.items():
        groups = _find_groups(ids, benchmark, axes, cutoffs)
        figures = _Figures([list(judged.tallies.values()) for judged in alike], ks)
        rows = zip(*(_score(each, figures) for each in groups), strict=True)
        found |= {judged.name: _summarise(judged, scores) for judged, scores in zip(alike, rows, strict=True)}
    return {name: found[name] for name in runs}


@dataclass(frozen=True)
class _Judged:
    """What is kept of a run's records."""

    name: str
    tallies: dict[str, Tally]
    statuses: dict[str, int]
    truncated: int


def _judge(name: str, records: Iterable[dict[str, Any]], benchmark: Benchmark) -> _Judged:
    known = list(records)
    return _Judged(
        name,
        tally(known, benchmark),
        statuses=dict(Counter(record["status"] for record in known)),
        truncated=sum(record.get("truncated") is True for record in known),
    )


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


def _summarise(judged: _Judged, scores: tuple[Score, ...]) -> Summary:
    tallies = judged.tallies.values()
    return Summary(
        scores=scores,
        statuses=judged.statuses,
        truncated=judged.truncated,
        rate_interval=find_interval([one.rate for one in tallies]),
        if_faults_passed=mean((one.passed + one.harness_errors) / one.samples for one in tallies),
    )


class _Figures:
    """What every row of the table takes its part of: of each run a line for each figure, a column for each instance."""

    def __init__(self, runs: Sequence[Sequence[Tally]], ks: Sequence[int]) -> None:
        self.ks = ks
        self.known = [1, *(k for k in ks if k > 1)]
        lines = [
            [
                [one.samples for one in tallies],
                [one.harness_errors for one in tallies],
                [one.rate for one in tallies],
                [one.share for one in tallies],
                *([one.pass_at(k) for one in tallies] for k in self.known[1:]),
            ]
            for tallies in runs
        ]
        self.lines = np.array(lines, dtype=np.float64)


def _score(group: _Group, figures: _Figures) -> list[Score]:
    """Of one group, a score for each run."""
    size, count = len(group.places), len(figures.known)
    part = figures.lines[:, :, group.places]
    passing = part[:, 3:].reshape(len(part) * count, size)
    totals = part.sum(axis=2).tolist()
    means = [[total / size if size else math.nan for total in each[2:]] for each in totals]
    intervals = find_intervals(passing, [share for each in means for share in each[1:]])
    clustered = find_all_clustered(part[:, 3], group.clusters)
    scores = []
    for run, (each, (rate, *shares)) in enumerate(zip(totals, means, strict=True)):
        pass_at = dict(zip(figures.known, shares, strict=True))
        bounds = dict(zip(figures.known, intervals[run * count : (run + 1) * count], strict=True))
        scores.append(
            Score(
                axis=group.axis,
                label=group.label,
                instances=size,
                samples=int(each[0]),
                pass_at_1=pass_at[1],
                passing_rate=rate,
                interval=bounds[1],
                clustered=clustered[run],
                pass_at={k: pass_at[k] for k in figures.ks},
                pass_at_interval={k: bounds[k] for k in figures.ks},
                harness_errors=int(each[1]),
            )
        )
    return scores


@dataclass(frozen=True)
class Spread:
    runs: int
    mean: float
    variance: float
    deviation: float


def spread(values: Sequence[float]) -> Spread:
    """Σ(x - mean)² / (n - 1) and its root; NaN for fewer than two values."""
    if not values:
        return Spread(0, math.nan, math.nan, math.nan)
    found = variance(values) if len(values) > 1 else math.nan
    return Spread(len(values), fmean(values), found, math.sqrt(found))


def spread_of_samples(records: Iterable[dict[str, Any]]) -> Spread:
    """Over sample numbers, of the share of instances that pass; only numbers that every instance has."""
    passed: defaultdict[int, dict[str, bool]] = defaultdict(dict)
    instances = set()
    for record in records:
        passed[record["sample"]][record["instance"]] = record["status"] == "pass"
        instances.add(record["instance"])
    return spread([fmean(found.values()) for found in passed.values() if len(found) == len(instances)])
