"""Measure how robust the ranking of models is.

All figures use the instances that every run has judged without a harness error.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dlbench.dataset import AXES, Benchmark, Selection, select
from dlbench.scoring.breakdowns import group
from dlbench.scoring.compare import Tallies, find_common_instances
from dlbench.scoring.correlation import correlate_signs, sign_pairs
from dlbench.scoring.intervals import FEWEST_CLUSTERS, NOTHING, Clusters, Floats, Interval, bound, resample_columns

LEFT_OUT = ("project", *AXES)


@dataclass(frozen=True)
class PairStability:
    """Two models, the better first, and the shares of resamples in which the order holds, ties and reverses."""

    a: str
    b: str
    difference: float
    kept: float
    tied: float
    turned: float
    kept_by_project: float
    """With whole projects resampled; NaN with fewer than five projects, or if the two tie."""


@dataclass(frozen=True)
class TauDistribution:
    """Kendall's tau between the full ranking and those of resamples."""

    drawn: str
    """instances or projects."""
    mean: float
    interval: Interval
    same_order: float
    """The share of resamples in which no pair changes."""
    same_best: float
    """The share in which a best model is best again, alone or tied."""


@dataclass(frozen=True)
class PartRanking:
    """The ranking on a part of the instances: all but those of one label, or those of a split."""

    axis: str
    label: str
    instances: int
    of: int
    """Instances of the split; `instances` excludes those that not every run has judged."""
    tau: float
    turned: tuple[tuple[str, str], ...]
    """Pairs, the better overall first, whose order is reversed here."""


@dataclass(frozen=True)
class Robustness:
    order: tuple[tuple[str, float], ...]
    """Models with their pass@1, best first."""
    instances: tuple[str, ...]
    not_common: tuple[str, ...]
    harness_errors: tuple[str, ...]
    pairs: tuple[PairStability, ...]
    resampled: tuple[TauDistribution, ...]
    left_out: tuple[PartRanking, ...]
    splits: tuple[PartRanking, ...]


def measure_robustness(
    runs: Mapping[str, Tallies], benchmark: Benchmark, splits: Sequence[str] | None = None
) -> Robustness:
    """`splits` to rank on; all of the benchmark's by default. The runs must share an instance."""
    ground = find_common_instances(runs)
    shares = {name: [tallies[one].share for one in ground.instances] for name, tallies in runs.items()}
    names = sorted(runs, key=lambda name: (-math.fsum(shares[name]), name))
    ranking = _Ranking(names, ground.instances, np.array([shares[name] for name in names], dtype=np.float64))
    clusters = Clusters(benchmark.instances[one].project for one in ground.instances)
    drawn = {"instances": resample_columns(ranking.shares)}
    if clusters.count >= FEWEST_CLUSTERS:
        drawn["projects"] = clusters.resample_columns(ranking.shares)
    everything = set(ground.instances)
    chosen: Mapping[str, Sequence[str]] = benchmark.splits
    if splits is not None:
        chosen = {name: [one.id for one in select(benchmark, Selection(split=name))] for name in splits}
    return Robustness(
        order=tuple(zip(names, ranking.means, strict=True)),
        instances=ground.instances,
        not_common=ground.not_common,
        harness_errors=ground.harness_errors,
        pairs=tuple(ranking.measure_pairs(drawn)),
        resampled=tuple(ranking.resample(kind, means) for kind, means in drawn.items()),
        left_out=tuple(
            ranking.rank_part(axis, label, everything - set(members), len(everything) - len(members))
            for (axis, label), members in group(ground.instances, benchmark, LEFT_OUT).items()
            if axis in LEFT_OUT
        ),
        splits=tuple(ranking.rank_part("split", name, set(ids), len(ids)) for name, ids in chosen.items()),
    )


class _Ranking:
    """Models, best first, with their pass rates on every instance."""

    def __init__(self, names: list[str], instances: Sequence[str], shares: Floats) -> None:
        self.names = names
        self.instances = instances
        self.shares = shares
        self.means = [math.fsum(row) / len(row) for row in shares.tolist()]
        self.signs = sign_pairs(np.array([self.means], dtype=np.float64).T)
        self.pairs = list(combinations(names, 2))
        # The first model and those tied with it; the first pairs are those of the first model.
        self.best = [0, *(1 + int(place) for place in np.flatnonzero(self.signs[: len(names) - 1, 0] == 0))]

    def measure_pairs(self, drawn: Mapping[str, Floats]) -> list[PairStability]:
        ordered = self.signs[:, 0] > 0  # tied models have no order to keep
        signs = {kind: sign_pairs(means) for kind, means in drawn.items()}
        checks = [signs["instances"] > 0, signs["instances"] == 0, signs["instances"] < 0]
        checks.append(signs["projects"] > 0 if "projects" in signs else None)
        mean_of = dict(zip(self.names, self.means, strict=True))
        found = []
        for place, (a, b) in enumerate(self.pairs):
            known = [check if ordered[place] else None for check in checks]
            shares = [math.nan if check is None else float(check[place].mean()) for check in known]
            found.append(PairStability(a, b, mean_of[a] - mean_of[b], *shares))
        return found

    def resample(self, kind: str, means: Floats) -> TauDistribution:
        signs = sign_pairs(means)
        tau = correlate_signs(self.signs, signs)
        known = tau[~np.isnan(tau)]
        return TauDistribution(
            drawn=kind,
            mean=float(known.mean()) if len(known) else math.nan,
            interval=bound(known, "bootstrap") if len(known) else NOTHING,
            same_order=float(np.mean((signs == self.signs).all(axis=0))),
            same_best=float(np.mean(means[self.best].max(axis=0) >= means.max(axis=0))),
        )

    def rank_part(self, axis: str, label: str, ids: set[str], of: int) -> PartRanking:
        places = [place for place, one in enumerate(self.instances) if one in ids]
        if not places:
            return PartRanking(axis, label, 0, of, math.nan, ())
        means = self.shares[:, places].mean(axis=1, keepdims=True)
        signs = sign_pairs(means)
        turned = [pair for pair, product in zip(self.pairs, (self.signs * signs)[:, 0], strict=True) if product < 0]
        return PartRanking(axis, label, len(places), of, float(correlate_signs(self.signs, signs)[0]), tuple(turned))
