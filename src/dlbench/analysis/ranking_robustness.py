"""Does the order of models hold?

A ranking is printed as if it were a fact. Asked here: had other instances been drawn, or other projects, would each two
models still stand in this order; does one project or one label decide it; does a small split rank as the whole does?
All of it over the instances that every run has judged and that met no harness error in any, as in a comparison.
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
class Held:
    """Two models, the better first, and the shares of resamples in which they stay so, tie, and turn round."""

    a: str
    b: str
    difference: float
    kept: float
    tied: float
    turned: float
    kept_by_project: float
    """With whole projects resampled; NaN with fewer than five, and where the two tie on all instances."""


@dataclass(frozen=True)
class Resampled:
    """How Kendall's tau between the whole ranking and each resample's is spread."""

    drawn: str
    """instances or projects."""
    mean: float
    interval: Interval
    same_order: float
    """The share of resamples in which no pair of models changes."""
    same_best: float
    """The share in which a model that is best on the whole is best again, alone or beside others."""


@dataclass(frozen=True)
class Part:
    """The ranking on a part of the instances: all but those of a label, or those of a split."""

    axis: str
    label: str
    instances: int
    of: int
    """How many instances the split has; those that not every run judged are missing in `instances`."""
    tau: float
    turned: tuple[tuple[str, str], ...]
    """Pairs, the better on the whole first, whose order is the other way round here."""


@dataclass(frozen=True)
class Robustness:
    order: tuple[tuple[str, float], ...]
    """Models with their pass@1, the best first."""
    instances: tuple[str, ...]
    not_common: tuple[str, ...]
    harness_errors: tuple[str, ...]
    pairs: tuple[Held, ...]
    resampled: tuple[Resampled, ...]
    left_out: tuple[Part, ...]
    splits: tuple[Part, ...]


def measure_robustness(
    runs: Mapping[str, Tallies], benchmark: Benchmark, splits: Sequence[str] | None = None
) -> Robustness:
    """`splits`: names of splits to rank on, all of the benchmark's own by default. There must be a common instance."""
    ground = find_common_instances(runs)
    shares = {name: [tallies[one].share for one in ground.instances] for name, tallies in runs.items()}
    names = sorted(runs, key=lambda name: (-math.fsum(shares[name]), name))
    ranking = _Ranking(names, ground.instances, np.array([shares[name] for name in names], dtype=np.float64))
    clusters = Clusters(benchmark.instances[one].project for one in ground.instances)
    drawn = {"instances": resample_columns(ranking.shares)}
    if clusters.count >= FEWEST_CLUSTERS:
        drawn["projects"] = clusters.resample_columns(ranking.shares)
    chosen: Mapping[str, Sequence[str]] = benchmark.splits
    if splits is not None:
        chosen = {name: [one.id for one in select(benchmark, Selection(split=name))] for name in splits}
    return Robustness(
        order=tuple(zip(names, ranking.means, strict=True)),
        instances=ground.instances,
        not_common=ground.not_common,
        harness_errors=ground.harness_errors,
        pairs=tuple(ranking.hold(drawn)),
        resampled=tuple(ranking.resample(kind, means) for kind, means in drawn.items()),
        left_out=tuple(_leave_out(ranking, benchmark)),
        splits=tuple(ranking.rank_part("split", name, set(ids), len(ids)) for name, ids in chosen.items()),
    )


class _Ranking:
    """Models, the best first, with their shares on every instance."""

    def __init__(self, names: list[str], instances: Sequence[str], shares: Floats) -> None:
        self.names = names
        self.instances = instances
        self.shares = shares
        self.means = [math.fsum(row) / len(row) for row in shares.tolist()]
        self.signs = sign_pairs(np.array([self.means], dtype=np.float64).T)
        self.pairs = list(combinations(names, 2))
        # the first, and whoever ties with it: the first pairs are those of the first model
        self.best = [0, *(1 + int(place) for place in np.flatnonzero(self.signs[: len(names) - 1, 0] == 0))]

    def hold(self, drawn: Mapping[str, Floats]) -> list[Held]:
        signs = sign_pairs(drawn["instances"])
        by_project = sign_pairs(drawn["projects"]) if "projects" in drawn else None
        mean_of = dict(zip(self.names, self.means, strict=True))
        found = []
        for place, (a, b) in enumerate(self.pairs):
            # of two that tie there is no order to keep
            ordered = self.signs[place, 0] > 0
            whole = float(np.mean(by_project[place] > 0)) if by_project is not None and ordered else math.nan
            found.append(
                Held(
                    a=a,
                    b=b,
                    difference=mean_of[a] - mean_of[b],
                    kept=float(np.mean(signs[place] > 0)) if ordered else math.nan,
                    tied=float(np.mean(signs[place] == 0)) if ordered else math.nan,
                    turned=float(np.mean(signs[place] < 0)) if ordered else math.nan,
                    kept_by_project=whole,
                )
            )
        return found

    def resample(self, kind: str, means: Floats) -> Resampled:
        signs = sign_pairs(means)
        tau = correlate_signs(self.signs, signs)
        known = tau[~np.isnan(tau)]
        return Resampled(
            drawn=kind,
            mean=float(known.mean()) if len(known) else math.nan,
            interval=bound(known, "bootstrap") if len(known) else NOTHING,
            same_order=float(np.mean((signs == self.signs).all(axis=0))),
            same_best=float(np.mean(means[self.best].max(axis=0) >= means.max(axis=0))),
        )

    def rank_part(self, axis: str, label: str, ids: set[str], of: int) -> Part:
        places = [place for place, one in enumerate(self.instances) if one in ids]
        if not places:
            return Part(axis, label, 0, of, math.nan, ())
        means = self.shares[:, places].mean(axis=1, keepdims=True)
        signs = sign_pairs(means)
        turned = [pair for pair, product in zip(self.pairs, (self.signs * signs)[:, 0], strict=True) if product < 0]
        return Part(axis, label, len(places), of, float(correlate_signs(self.signs, signs)[0]), tuple(turned))


def _leave_out(ranking: _Ranking, benchmark: Benchmark) -> list[Part]:
    everything = set(ranking.instances)
    groups = group(ranking.instances, benchmark, LEFT_OUT)
    return [
        ranking.rank_part(axis, label, everything - set(members), len(everything) - len(members))
        for (axis, label), members in groups.items()
        if axis in LEFT_OUT
    ]
