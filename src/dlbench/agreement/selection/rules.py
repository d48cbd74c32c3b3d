"""Which consensus set is best, by B4? The one that is most probably the set of the right solutions.

Say that exactly the set's solutions and exactly its tests are right. A right solution passes every right test and no
wrong one; a wrong solution passes a right test with one unknown chance, and a wrong test with another. With Beta priors
on both chances and on the shares of right solutions and right tests, the posterior of that guess is a product of four
Beta functions, and gives the method its name (Chen and others, 2024). Its logarithm is the score.

Which consensus set is best, by CodeT? The one with many tests and, less so, with many solutions.

Are two outputs the same, but for the noise of floating-point arithmetic?

Two right solutions that add up in another order differ in the last digits; who compares them bit by bit finds no two
that agree. Outputs are compared as they were described inside the sandbox: numbers, texts, lists, and arrays by shape
and values. Kinds of numbers (float32 or float64) count as the same; shapes do not.

Which solution behaves like the most others? MBR-exec: the least risk of standing alone.

Two solutions are alike where they do the same on every test: by what they returned, within a tolerance for
floating-point numbers. What was returned does not always tell: a function that changes its argument, one that raises
and one that does nothing return the same, and of many objects only the class is known. There it counts, too, whether
the test passed. No test needs to be right for this, only its inputs. Being near is not transitive, so that there are no
sets here, and every solution has a score of its own.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlbench.agreement.selection.consensus import Consensus, VoteMatrix

BETA_0 = 1e4
"""Wrong solutions seldom pass wrong tests: two that err seldom err alike. Both values are the authors' own."""
ALPHA_XY = 1e3
"""Right solutions and right tests are rather many: a strong pull towards large sets."""


def score_b4(ballot: VoteMatrix, consensus: Consensus, beta_0: float = BETA_0, alpha_xy: float = ALPHA_XY) -> float:
    """ln B(x + a, N - x + 1) + ln B(y + a, M - y + 1) + ln B(k₁ + 1, n₁ - k₁ + 1) + ln B(k₀ + 1, n₀ - k₀ + β₀).

    x of N solutions and y of M tests are in the set; of the n₁ meetings of the other solutions with the set's tests k₁
    are passed, of the n₀ with the other tests k₀. All with multiplicity.
    """
    is_in, is_right = np.zeros(len(ballot.solutions), bool), np.zeros(len(ballot.checks), bool)
    is_in[list(consensus.members)] = True
    is_right[list(consensus.checks)] = True
    others = ballot.solutions * ~is_in
    passes = others @ ballot.passed.astype(np.int64) * ballot.checks
    meetings = int(others.sum()) * ballot.checks
    all_solutions, all_checks = int(ballot.solutions.sum()), int(ballot.checks.sum())
    right_passed, right_met = int(passes[is_right].sum()), int(meetings[is_right].sum())
    wrong_passed, wrong_met = int(passes[~is_right].sum()), int(meetings[~is_right].sum())
    return (
        _log_beta(consensus.solution_count + alpha_xy, all_solutions - consensus.solution_count + 1)
        + _log_beta(consensus.check_count + alpha_xy, all_checks - consensus.check_count + 1)
        + _log_beta(right_passed + 1, right_met - right_passed + 1)
        + _log_beta(wrong_passed + 1, wrong_met - wrong_passed + beta_0)
    )


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def score_codet(ballot: VoteMatrix, consensus: Consensus) -> float:
    """|tests| x √|solutions|, both with multiplicity."""
    return consensus.check_count * math.sqrt(consensus.solution_count)


RELATIVE = 1e-5
ABSOLUTE = 1e-8


def are_near(one: Any, other: Any, *, relative: float = RELATIVE, absolute: float = ABSOLUTE) -> bool:  # noqa: ANN401 - what JSON has
    """The same structure, and numbers within the larger of both tolerances; nan is near nan."""
    if _is_number(one) and _is_number(other):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return math.isclose(one, other, rel_tol=relative, abs_tol=absolute)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(
            are_near(one[key], other[key], relative=relative, absolute=absolute) for key in one
        )
    if _is_list(one) and _is_list(other):
        return len(one) == len(other) and all(
            are_near(left, right, relative=relative, absolute=absolute) for left, right in zip(one, other, strict=True)
        )
    return type(one) is type(other) and bool(one == other)


def is_informative(output: Any) -> bool:  # noqa: ANN401 - what JSON has
    """Whether it says what was returned: nothing, an error, and a bare class or cut text say only a part."""
    if isinstance(output, Mapping):
        return not output.keys() & {"class", "raised", "cut"} and all(
            is_informative(value) for value in output.values()
        )
    if _is_list(output):
        return all(is_informative(value) for value in output)
    return output is not None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


Alike = NDArray[np.bool_]
Outputs = Sequence[Mapping[int, Sequence[Any]]]
"""For each solution, by the place of a test, what the solution returned there, call by call."""


def find_equivalent(ballot: VoteMatrix, outputs: Outputs | None = None) -> Alike:
    """Who does the same as whom; by outputs on those tests on which both have some."""
    count = len(ballot.solutions)
    alike = np.eye(count, dtype=np.bool_)
    for one in range(count):
        for other in range(one):
            alike[one, other] = alike[other, one] = _do_the_same(ballot, outputs, one, other)
    return alike


def _do_the_same(ballot: VoteMatrix, outputs: Outputs | None, one: int, other: int) -> bool:
    for check in range(len(ballot.checks)):
        left = outputs[one].get(check) if outputs is not None else None
        right = outputs[other].get(check) if outputs is not None else None
        if left and right and not are_near(left, right):
            return False
        if not (left and right and is_informative(left) and is_informative(right)) and (
            ballot.passed[one, check] != ballot.passed[other, check]
        ):
            return False
    return True


def score_mbr(ballot: VoteMatrix, alike: Alike) -> NDArray[np.int64]:
    """For each solution, how many answers (with multiplicity) do as it does, its own among them."""
    scores: NDArray[np.int64] = alike.astype(np.int64) @ ballot.solutions
    return scores
