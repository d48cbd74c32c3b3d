"""Select one of several solutions from which of the model's tests each passes.

A consensus set is all solutions that pass exactly the same tests, with those tests (CodeT; B4 of Chen and others,
2024). For MBR-exec only the inputs of the tests need to be right; closeness is not transitive, so it has no sets. Draws
depend on the seed and the instance's id alone, so a choice is reproducible in any order and on any machine.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlbench.registry import find_known
from dlbench.scoring.tally import group_by

CODET, B4, MBR, RANDOM = RULES = ("codet", "b4", "mbr-exec", "random")
_TOLERANCE = 1e-9
BETA_0 = 1e4
"""Wrong solutions seldom pass wrong tests: two errors are seldom alike. Both values are those of the paper."""
ALPHA_XY = 1e3
"""Right solutions and right tests are many: a strong prior for large sets."""
RELATIVE = 1e-5
ABSOLUTE = 1e-8

Outputs = Sequence[Mapping[int, Sequence[Any]]]
"""For each solution, by column of the test, what the solution returned in each call."""


@dataclass(frozen=True)
class VoteMatrix:
    """A row for each distinct solution and a column for each distinct test, with how often the model wrote each one: a
    solution that was written five times is five votes."""

    passed: NDArray[np.bool_]
    solution_counts: NDArray[np.int64]
    test_counts: NDArray[np.int64]


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
    """In the order of their first members. Solutions that pass nothing form no set."""
    passing: list[int] = np.flatnonzero(votes.passed.any(axis=1)).tolist()
    groups = group_by(passing, lambda index: votes.passed[index].tobytes())
    return [
        Consensus(
            members=tuple(members),
            tests=tuple(map(int, np.flatnonzero(votes.passed[members[0]]))),
            solution_count=int(votes.solution_counts[members].sum()),
            test_count=int(votes.test_counts[votes.passed[members[0]]].sum()),
        )
        for members in groups.values()
    ]


def score_codet(votes: VoteMatrix, consensus: Consensus) -> float:
    """|tests| x √|solutions|, both with multiplicity."""
    return consensus.test_count * math.sqrt(consensus.solution_count)


def score_b4(votes: VoteMatrix, consensus: Consensus, beta_0: float = BETA_0, alpha_xy: float = ALPHA_XY) -> float:
    """ln B(x + a, N - x + 1) + ln B(y + a, M - y + 1) + ln B(k₁ + 1, n₁ - k₁ + 1) + ln B(k₀ + 1, n₀ - k₀ + β₀).

    x of N solutions and y of M tests are in the set; the other solutions pass k₁ of n₁ runs of the set's tests, and k₀
    of n₀ runs of the other tests. All with multiplicity.
    """
    is_member, is_right = np.zeros(len(votes.solution_counts), bool), np.zeros(len(votes.test_counts), bool)
    is_member[list(consensus.members)] = True
    is_right[list(consensus.tests)] = True
    others = votes.solution_counts * ~is_member
    passes = others @ votes.passed.astype(np.int64) * votes.test_counts
    runs = int(others.sum()) * votes.test_counts
    all_solutions, all_tests = int(votes.solution_counts.sum()), int(votes.test_counts.sum())
    right_passes, right_runs = int(passes[is_right].sum()), int(runs[is_right].sum())
    wrong_passes, wrong_runs = int(passes[~is_right].sum()), int(runs[~is_right].sum())
    return (
        _log_beta(consensus.solution_count + alpha_xy, all_solutions - consensus.solution_count + 1)
        + _log_beta(consensus.test_count + alpha_xy, all_tests - consensus.test_count + 1)
        + _log_beta(right_passes + 1, right_runs - right_passes + 1)
        + _log_beta(wrong_passes + 1, wrong_runs - wrong_passes + beta_0)
    )


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def score_mbr(votes: VoteMatrix, equivalent: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each solution, how many answers (with multiplicity) behave alike, including itself."""
    scores: NDArray[np.int64] = equivalent.astype(np.int64) @ votes.solution_counts
    return scores


