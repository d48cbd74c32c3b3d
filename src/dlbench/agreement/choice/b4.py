"""Which consensus set is best, by B4? The one that is most probably the set of the right solutions.

Say that exactly the set's solutions and exactly its tests are right. A right solution passes every right test and no
wrong one; a wrong solution passes a right test with one unknown chance, and a wrong test with another. With Beta priors
on both chances and on the shares of right solutions and right tests, the posterior of that guess is a product of four
Beta functions, and gives the method its name (Chen and others, 2024). Its logarithm is the score.
"""

import math

import numpy as np

from dlbench.agreement.choice.ballot import Ballot
from dlbench.agreement.choice.consensus import Consensus

BETA_0 = 1e4
"""Wrong solutions seldom pass wrong tests: two that err seldom err alike. Both values are the authors' own."""
ALPHA_XY = 1e3
"""Right solutions and right tests are rather many: a strong pull towards large sets."""


def score_b4(ballot: Ballot, consensus: Consensus, beta_0: float = BETA_0, alpha_xy: float = ALPHA_XY) -> float:
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
