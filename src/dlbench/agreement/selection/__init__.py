"""Which of several solutions is chosen, from nothing but which passed which of the model's tests. Pure functions.

Which solution answers?

The best set of the chosen rule, and a member of it by lot; where sets are equally good, the set by lot too. Where no
solution passes any test there is nothing to agree on, and all solutions draw. Every lot is drawn from the seed and the
instance's name alone, so that a choice can be made again, in any order, on any machine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from dlbench.agreement.selection.consensus import Consensus, VoteMatrix, find_sets
from dlbench.agreement.selection.rules import Outputs, find_equivalent, score_b4, score_codet, score_mbr
from dlbench.registry import find_known

CODET, B4, MBR, RANDOM = "codet", "b4", "mbr-exec", "random"
RULES = (CODET, B4, MBR, RANDOM)
_SAME = 1e-9

_SCORES: dict[str, Callable[[VoteMatrix, Consensus], float]] = {CODET: score_codet, B4: score_b4}


@dataclass(frozen=True)
class Choice:
    solution: int
    """Its place in the ballot."""
    rule: str
    score: float
    members: tuple[int, ...]
    """Those among whom the last lot was drawn."""
    checks: tuple[int, ...] = ()
    """The tests on which they agree."""
    fell_back: bool = False
    """No solution passed anything, or, for MBR-exec, none was run: a random one was taken."""


def choose(
    ballot: VoteMatrix, rule: str = CODET, *, seed: int = 0, key: str = "", outputs: Outputs | None = None
) -> Choice:
    """`key`: what the lots are drawn for, such as the instance's id. `outputs`: for MBR-exec, where they are known."""
    find_known(rule, dict.fromkeys(RULES), "rule of choice")
    lot = Random(f"{seed} {rule} {key}")
    everyone = tuple(range(len(ballot.solutions)))
    if rule == RANDOM:
        return Choice(_draw(lot, ballot, everyone), RANDOM, 0.0, everyone)
    if rule == MBR:
        scores = score_mbr(ballot, find_equivalent(ballot, outputs))
        best = tuple(place for place in everyone if scores[place] == scores.max())
        blind = len(ballot.checks) == 0  # nobody ran, and so all are alike
        return Choice(_draw(lot, ballot, best), MBR, float(scores.max()), best, fell_back=blind)
    sets = find_sets(ballot)
    if not sets:
        return Choice(_draw(lot, ballot, everyone), rule, 0.0, everyone, fell_back=True)
    values = [_SCORES[rule](ballot, one) for one in sets]
    tied = [one for one, value in zip(sets, values, strict=True) if value >= max(values) - _SAME]
    chosen = lot.choice(tied)
    member = _draw(lot, ballot, chosen.members)
    return Choice(member, rule, max(values), chosen.members, chosen.checks)


def _draw(lot: Random, ballot: VoteMatrix, members: Sequence[int]) -> int:
    """One of them, each as likely as it was written often."""
    return lot.choices(members, weights=[int(ballot.solutions[place]) for place in members])[0]
