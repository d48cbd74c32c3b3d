"""Which solutions agree with each other, and on what?

Solutions that pass exactly the same tests form a set, with the tests that they pass: dual execution agreement, from
CodeT. Solutions that pass nothing agree on nothing and are left out.
"""

from dataclasses import dataclass

import numpy as np

from dlbench.agreement.choice.ballot import Ballot


@dataclass(frozen=True)
class Consensus:
    """Places in the ballot, and how much is written there with multiplicity."""

    members: tuple[int, ...]
    checks: tuple[int, ...]
    solution_count: int
    check_count: int


def find_sets(ballot: Ballot) -> list[Consensus]:
    """In the order of their first members."""
    groups: dict[bytes, list[int]] = {}
    for place, row in enumerate(ballot.passed):
        if row.any():
            groups.setdefault(row.tobytes(), []).append(place)
    return [_describe(ballot, members) for members in groups.values()]


def _describe(ballot: Ballot, members: list[int]) -> Consensus:
    row = ballot.passed[members[0]]
    return Consensus(
        members=tuple(members),
        checks=tuple(int(place) for place in np.flatnonzero(row)),
        solution_count=int(ballot.solutions[members].sum()),
        check_count=int(ballot.checks[row].sum()),
    )
