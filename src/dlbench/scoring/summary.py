"""Summarise a run's verdicts, overall and by group, and its run-to-run variance.

Every instance counts the same, however many samples it has. Harness errors stay in the denominator, are counted in
every row that they touch, and the summary bounds how far they could have moved the score.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from operator import itemgetter
from statistics import fmean, variance
from typing import Any

import numpy as np

from dlbench.dataset.tracks import TrackBenchmark
from dlbench.scoring import intervals
from dlbench.scoring.breakdowns import CUTOFFS, LABELS, group
from dlbench.scoring.intervals import NOTHING, Clusters, Floats, Interval
from dlbench.scoring.tally import Tally, group_by, mean, pass_at_k, tally

KS = (1, 3, 5, 10)


@dataclass(frozen=True)
class Score:
    """One row of a table: a group of instances and its results."""

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
    """Of pass@1 when whole projects are resampled."""
    rate_clustered: Interval = NOTHING
    """Of the share of tests passed, when whole projects are resampled; Wilson's of as many projects where few are."""
    pass_at: dict[int, float] = field(default_factory=dict)
    """pass@k by k; NaN where an instance of the group has fewer than k samples."""
    pass_at_interval: dict[int, Interval] = field(default_factory=dict)
    """Of each pass@k, with the same resamples as pass@1; n/a where pass@k is NaN."""
    harness_errors: int = 0
    plus: float = math.nan
    """pass@1 where failing on further inputs counts as failing; NaN for a run that was not judged on them."""


@dataclass(frozen=True)
class Summary:
    scores: tuple[Score, ...]
    statuses: dict[str, int]
    truncated: int
    """Answers cut off at the length limit, whatever their status."""
    rate_interval: Interval
    """Of the overall average passing rate."""
    if_faults_passed: float
    """pass@1 if every harness error had been a pass: the score lies between `overall.pass_at_1` and this."""

    @property
    def overall(self) -> Score:
        return self.scores[0]


def summarise(
    records: Iterable[dict[str, Any]],
    benchmark: TrackBenchmark,
    axes: Sequence[str] = LABELS,
    cutoffs: Sequence[date] = CUTOFFS,
    ks: Sequence[int] = KS,
) -> Summary:
    """`axes`: any of `BREAKDOWNS`; `cutoffs`: the dates of the axis `live`; `ks`: from 1 upwards."""
    return summarise_all({"": records}, benchmark, axes, cutoffs, ks)[""]


def summarise_all(
    runs: Mapping[str, Iterable[dict[str, Any]]],
    benchmark: TrackBenchmark,
    axes: Sequence[str] = LABELS,
    cutoffs: Sequence[date] = CUTOFFS,
    ks: Sequence[int] = KS,
) -> dict[str, Summary]:
    """Runs with the same instances are grouped and resampled together."""
    known = {name: list(records) for name, records in runs.items()}
    tallies = {name: tally(records, benchmark) for name, records in known.items()}
    scores: dict[str, tuple[Score, ...]] = {}
    for ids, names in group_by(tallies, lambda name: tuple(tallies[name])).items():
        index_of = {one: index for index, one in enumerate(ids)}
        figures = _make_figures([list(tallies[name].values()) for name in names], ks)
        rows = []
        for (axis, label), members in group(ids, benchmark, axes, cutoffs).items():
            part = figures[:, :, np.array([index_of[one] for one in members], dtype=np.int64)]
            clusters = Clusters(benchmark.instances[one].project for one in members)
            rows.append(_score(axis, label, part, clusters, ks))
        scores |= dict(zip(names, zip(*rows, strict=True), strict=True))
    return {
        name: Summary(
            scores=scores[name],
            statuses=dict(Counter(record["status"] for record in known[name])),
            truncated=sum(record.get("truncated") is True for record in known[name]),
            rate_interval=intervals.find_interval([one.rate for one in found.values()]),
            if_faults_passed=mean((one.passed + one.harness_errors) / one.samples for one in found.values()),
        )
        for name, found in tallies.items()
    }


def _make_figures(runs: Sequence[Sequence[Tally]], ks: Sequence[int]) -> Floats:
    """By run, figure (samples, harness errors, share of tests passed, each pass@k, pass@1+) and instance."""
    figures = [
        [
            [one.samples for one in tallies],
            [one.harness_errors for one in tallies],
            [one.rate for one in tallies],
            [one.share for one in tallies],
            *([pass_at_k(one.samples, one.passed, k) for one in tallies] for k in ks[1:]),
            [one.passed_plus / one.samples for one in tallies],
        ]
        for tallies in runs
    ]
    return np.array(figures, dtype=np.float64)


def _score(axis: str, label: str, figures: Floats, clusters: Clusters, ks: Sequence[int]) -> list[Score]:
    """The scores of one group, one per run. `figures`: those of the group's instances."""
    runs, _, size = figures.shape
    totals = figures.sum(axis=2).tolist()
    means = [[total / size if size else math.nan for total in each[2:]] for each in totals]
    passing = figures[:, 3:-1].reshape(runs * len(ks), size)
    bounds = iter(intervals.find_intervals(passing, [share for each in means for share in each[1:-1]]))
    clustered, rates = (intervals.find_clustered(figures[:, place], clusters) for place in (3, 2))
    scores = []
    for run, (each, (rate, *shares, plus)) in enumerate(zip(totals, means, strict=True)):
        bounded = {k: next(bounds) for k in ks}
        scores.append(
            Score(
                axis=axis,
                label=label,
                instances=size,
                samples=int(each[0]),
                pass_at_1=shares[0],
                plus=plus,
                passing_rate=rate,
                interval=bounded[1],
                clustered=clustered[run],
                rate_clustered=rates[run] if rates[run] is not NOTHING else intervals.wilson(rate, clusters.count),
                pass_at=dict(zip(ks, shares, strict=True)),
                pass_at_interval=bounded,
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
    found = variance(values) if len(values) > 1 else math.nan
    return Spread(len(values), fmean(values) if values else math.nan, found, math.sqrt(found))


def spread_of_samples(records: Iterable[dict[str, Any]]) -> Spread:
    """Spread of pass@1 across sample indices: all first samples form one run. Only indices that every instance has."""
    known = list(records)
    instances = {record["instance"] for record in known}
    whole = [each for each in group_by(known, itemgetter("sample")).values() if len(each) == len(instances)]
    return spread([fmean(record["status"] == "pass" for record in each) for each in whole])
