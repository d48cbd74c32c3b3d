"""Hold the votes of solutions and tests, and group solutions that pass the same tests.

The vote matrix has a row for each distinct solution and a column for each distinct test. How often the model wrote each
one counts: a solution that was written five times is five votes. A consensus set is all solutions that pass exactly the
same tests, with those tests (dual execution agreement, from CodeT). Solutions that pass nothing form no set.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class VoteMatrix:
    passed: NDArray[np.bool_]
    solution_counts: NDArray[np.int64]
    """How often each solution was written."""
    test_counts: NDArray[np.int64]
    """How often each test was written."""


def make_vote_matrix(
    passed: Sequence[Sequence[bool]],
    solution_counts: Sequence[int] | None = None,
    test_counts: Sequence[int] | None = None,
) -> VoteMatrix:
    """Without counts, everything was written once."""
    table = np.array(passed, dtype=np.bool_)
    if table.ndim != 2:  # no solution, or no test
        table = table.reshape(len(passed), 0)
    rows, columns = table.shape
    return VoteMatrix(
        table,
        np.array([1] * rows if solution_counts is None else solution_counts, dtype=np.int64),
        np.array([1] * columns if test_counts is None else test_counts, dtype=np.int64),
    )


@dataclass(frozen=True)
class Consensus:
    """Rows and columns of the vote matrix, and their number with multiplicity."""

    members: tuple[int, ...]
    tests: tuple[int, ...]
    solution_count: int
    test_count: int


def find_sets(votes: VoteMatrix) -> list[Consensus]:
    """In the order of their first members."""
    groups: dict[bytes, list[int]] = {}
    for index, row in enumerate(votes.passed):
        if row.any():
            groups.setdefault(row.tobytes(), []).append(index)
    return [
        Consensus(
            members=tuple(members),
            tests=tuple(map(int, np.flatnonzero(votes.passed[members[0]]))),
            solution_count=int(votes.solution_counts[members].sum()),
            test_count=int(votes.test_counts[votes.passed[members[0]]].sum()),
        )
        for members in groups.values()
    ]
