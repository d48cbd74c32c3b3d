"""Which of several runs is better, by how much, and on which instances?

All are compared on the instances that every one of them has, so that every pair is tested on the same ground; what is
left out is named. Instances on which any run met a harness error are left out as well: counted as failures they would
make our own faults look like a difference between models.

Do two runs solve the same instances?

Two models of one score may be good at different things. The share of instances on which both go alike is high by itself
where both solve little, or nearly all; Cohen's kappa takes away what chance alone would give.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from dlbench.dataset import Benchmark
from dlbench.scoring.intervals import (
    FEWEST_CLUSTERS,
    NOTHING,
    Clusters,
    Floats,
    Interval,
    bound,
    find_clustered,
    find_interval,
    resample_means,
)
from dlbench.scoring.significance import cohen_h, holm, mcnemar, odds_ratio, sign_flip
from dlbench.scoring.tally import Tally, mean

Tallies = Mapping[str, Tally]
_FINEST = 100
"""The permutation test counts shares in whole units: as fine as the numbers of samples ask for, in hundredths at the
finest. Rounding keeps it valid, since a rounded difference changes its sign when A and B are swapped."""


@dataclass(frozen=True)
class RunScore:
    """One run, over the common instances."""

    name: str
    pass_at_1: float
    interval: Interval
    clustered: Interval
    solved: int
    solved_alone: int
    """Instances that no other of the runs solves."""


@dataclass(frozen=True)
class Pair:
    """A against B; differences are A's pass@1 less B's."""

    a: str
    b: str
    difference: float
    interval: Interval
    """Of the difference: bootstrap over instances, the same for both."""
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
    """Both have as many samples of each instance. Where not, "more than half pass" is easier for one of the two, so
    that the figures made of it are NaN: McNemar's test would find a model better than itself."""
    mcnemar_holm: float = math.nan
    permutation_holm: float = math.nan
    permutation_clustered_holm: float = math.nan
    """Corrected over all pairs of the comparison."""


@dataclass(frozen=True)
class Comparison:
    standings: tuple[RunScore, ...]
    pairs: tuple[Pair, ...]
    instances: tuple[str, ...]
    """What is compared: had by every run, and harness errors in none."""
    not_common: tuple[str, ...]
    harness_errors: tuple[str, ...]


@dataclass(frozen=True)
class CommonInstances:
    """What runs can be compared on, and what they cannot; see `Comparison`."""

    instances: tuple[str, ...]
    not_common: tuple[str, ...]
    harness_errors: tuple[str, ...]


def find_common_instances(runs: Mapping[str, Tallies]) -> CommonInstances:
    everything = dict.fromkeys(one for tallies in runs.values() for one in tallies)
    common = dict.fromkeys(one for one in everything if all(one in tallies for tallies in runs.values()))
    faulty = {one for one in common if any(tallies[one].harness_errors for tallies in runs.values())}
    return CommonInstances(
        instances=tuple(one for one in common if one not in faulty),
        not_common=tuple(one for one in everything if one not in common),
        harness_errors=tuple(one for one in common if one in faulty),
    )


def compare(runs: Mapping[str, Tallies], benchmark: Benchmark, *, only_first: bool = False) -> Comparison:
    """`runs`: tallies by name, two or more; `only_first`: each against the first, not every pair."""
    ground = find_common_instances(runs)
    kept = ground.instances
    step = min(_FINEST, math.lcm(*(tallies[one].samples for tallies in runs.values() for one in kept)))
    clusters = Clusters(benchmark.instances[one].project for one in kept)
    sides = {name: _ComparedRun(name, [tallies[one] for one in kept], clusters, step) for name, tallies in runs.items()}
    names = list(runs)
    chosen = [(names[0], other) for other in names[1:]] if only_first else list(combinations(names, 2))
    return Comparison(
        standings=tuple(_stand(side, list(sides.values())) for side in sides.values()),
        pairs=_correct([_pair(sides[a], sides[b]) for a, b in chosen]),
        instances=kept,
        not_common=ground.not_common,
        harness_errors=ground.harness_errors,
    )


