"""Where does each submission stand, and how sure is that?

Ranked only among submissions on the same split of the same dataset: a rank across splits, or across versions of one
that grew, would compare what was not asked alike. The rank has an interval of its own, from the same resampled
instances for all: two models whose scores lie within each other's luck should not look like first and second.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dlbench.reporting.board.entry import Entry
from dlbench.scoring.intervals import Interval, bound
from dlbench.scoring.resample import resample_columns


@dataclass(frozen=True)
class Place:
    file: str
    entry: Entry
    rank: int | None
    """1 for the best pass@1, ties sharing theirs; None for a baseline."""
    ranks: Interval | None


@dataclass(frozen=True)
class Table:
    """Submissions that may be ranked together."""

    split: str
    version: str
    """The dataset's."""
    places: tuple[Place, ...]


def rank_entries(entries: Mapping[Path, Entry]) -> list[Table]:
    """Newest version first; the split with most instances first."""
    tables: defaultdict[tuple[str, str], list[tuple[str, Entry]]] = defaultdict(list)
    for path, entry in entries.items():
        tables[entry.benchmark, entry.split].append((path.name, entry))

    def order(key: tuple[str, str]) -> tuple[list[int], int, str]:
        size = max(len({claim.instance for claim in entry.verdicts}) for _, entry in tables[key])
        return [-int(part) for part in key[0].split(".")], -size, key[1]

    return [Table(split, version, _rank(tables[version, split])) for version, split in sorted(tables, key=order)]


def _rank(found: Sequence[tuple[str, Entry]]) -> tuple[Place, ...]:
    ranked = [entry for _, entry in found if not entry.is_baseline]
    spans = dict(zip(map(id, ranked), _bound_ranks(ranked), strict=True))
    places = []
    for file, entry in sorted(found, key=lambda each: (-each[1].score.pass_at_1, each[0])):
        above = sum(other.score.pass_at_1 > entry.score.pass_at_1 for other in ranked)
        places.append(Place(file, entry, None if entry.is_baseline else above + 1, spans.get(id(entry))))
    return tuple(places)


def _bound_ranks(entries: Sequence[Entry]) -> list[Interval | None]:
    """Over resamples of the instances that all of them have."""
    shares = [_find_shares(entry) for entry in entries]
    common = sorted(set.intersection(*map(set, shares))) if shares else []
    if not common:
        return [None] * len(entries)
    means = resample_columns([[each[one] for one in common] for each in shares])
    ranks = 1 + (means[None, :, :] > means[:, None, :] + 1e-12).sum(axis=1)
    return [bound(np.asarray(row, dtype=np.float64), "bootstrap") for row in ranks]


def _find_shares(entry: Entry) -> dict[str, float]:
    passed: defaultdict[str, list[bool]] = defaultdict(list)
    for claim in entry.verdicts:
        passed[claim.instance].append(claim.status == "pass")
    return {one: sum(each) / len(each) for one, each in passed.items()}
