"""Which solution behaves like the most others? MBR-exec: the least risk of standing alone.

Two solutions are alike where they do the same on every test: by what they returned, within a tolerance for
floating-point numbers. What was returned does not always tell: a function that changes its argument, one that raises
and one that does nothing return the same, and of many objects only the class is known. There it counts, too, whether
the test passed. No test needs to be right for this, only its inputs. Being near is not transitive, so that there are no
sets here, and every solution has a score of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlbench.agreement.choice.ballot import Ballot
from dlbench.agreement.choice.outputs import are_near, tells

Alike = NDArray[np.bool_]
Outputs = Sequence[Mapping[int, Sequence[Any]]]
"""For each solution, by the place of a test, what the solution returned there, call by call."""


def find_alike(ballot: Ballot, outputs: Outputs | None = None) -> Alike:
    """Who does the same as whom; by outputs on those tests on which both have some."""
    count = len(ballot.solutions)
    alike = np.eye(count, dtype=np.bool_)
    for one in range(count):
        for other in range(one):
            alike[one, other] = alike[other, one] = _do_the_same(ballot, outputs, one, other)
    return alike


def _do_the_same(ballot: Ballot, outputs: Outputs | None, one: int, other: int) -> bool:
    for check in range(len(ballot.checks)):
        left = outputs[one].get(check) if outputs is not None else None
        right = outputs[other].get(check) if outputs is not None else None
        if left and right and not are_near(left, right):
            return False
        if not (left and right and tells(left) and tells(right)) and (
            ballot.passed[one, check] != ballot.passed[other, check]
        ):
            return False
    return True


def score_mbr(ballot: Ballot, alike: Alike) -> NDArray[np.int64]:
    """For each solution, how many answers (with multiplicity) do as it does, its own among them."""
    scores: NDArray[np.int64] = alike.astype(np.int64) @ ballot.solutions
    return scores
