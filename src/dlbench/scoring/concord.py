"""Do two runs solve the same instances?

Two models of one score may be good at different things. The share of instances on which both go alike is high by itself
where both solve little, or nearly all; Cohen's kappa takes away what chance alone would give.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from dlbench.scoring.compare import Tallies


@dataclass(frozen=True)
class Concord:
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


def find_concord(runs: Mapping[str, Tallies]) -> dict[tuple[str, str], Concord]:
    """Every pair once, in the order of the runs."""
    return {(a, b): _count(a, b, runs[a], runs[b]) for a, b in combinations(runs, 2)}


def _count(a: str, b: str, of_a: Tallies, of_b: Tallies) -> Concord:
    pairs = [(one.solved, of_b[name].solved) for name, one in of_a.items() if name in of_b]
    counts = [pairs.count(kind) for kind in ((True, True), (True, False), (False, True), (False, False))]
    return Concord(a, b, *counts)