class _ComparedRun:
    """What every pair needs of a run, computed once."""

    def __init__(self, name: str, tallies: Sequence[Tally], clusters: Clusters, step: int) -> None:
        self.name = name
        self.solved = {one.instance for one in tallies if one.solved}
        self.samples = [one.samples for one in tallies]
        self.shares = [one.share for one in tallies]
        self.units = np.rint(np.array(self.shares, dtype=np.float64) * step).astype(np.int64)
        self.clusters = clusters
        self.cluster_units = clusters.add_up(self.units).astype(np.int64)
        self.pass_at_1 = mean(self.shares)
        self.means = resample_means(self.shares) if self.shares else None
        self.clustered = clusters.resample(self.shares) if clusters.count >= FEWEST_CLUSTERS else None


def _stand(side: _ComparedRun, sides: list[_ComparedRun]) -> RunScore:
    others: set[str] = set().union(*(other.solved for other in sides if other is not side))
    return RunScore(
        name=side.name,
        pass_at_1=side.pass_at_1,
        interval=find_interval(side.shares),
        clustered=find_clustered(side.shares, side.clusters),
        solved=len(side.solved),
        solved_alone=len(side.solved - others),
    )


def _pair(a: _ComparedRun, b: _ComparedRun) -> Pair:
    only_a, only_b = tuple(sorted(a.solved - b.solved)), tuple(sorted(b.solved - a.solved))
    alike = a.samples == b.samples
    return Pair(
        a=a.name,
        b=b.name,
        difference=a.pass_at_1 - b.pass_at_1,
        interval=_bound_difference(a.means, b.means, "bootstrap"),
        clustered=_bound_difference(a.clustered, b.clustered, "clustered"),
        only_a=only_a,
        only_b=only_b,
        cohen_h=cohen_h(a.pass_at_1, b.pass_at_1) if a.shares else math.nan,
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
    # runs that differ nowhere, or everywhere alike, would come out as certain
    return bound(differences, kind) if differences.max() - differences.min() > 1e-9 else NOTHING


def _correct(pairs: list[Pair]) -> tuple[Pair, ...]:
    tests = ("mcnemar", "permutation", "permutation_clustered")
    corrected = zip(pairs, *(holm([getattr(pair, name) for pair in pairs]) for name in tests), strict=True)
    return tuple(
        replace(pair, mcnemar_holm=m, permutation_holm=p, permutation_clustered_holm=c) for pair, m, p, c in corrected
    )


@dataclass(frozen=True)
class SolveOverlap:
    """Counts of instances that both runs have, by who solves them (more than half of the samples pass)."""

    a: str
    b: str
    both: int
    only_a: int
    only_b: int
    neither: int

    @property
    def instances(self) -> int:
        return self.both + self.only_a + self.only_b + self.neither

    @property
    def share(self) -> float:
        """Of the instances, those that both solve or both do not; NaN without any."""
        return (self.both + self.neither) / self.instances if self.instances else math.nan

    @property
    def kappa(self) -> float:
        """(share - chance) / (1 - chance); NaN where both can but agree, since each solves all or none."""
        if not self.instances:
            return math.nan
        of_a, of_b = ((self.both + only) / self.instances for only in (self.only_a, self.only_b))
        chance = of_a * of_b + (1 - of_a) * (1 - of_b)
        return (self.share - chance) / (1 - chance) if chance < 1 else math.nan


def find_overlaps(runs: Mapping[str, Tallies]) -> dict[tuple[str, str], SolveOverlap]:
    """Every pair once, in the order of the runs."""
    return {(a, b): _count(a, b, runs[a], runs[b]) for a, b in combinations(runs, 2)}


def _count(a: str, b: str, of_a: Tallies, of_b: Tallies) -> SolveOverlap:
    pairs = [(one.solved, of_b[name].solved) for name, one in of_a.items() if name in of_b]
    counts = [pairs.count(kind) for kind in ((True, True), (True, False), (False, True), (False, False))]
    return SolveOverlap(a, b, *counts)
