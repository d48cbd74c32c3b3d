"""Compare runs pairwise on their common instances."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from dlbench.dataset.tracks import TrackBenchmark, has_functions
from dlbench.scoring import intervals
from dlbench.scoring.intervals import NOTHING, Clusters, Floats, Interval
from dlbench.scoring.significance import cohen_h, holm, mcnemar, odds_ratio, sign_flip
from dlbench.scoring.tally import Tally, mean

Tallies = Mapping[str, Tally]
_FINEST, _FINEST_OF_TESTS = 100, 10_000
"""The permutation test counts shares in whole units: as fine as the numbers of samples require, but no finer than this.
Rounding keeps it valid, since a rounded difference changes its sign when A and B are swapped."""


@dataclass(frozen=True)
class RunScore:
    """One run, on the common instances."""

    name: str
    pass_at_1: float
    mean: float
    """Of the figure that is compared, as are the intervals."""
    interval: Interval
    clustered: Interval
    solved: int
    solved_alone: int
    """Instances that no other run solves."""


@dataclass(frozen=True)
class Pair:
    """A against B; differences are A's mean minus B's."""

    a: str
    b: str
    difference: float
    interval: Interval
    """Of the difference: paired bootstrap over instances."""
    clustered: Interval
    """Of the difference, when whole projects are resampled."""
    only_a: tuple[str, ...]
    """Instances that A solves (more than half of its samples pass) and B does not."""
    only_b: tuple[str, ...]
    cohen_h: float
    odds_ratio: float
    mcnemar: float
    permutation: float
    permutation_clustered: float
    """The permutation test with whole projects swapped; NaN with fewer than five."""
    samples_alike: bool = True
    """Both have equally many samples of each instance. Otherwise "more than half pass" is easier for one of them, and
    figures based on it are NaN: McNemar's test would find a model better than itself."""
    mcnemar_holm: float = math.nan
    permutation_holm: float = math.nan
    permutation_clustered_holm: float = math.nan
    """Corrected over all pairs of the comparison."""


@dataclass(frozen=True)
class CommonInstances:
    """What runs can be compared on, and what is excluded."""

    instances: tuple[str, ...]
    """In every run, and without a harness error in any."""
    not_common: tuple[str, ...]
    harness_errors: tuple[str, ...]
    """Excluded: counted as failures, our own faults would look like a difference between models."""


@dataclass(frozen=True)
class Comparison(CommonInstances):
    figure: str
    """What is compared: pass@1, or the share of tests passed."""
    standings: tuple[RunScore, ...]
    pairs: tuple[Pair, ...]


def find_common_instances(runs: Mapping[str, Tallies]) -> CommonInstances:
    everything = dict.fromkeys(one for tallies in runs.values() for one in tallies)
    common = dict.fromkeys(one for one in everything if all(one in tallies for tallies in runs.values()))
    faulty = {one for one in common if any(tallies[one].harness_errors for tallies in runs.values())}
    return CommonInstances(
        instances=tuple(one for one in common if one not in faulty),
        not_common=tuple(one for one in everything if one not in common),
        harness_errors=tuple(one for one in common if one in faulty),
    )


def compare(runs: Mapping[str, Tallies], benchmark: TrackBenchmark, *, only_first: bool = False) -> Comparison:
    """`runs`: tallies by name, two or more; `only_first`: each against the first, not every pair. Tasks of many files
    are compared by the share of tests: few are solved."""
    common = find_common_instances(runs)
    kept = common.instances
    by_tests = not has_functions(benchmark)
    step = (
        _FINEST_OF_TESTS
        if by_tests
        else min(_FINEST, math.lcm(*(tallies[one].samples for tallies in runs.values() for one in kept)))
    )
    clusters = Clusters(benchmark.instances[one].project for one in kept)
    compared = {
        name: _ComparedRun(name, [tallies[one] for one in kept], clusters, step, by_tests=by_tests)
        for name, tallies in runs.items()
    }
    first, *others = runs
    chosen = [(first, other) for other in others] if only_first else list(combinations(runs, 2))
    pairs = _correct([_pair(compared[a], compared[b]) for a, b in chosen])
    standings = _score(list(compared.values()), clusters)
    return Comparison(**vars(common), figure="tests passed" if by_tests else "pass@1", standings=standings, pairs=pairs)


