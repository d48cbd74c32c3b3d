"""Does the choice find the right solutions where it should? Populations of which the truth is known.

Solutions are right with probability p, tests with probability q. A right solution passes every right test and no wrong
one. A wrong solution passes a right test by luck, now and then; and a wrong test, which expects something false, where
it errs in just that way. Errors that are independent seldom meet; errors that are shared (one mistake that the model
makes again and again, in solutions and in tests) vote together, and that is how agreement comes to choose a mistake.
"""

from dataclasses import dataclass
from random import Random

from dlbench.agreement.selection.consensus import VoteMatrix, make_vote_matrix


@dataclass(frozen=True)
class Kind:
    """`shared`: the share of errors, in solutions and in tests, that are one and the same mistake."""

    solutions: int = 8
    checks: int = 40
    right_solutions: float = 0.5
    right_checks: float = 0.7
    lucky: float = 0.3
    """The chance that a wrong solution passes a right test."""
    shared: float = 0.0


@dataclass(frozen=True)
class Population:
    ballot: VoteMatrix
    is_right: tuple[bool, ...]
    """Of each solution."""


def make_population(kind: Kind, seed: int) -> Population:
    chance = Random(f"{seed} {kind}")
    is_right = [chance.random() < kind.right_solutions for _ in range(kind.solutions)]
    is_common = [chance.random() < kind.shared for _ in range(kind.solutions)]
    check_is_right = [chance.random() < kind.right_checks for _ in range(kind.checks)]
    check_is_common = [chance.random() < kind.shared for _ in range(kind.checks)]
    caught = [chance.random() >= kind.lucky for _ in range(kind.checks)]
    """Which right tests catch the common mistake; the same for all who make it."""
    passed = [[False] * kind.checks for _ in range(kind.solutions)]
    for row, right in enumerate(is_right):
        for column, check_right in enumerate(check_is_right):
            if right:
                passed[row][column] = check_right
            elif is_common[row]:
                passed[row][column] = not caught[column] if check_right else check_is_common[column]
            else:
                passed[row][column] = check_right and chance.random() < kind.lucky
    return Population(make_vote_matrix(passed), tuple(is_right))
