"""What do solutions and tests say of each other?

One table: which distinct solution passed which distinct test, with how often the model wrote each. Who counts a
solution that was written five times once has thrown away the best witness; so the counts travel with the table.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Passed = NDArray[np.bool_]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Ballot:
    """A row for each distinct solution, a column for each distinct test."""

    passed: Passed
    solutions: Counts
    """How often each solution was written."""
    checks: Counts
    """How often each test was written."""


def make_ballot(
    passed: Sequence[Sequence[bool]] | Passed,
    solutions: Sequence[int] | None = None,
    checks: Sequence[int] | None = None,
) -> Ballot:
    """Without counts, everything was written once."""
    table = np.array(passed, dtype=np.bool_)
    if table.ndim != 2:  # no solution at all, or no test at all
        table = table.reshape(len(passed), 0)
    rows, columns = table.shape
    return Ballot(
        table,
        np.array([1] * rows if solutions is None else solutions, dtype=np.int64),
        np.array([1] * columns if checks is None else checks, dtype=np.int64),
    )
