"""Synthetic populations of solutions and tests of which the right ones are known.

A right solution passes every right test and no wrong one. A wrong solution passes a right test by luck now and then, and
a wrong test if both share the same error. Independent errors seldom coincide; a shared error (one mistake that a model
repeats in solutions and tests) votes together, which is how agreement comes to select a mistake.
"""

from dataclasses import dataclass
from random import Random

from dlbench.agreement.selection import VoteMatrix, make_vote_matrix


@dataclass(frozen=True)
class PopulationSpec:
    """`lucky`: the probability that a wrong solution passes a right test; `shared`: the share of errors, in solutions and
    tests, that are the same mistake."""

    solutions: int = 8
    tests: int = 40
    right_solutions: float = 0.5
    right_tests: float = 0.7
    lucky: float = 0.3
    shared: float = 0.0


@dataclass(frozen=True)
class Population:
    votes: VoteMatrix
    is_right: tuple[bool, ...]
    """By solution."""


def make_population(spec: PopulationSpec, seed: int) -> Population:
    rng = Random(f"{seed} {spec}")
    is_right = [rng.random() < spec.right_solutions for _ in range(spec.solutions)]
    is_shared = [rng.random() < spec.shared for _ in range(spec.solutions)]
    test_is_right = [rng.random() < spec.right_tests for _ in range(spec.tests)]
    test_is_shared = [rng.random() < spec.shared for _ in range(spec.tests)]
    # whether a right test catches the shared mistake; the same for every solution that makes it
    catches = [rng.random() >= spec.lucky for _ in range(spec.tests)]
    passed = [[False] * spec.tests for _ in range(spec.solutions)]
    for row, right in enumerate(is_right):
        for column, test_right in enumerate(test_is_right):
            if right:
                passed[row][column] = test_right
            elif is_shared[row]:
                passed[row][column] = not catches[column] if test_right else test_is_shared[column]
            else:
                passed[row][column] = test_right and rng.random() < spec.lucky
    return Population(make_vote_matrix(passed), tuple(is_right))
