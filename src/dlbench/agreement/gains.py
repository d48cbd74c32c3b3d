"""What does choosing give, and what could it give at best?

For each instance, which of its solutions are right and which one each rule chose. Held against each other on the same
instances: the rule, the original prompt's solution alone, a random choice (its expectation, not one lucky draw), and
the best possible choice, which is right wherever any solution is. A rule only ever chooses among answers with code that
can stand in the target's place, and so does chance: otherwise passing over the others would look like agreement.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dlbench.dataset import Benchmark
from dlbench.scoring import Comparison, Tally, compare
from dlbench.scoring.significance import against_chances, holm

ORIGINAL, RANDOM, ORACLE = "original alone", "random choice", "best possible"


@dataclass(frozen=True)
class Poll:
    """One instance: its solutions as written, the original prompt's first, and who was chosen by which rule."""

    instance: str
    solved: tuple[bool, ...]
    chosen: Mapping[str, int]
    usable: tuple[bool, ...] = ()
    """Which of them a rule could have chosen; all of them where nothing is said."""
    harness_errors: int = 0
    """Solutions that our own fault kept from being judged; the instance is then left out, and named."""

    @property
    def drawn_from(self) -> tuple[bool, ...]:
        """The solutions that a choice can fall on."""
        kept = tuple(right for right, fit in zip(self.solved, self.usable, strict=True) if fit) if self.usable else ()
        return kept or self.solved


def hold_against(polls: Sequence[Poll], rule: str, benchmark: Benchmark, *, has_original: bool = True) -> Comparison:
    """The rule against everything else, paired by instance; against chance by the exact chances of that choice."""
    found = compare(tally_ways(polls, rule, has_original=has_original), benchmark, only_first=True)
    kept = [poll for poll in polls if poll.instance in set(found.instances)]
    right = sum(poll.solved[poll.chosen[rule]] for poll in kept)
    chances = [sum(poll.drawn_from) / len(poll.drawn_from) for poll in kept]
    pairs = [
        replace(pair, permutation=against_chances(right, chances)) if pair.b == RANDOM else pair for pair in found.pairs
    ]
    corrected = zip(pairs, holm([pair.permutation for pair in pairs]), strict=True)
    return replace(found, pairs=tuple(replace(pair, permutation_holm=p) for pair, p in corrected))


def tally_ways(polls: Sequence[Poll], rule: str, *, has_original: bool = True) -> dict[str, dict[str, Tally]]:
    others = [name for name in polls[0].chosen if name != rule] if polls else []
    ways = {
        name: {poll.instance: _tally(poll, [poll.solved[poll.chosen[name]]]) for poll in polls}
        for name in [rule, *others]
    }
    if has_original:
        ways[ORIGINAL] = {poll.instance: _tally(poll, poll.solved[:1]) for poll in polls}
    ways[RANDOM] = {poll.instance: _tally(poll, poll.drawn_from) for poll in polls}
    ways[ORACLE] = {poll.instance: _tally(poll, [any(poll.solved)]) for poll in polls}
    return ways


def _tally(poll: Poll, solved: Sequence[bool]) -> Tally:
    return Tally(poll.instance, len(solved), sum(solved), sum(solved) / len(solved), poll.harness_errors)
