"""Which submissions are one model, asked again in the same way?

Runs that differ in nothing but the seed are one line of the board, with their mean and how far they lie apart. One line
each, the luckiest of five throws would have a rank of its own, and whoever is below would be five places down.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from dlbench.reporting.board.entry import Entry
from dlbench.scoring import Interval, Spread, spread
from dlbench.scoring.intervals import find_interval


@dataclass(frozen=True)
class Repeated:
    """A submission, and all that repeat it."""

    entries: tuple[Entry, ...]

    @property
    def entry(self) -> Entry:
        """The one that stands for what all of them have in common."""
        return self.entries[0]

    @property
    def runs(self) -> tuple[Entry, ...]:
        """Without those that have the same answers as another: at temperature 0 another seed is no other run."""
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
        """Over instances, of what an instance gave on average."""
        if len(self.runs) == 1:
            return Interval(self.entry.score.low, self.entry.score.high, "claimed")
        return find_interval(list(self.find_shares().values()))

    def find_shares(self) -> dict[str, float]:
        """Of each instance, which share of its samples pass."""
        passed: defaultdict[str, list[bool]] = defaultdict(list)
        for entry in self.runs:
            for claim in entry.verdicts:
                passed[claim.instance].append(claim.status == "pass")
        return {one: fmean(each) for one, each in passed.items()}


def gather_repeats(entries: Iterable[Entry]) -> list[Repeated]:
    """In the order of their first; entries that say no seed stand alone."""
    alike: defaultdict[str, list[Entry]] = defaultdict(list)
    for number, entry in enumerate(entries):
        common = {key: value for key, value in entry.settings.items() if key != "seed"}
        own = None if "seed" in entry.settings else number
        alike[json.dumps([common, own], sort_keys=True)].append(entry)
    return [Repeated(tuple(sorted(each, key=_find_seed))) for each in alike.values()]


def _find_seed(entry: Entry) -> tuple[int, str]:
    seed = str(entry.settings.get("seed"))
    return len(seed), seed
