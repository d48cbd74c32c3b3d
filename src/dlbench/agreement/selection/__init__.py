"""Select one of several solutions from which of the model's tests each passes.

A rule scores the consensus sets; the best set wins, and one of its members is drawn. Ties between sets are drawn too.
Where no solution passes any test, every solution takes part in the draw. Draws depend on the seed and the instance's id
alone, so a choice is reproducible in any order and on any machine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from dlbench.agreement.selection.consensus import Consensus, VoteMatrix, find_sets
from dlbench.agreement.selection.rules import Outputs, find_equivalent, score_b4, score_codet, score_mbr
from dlbench.registry import find_known

CODET, B4, MBR, RANDOM = "codet", "b4", "mbr-exec", "random"
RULES = (CODET, B4, MBR, RANDOM)
_TOLERANCE = 1e-9

_SCORES: dict[str, Callable[[VoteMatrix, Consensus], float]] = {CODET: score_codet, B4: score_b4}


@dataclass(frozen=True)
class Choice:
    solution: int
    """Its row in the vote matrix."""
    rule: str
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
        return Choice(_draw(rng, votes, everyone), RANDOM, 0.0, everyone)
    if rule == MBR:
        scores = score_mbr(votes, find_equivalent(votes, outputs))
        best = tuple(index for index in everyone if scores[index] == scores.max())
        without_tests = len(votes.test_counts) == 0  # nothing ran, so all are equivalent
        return Choice(_draw(rng, votes, best), MBR, float(scores.max()), best, fell_back=without_tests)
    sets = find_sets(votes)
    if not sets:
        return Choice(_draw(rng, votes, everyone), rule, 0.0, everyone, fell_back=True)
    values = [_SCORES[rule](votes, one) for one in sets]
    tied = [one for one, value in zip(sets, values, strict=True) if value >= max(values) - _TOLERANCE]
    chosen = rng.choice(tied)
    return Choice(_draw(rng, votes, chosen.members), rule, max(values), chosen.members, chosen.tests)


def _draw(rng: Random, votes: VoteMatrix, members: Sequence[int]) -> int:
    """One of them, weighted by how often it was written."""
    return rng.choices(members, weights=[int(votes.solution_counts[index]) for index in members])[0]