def find_equivalent(votes: VoteMatrix, outputs: Outputs | None = None) -> NDArray[np.bool_]:
    """Which pairs of solutions behave alike; by outputs on the tests where both have some."""
    count = len(votes.solution_counts)
    equivalent = np.eye(count, dtype=np.bool_)
    for one in range(count):
        for other in range(one):
            equivalent[one, other] = equivalent[other, one] = _behave_alike(votes, outputs, one, other)
    return equivalent


def _behave_alike(votes: VoteMatrix, outputs: Outputs | None, one: int, other: int) -> bool:
    for test in range(len(votes.test_counts)):
        left, right = (outputs[index].get(test) if outputs is not None else None for index in (one, other))
        if left and right and not are_close(left, right):
            return False
        if left and right and is_informative(left) and is_informative(right):
            continue
        if votes.passed[one, test] != votes.passed[other, test]:
            return False
    return True


def are_close(one: Any, other: Any) -> bool:  # noqa: ANN401 - JSON
    """The same structure, and numbers within tolerance; NaN is close to NaN, and float32 to float64."""
    if _is_number(one) and _is_number(other):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(are_close(one[key], other[key]) for key in one)
    if _is_list(one) and _is_list(other):
        return len(one) == len(other) and all(map(are_close, one, other))
    return type(one) is type(other) and bool(one == other)


def is_informative(output: Any) -> bool:  # noqa: ANN401 - JSON
    """Whether it says all of what was returned: None, an error, a bare class name or a cut text do not."""
    if isinstance(output, Mapping):
        return not output.keys() & {"class", "raised", "cut"} and all(map(is_informative, output.values()))
    return all(map(is_informative, output)) if _is_list(output) else output is not None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


_SCORES: dict[str, Callable[[VoteMatrix, Consensus], float]] = {CODET: score_codet, B4: score_b4}


@dataclass(frozen=True)
class Choice:
    solution: int
    """Its row in the vote matrix."""
    score: float
    members: tuple[int, ...]
    """The solutions of the last draw."""
    tests: tuple[int, ...] = ()
    """The tests that all of them pass."""
    fell_back: bool = False
    """No solution passed anything or, for MBR-exec, none ran: the solution is a random one."""


def check_rule(rule: str) -> None:
    find_known(rule, dict.fromkeys(RULES), "selection rule")


def choose(
    votes: VoteMatrix, rule: str = CODET, *, seed: int = 0, key: str = "", outputs: Outputs | None = None
) -> Choice:
    """`key` seeds the draws together with `seed`, such as the instance's id; `outputs` is for MBR-exec."""
    check_rule(rule)
    rng = Random(f"{seed} {rule} {key}")
    everyone = tuple(range(len(votes.solution_counts)))
    if rule == RANDOM:
        return Choice(_draw(rng, votes, everyone), 0.0, everyone)
    if rule == MBR:
        scores = score_mbr(votes, find_equivalent(votes, outputs))
        best = tuple(index for index in everyone if scores[index] == scores.max())
        without_tests = len(votes.test_counts) == 0  # nothing ran, so all are equivalent
        return Choice(_draw(rng, votes, best), float(scores.max()), best, fell_back=without_tests)
    sets = find_sets(votes)
    if not sets:
        return Choice(_draw(rng, votes, everyone), 0.0, everyone, fell_back=True)
    values = [_SCORES[rule](votes, one) for one in sets]
    tied = [one for one, value in zip(sets, values, strict=True) if value >= max(values) - _TOLERANCE]
    chosen = rng.choice(tied)
    return Choice(_draw(rng, votes, chosen.members), max(values), chosen.members, chosen.tests)


def _draw(rng: Random, votes: VoteMatrix, members: Sequence[int]) -> int:
    """One of them, weighted by how often it was written."""
    return rng.choices(members, weights=[int(votes.solution_counts[index]) for index in members])[0]
