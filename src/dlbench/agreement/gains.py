"""What does choosing give, and what could it give at best?

For each instance, which of its solutions are right and which one each rule chose. Held against each other on the same
instances: the rule, the original prompt's solution alone, a random choice (its expectation, not one lucky draw), and
the best possible choice, which is right wherever any solution is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dlbench.dataset import Benchmark
from dlbench.scoring import Comparison, Tally, compare

ORIGINAL, RANDOM, ORACLE = "original alone", "random choice", "best possible"


@dataclass(frozen=True)
class Poll:
    """One instance: its solutions as written, the original prompt's first, and who was chosen by which rule."""

    instance: str
    solved: tuple[bool, ...]
    chosen: Mapping[str, int]


def hold_against(polls: Sequence[Poll], rule: str, benchmark: Benchmark, *, has_original: bool = True) -> Comparison:
    """The rule against everything else, paired by instance."""
    return compare(tally_ways(polls, rule, has_original=has_original), benchmark, only_first=True)


def tally_ways(polls: Sequence[Poll], rule: str, *, has_original: bool = True) -> dict[str, dict[str, Tally]]:
    others = [name for name in polls[0].chosen if name != rule] if polls else []
    ways = {
        name: {poll.instance: _tally(poll.instance, [poll.solved[poll.chosen[name]]]) for poll in polls}
        for name in [rule, *others]
    }
    if has_original:
        ways[ORIGINAL] = {poll.instance: _tally(poll.instance, poll.solved[:1]) for poll in polls}
    ways[RANDOM] = {poll.instance: _tally(poll.instance, poll.solved) for poll in polls}
    ways[ORACLE] = {poll.instance: _tally(poll.instance, [any(poll.solved)]) for poll in polls}
    return ways


def _tally(instance: str, solved: Sequence[bool]) -> Tally:
    return Tally(instance, len(solved), sum(solved), sum(solved) / len(solved))
