"""Rank submissions on the same split of comparable dataset versions, with an interval for each rank.

Two models whose scores lie within each other's noise should not look like first and second. Runs that differ only in
the seed are one submission; ranked one by one, the luckiest of five seeds would push others five ranks down.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np

from dlbench.reporting.leaderboard.entry import Entry
from dlbench.scoring import Interval, Spread, spread
from dlbench.scoring.intervals import bound, find_interval, resample_columns
from dlbench.scoring.tally import group_by


@dataclass(frozen=True)
class Submission:
    """Entries that differ only in their seed."""

    entries: tuple[Entry, ...]
    rank: int | None = None
    """1 for the best pass@1; ties share a rank; None for a baseline."""
    ranks: Interval | None = None

    @property
    def entry(self) -> Entry:
        """The one that represents their common settings."""
        return self.entries[0]

    @property
    def runs(self) -> tuple[Entry, ...]:
        """Without entries that have the same answers as another: at temperature 0 another seed is not another run."""
        return tuple({entry.verdicts_sha256: entry for entry in self.entries}.values())

    @property
    def spread(self) -> Spread:
        return spread([entry.score.pass_at_1 for entry in self.runs])

    @property
    def pass_at_1(self) -> float:
        return self.spread.mean

    @property
    def passing_rate(self) -> float:
        return fmean(entry.score.passing_rate for entry in self.runs)

    @property
    def interval(self) -> Interval:
        """Over instances, of the mean share that passes."""
        if len(self.runs) == 1:
            return Interval(self.entry.score.low, self.entry.score.high, "claimed")
        return find_interval(list(self.find_shares().values()))

    def find_shares(self) -> dict[str, float]:
        """By instance, the share of samples that pass."""
        claims = group_by((claim for entry in self.runs for claim in entry.verdicts), lambda claim: claim.instance)
        return {one: fmean(claim.status == "pass" for claim in each) for one, each in claims.items()}


def group_repeats(entries: Iterable[Entry]) -> list[Submission]:
    """In the order of their first entry; entries without a seed form their own submission."""
    alike: defaultdict[str, list[Entry]] = defaultdict(list)
    for number, entry in enumerate(entries):
        common = {key: value for key, value in entry.settings.items() if key != "seed"}
        own = None if "seed" in entry.settings else number
        alike[json.dumps([common, own], sort_keys=True)].append(entry)
    # padded, the text of a number sorts as the number
    by_seed = [sorted(each, key=lambda one: str(one.settings.get("seed")).rjust(30)) for each in alike.values()]
    return [Submission(tuple(each)) for each in by_seed]


_LEVEL = 1e-12
"""Scores closer than this are equal: the mean of 2/17 and 4/17 is not 3/17 to the last digit."""


@dataclass(frozen=True)
class Ranking:
    """Submissions that are ranked together."""

    split: str
    version: str
    """The first part of the dataset's version: scores are comparable while it is the same."""
    places: tuple[Submission, ...]


def rank_entries(entries: Mapping[Path, Entry]) -> list[Ranking]:
    """Newest version first; the split with most instances first."""
    by_name = [entries[path] for path in sorted(entries, key=lambda path: path.name)]
    tables = group_by(by_name, lambda entry: (entry.benchmark.split(".")[0], entry.split))

    def order(key: tuple[str, str]) -> tuple[int, int, str]:
        size = max(len({claim.instance for claim in entry.verdicts}) for entry in tables[key])
        return -int(key[0]), -size, key[1]

    return [Ranking(split, version, _rank(tables[version, split])) for version, split in sorted(tables, key=order)]


def _rank(entries: Sequence[Entry]) -> tuple[Submission, ...]:
    """The best first."""
    found = group_repeats(entries)
    competing = [one for one in found if not one.entry.is_baseline]
    ranks = iter(_bound_ranks(competing))
    places = []
    for one in found:
        above = sum(other.pass_at_1 > one.pass_at_1 + _LEVEL for other in competing)
        places.append(one if one.entry.is_baseline else replace(one, rank=above + 1, ranks=next(ranks)))
    return tuple(sorted(places, key=lambda one: -one.pass_at_1))


def _bound_ranks(ranked: Sequence[Submission]) -> list[Interval | None]:
    """Over resamples of the instances that all submissions have."""
    shares = [one.find_shares() for one in ranked]
    common = sorted(set.intersection(*map(set, shares))) if shares else []
    if not common:
        return [None] * len(ranked)
    means = resample_columns([[each[one] for one in common] for each in shares])
    ranks = 1 + (means[None, :, :] > means[:, None, :] + _LEVEL).sum(axis=1)
    return [bound(np.asarray(row, dtype=np.float64), "bootstrap") for row in ranks]
