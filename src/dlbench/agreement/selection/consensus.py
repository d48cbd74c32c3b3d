"""What do solutions and tests say of each other?

One table: which distinct solution passed which distinct test, with how often the model wrote each. Who counts a
solution that was written five times once has thrown away the best witness; so the counts travel with the table.

Which solutions agree with each other, and on what?

Solutions that pass exactly the same tests form a set, with the tests that they pass: dual execution agreement, from
CodeT. Solutions that pass nothing agree on nothing and are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Passed = NDArray[np.bool_]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class VoteMatrix:
    """A row for each distinct solution, a column for each distinct test."""

    passed: Passed
    solutions: Counts
    """How often each solution was written."""
    checks: Counts
    """How often each test was written."""


def make_vote_matrix(
    passed: Sequence[Sequence[bool]] | Passed,
    solutions: Sequence[int] | None = None,
    checks: Sequence[int] | None = None,
) -> VoteMatrix:
    """Without counts, everything was written once."""
    table = np.array(passed, dtype=np.bool_)
    if table.ndim != 2:  # no solution at all, or no test at all
        table = table.reshape(len(passed), 0)
    rows, columns = table.shape
    return VoteMatrix(
        table,
        np.array([1] * rows if solutions is None else solutions, dtype=np.int64),
        np.array([1] * columns if checks is None else checks, dtype=np.int64),
    )


@dataclass(frozen=True)
class Consensus:
    """Places in the ballot, and how much is written there with multiplicity."""

    members: tuple[int, ...]
    checks: tuple[int, ...]
    solution_count: int
    check_count: int


def find_sets(ballot: VoteMatrix) -> list[Consensus]:
    """In the order of their first members."""
    groups: dict[bytes, list[int]] = {}
    for place, row in enumerate(ballot.passed):
        if row.any():
            groups.setdefault(row.tobytes(), []).append(place)
    return [_describe(ballot, members) for members in groups.values()]


def _describe(ballot: VoteMatrix, members: list[int]) -> Consensus:
    row = ballot.passed[members[0]]
    return Consensus(
        members=tuple(members),
        checks=tuple(int(place) for place in np.flatnonzero(row)),
        solution_count=int(ballot.solutions[members].sum()),
        check_count=int(ballot.checks[row].sum()),
    )
