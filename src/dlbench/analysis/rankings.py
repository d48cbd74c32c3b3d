"""Compare benchmarks by the scores of the same models, and measure how robust the ranking of models is.

A table that seems to mix shares and percents is rejected, since values would differ by a factor of 100; a value with %
is a percent, however small. Robustness uses the instances that every run has judged without a harness error.
"""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from dlbench.dataset import AXES, Benchmark, Selection, select
from dlbench.errors import DLBenchError
from dlbench.scoring import BenchmarkComparison, compare_benchmarks
from dlbench.scoring.breakdowns import group
from dlbench.scoring.compare import Tallies, find_common_instances
from dlbench.scoring.intervals import FEWEST_CLUSTERS, NOTHING, Clusters, Floats, Interval, bound, resample_columns
from dlbench.scoring.significance import correlate_signs, sign_pairs

Scores = dict[str, dict[str, float]]
"""By benchmark and model, from 0 to 1."""

_FIX = "write a CSV file: header `model,benchmark,other benchmark`, then one model per line; leave unknown scores empty"


@dataclass(frozen=True)
class BenchmarkRank:
    """`here` against `there`: Cohen's d is positive if scores are higher there."""

    here: str
    there: str
    against: BenchmarkComparison


def compare_all(scores: Mapping[str, Mapping[str, float]]) -> list[BenchmarkRank]:
    """Every pair of benchmarks, in the order of the columns."""
    found = []
    for here, there in combinations(scores, 2):
        both = [model for model in scores[here] if model in scores[there]]
        against = compare_benchmarks([scores[here][model] for model in both], [scores[there][model] for model in both])
        found.append(BenchmarkRank(here, there, against))
    return found


def read_scores(path: Path) -> Scores:
    try:
        with path.open(encoding="utf-8-sig") as file:
            rows = [(number, row) for number, row in enumerate(csv.reader(file, strict=True), 1) if any(row)]
    except OSError as error:
        raise DLBenchError(f"cannot be read: {error.strerror}", where=str(path), fix="check the path") from None
    except UnicodeDecodeError:
        raise DLBenchError("not UTF-8", where=str(path), fix="save the table as UTF-8") from None
    except csv.Error as error:
        raise DLBenchError(f"not CSV: {error}", where=str(path), fix=_FIX) from None
    heading = [name.strip() for name in rows[0][1]] if rows else []
    if len(heading) < 3 or not all(heading[1:]) or len(set(heading)) < len(heading):
        what = "it needs a column of models and at least two columns of scores, with distinct names"
        raise DLBenchError(what, where=str(path), fix=_FIX)
    scores: Scores = {name: {} for name in heading[1:]}
    marked: dict[str, set[str]] = {name: set() for name in heading[1:]}
    models: set[str] = set()
    for number, row in rows[1:]:
        where = f"{path}, row {number}"
        if len(row) != len(heading):
            raise DLBenchError(f"{len(row)} cells, but {len(heading)} columns", where=where, fix=_FIX)
        model = row[0].strip()
        if not model or model in models:
            what = f"the model {model!r} occurs twice" if model else "the model has no name"
            raise DLBenchError(what, where=where, fix=_FIX)
        models.add(model)
        for name, cell in zip(heading[1:], row[1:], strict=True):
            if cell.strip():
                scores[name][model] = _read_number(cell, name, where)
                marked[name] |= {model} if cell.strip().endswith("%") else set()
    return _scale(scores, marked, path)


def _read_number(cell: str, name: str, where: str) -> float:
    try:
        value = float(cell.strip().removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise DLBenchError(f"{name}: {cell!r} is not a score from 0 to 100", where=where, fix=_FIX)
    return value


def _scale(scores: Scores, marked: Mapping[str, set[str]], path: Path) -> Scores:
    """`marked`: by benchmark, the models whose score has a %."""
    bare = {
        name: max((score for model, score in found.items() if model not in marked[name]), default=0.0)
        for name, found in scores.items()
    }
    if not any(scores.values()):
        raise DLBenchError("the table has no scores", where=str(path), fix=_FIX)
    in_percent = [name for name, most in bare.items() if most > 1 or marked[name]]
    small = [name for name, most in bare.items() if 0 < most <= 1]
    if in_percent and small:
        other = "also percents" if marked[small[0]] else f"{in_percent[0]} percents"
        what = f"{small[0]} seems to contain shares from 0 to 1, and {other}"
        fix = "write all scores as shares or all as percents; mark percents of 1 or less with % (0.4 %)"
        raise DLBenchError(what, where=str(path), fix=fix)
    scale = 100 if in_percent else 1
    return {name: {model: score / scale for model, score in found.items()} for name, found in scores.items()}


LEFT_OUT = ("project", *AXES)


@dataclass(frozen=True)
class PairStability:
    """Two models, the better first, and the shares of resamples in which the order holds, ties and reverses."""

    a: str
    b: str
    difference: float
    kept: float
    tied: float
    reversed: float
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
    reversed: tuple[tuple[str, str], ...]
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
        signs = sign_pairs(self.shares[:, places].mean(axis=1, keepdims=True))
        turned = [pair for pair, product in zip(self.pairs, (self.signs * signs)[:, 0], strict=True) if product < 0]
        return PartRanking(axis, label, len(places), of, float(correlate_signs(self.signs, signs)[0]), tuple(turned))