class _ComparedRun:
    """What every pair needs of a run, computed once."""

    def __init__(self, name: str, tallies: Sequence[Tally], clusters: Clusters, step: int, *, by_tests: bool) -> None:
        self.name = name
        self.solved = {one.instance for one in tallies if one.solved}
        self.samples = [one.samples for one in tallies]
        self.pass_at_1 = mean(one.share for one in tallies)
        self.shares = [one.rate if by_tests else one.share for one in tallies]
        self.units = np.rint(np.array(self.shares, dtype=np.float64) * step).astype(np.int64)
        self.cluster_units = clusters.add_up(self.units).astype(np.int64)
        self.mean = mean(self.shares)
        self.means = intervals.resample_columns([self.shares])[0] if self.shares else None
        has_clusters = clusters.count >= intervals.FEWEST_CLUSTERS
        self.clustered = clusters.resample_columns([self.shares])[0] if has_clusters else None


def _score(runs: Sequence[_ComparedRun], clusters: Clusters) -> tuple[RunScore, ...]:
    shares = np.array([run.shares for run in runs], dtype=np.float64)
    bounds = intervals.find_intervals(shares, [run.mean for run in runs])
    scores = []
    for run, bound, clustered in zip(runs, bounds, intervals.find_clustered(shares, clusters), strict=True):
        alone = run.solved.difference(*(other.solved for other in runs if other is not run))
        scores.append(RunScore(run.name, run.pass_at_1, run.mean, bound, clustered, len(run.solved), len(alone)))
    return tuple(scores)


def _pair(a: _ComparedRun, b: _ComparedRun) -> Pair:
    only_a, only_b = tuple(sorted(a.solved - b.solved)), tuple(sorted(b.solved - a.solved))
    alike = a.samples == b.samples
    return Pair(
        a=a.name,
        b=b.name,
        difference=a.mean - b.mean,
        interval=_bound_difference(a.means, b.means, "bootstrap"),
        clustered=_bound_difference(a.clustered, b.clustered, "clustered"),
        only_a=only_a,
        only_b=only_b,
        cohen_h=cohen_h(a.mean, b.mean) if a.shares else math.nan,
        odds_ratio=odds_ratio(len(only_a), len(only_b)) if alike else math.nan,
        mcnemar=mcnemar(len(only_a), len(only_b)) if alike else math.nan,
        permutation=sign_flip(a.units - b.units),
        permutation_clustered=sign_flip(a.cluster_units - b.cluster_units) if a.clustered is not None else math.nan,
        samples_alike=alike,
    )


def _bound_difference(a: Floats | None, b: Floats | None, kind: str) -> Interval:
    if a is None or b is None:
        return NOTHING
    differences = a - b  # resample i drew the same instances for both: the difference is paired
    # a constant difference (runs that differ nowhere, or by the same amount everywhere) would look certain
    return intervals.bound(differences, kind) if differences.max() - differences.min() > 1e-9 else NOTHING


def _correct(pairs: list[Pair]) -> tuple[Pair, ...]:
    tests = ("mcnemar", "permutation", "permutation_clustered")
    corrected = zip(pairs, *(holm([getattr(pair, name) for pair in pairs]) for name in tests), strict=True)
    return tuple(
        replace(pair, mcnemar_holm=m, permutation_holm=p, permutation_clustered_holm=c) for pair, m, p, c in corrected
    )


@dataclass(frozen=True)
class SolveOverlap:
    """Counts of the instances that both runs have, by which run solves them (more than half of the samples pass)."""

    both: int
    only_a: int
    only_b: int
    neither: int

    @property
    def instances(self) -> int:
        return self.both + self.only_a + self.only_b + self.neither

    @property
    def share(self) -> float:
        """Of instances with equal outcomes; NaN without instances."""
        return (self.both + self.neither) / self.instances if self.instances else math.nan

    @property
    def kappa(self) -> float:
        """(share - expected) / (1 - expected): the share is high by itself where both solve little or nearly all.
        NaN where agreement is certain, since each solves all or none."""
        if not self.instances:
            return math.nan
        of_a, of_b = ((self.both + only) / self.instances for only in (self.only_a, self.only_b))
        expected = of_a * of_b + (1 - of_a) * (1 - of_b)
        return (self.share - expected) / (1 - expected) if expected < 1 else math.nan


def find_overlaps(runs: Mapping[str, Tallies]) -> dict[tuple[str, str], SolveOverlap]:
    """Every pair once, in the order of the runs."""
    found = {}
    for a, b in combinations(runs, 2):
        pairs = [(one.solved, runs[b][name].solved) for name, one in runs[a].items() if name in runs[b]]
        counts = [pairs.count(kind) for kind in ((True, True), (True, False), (False, True), (False, False))]
        found[a, b] = SolveOverlap(*counts)
    return found
