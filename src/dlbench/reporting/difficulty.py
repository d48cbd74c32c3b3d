"""How hard is an instance?

Where runs were given, they tell: the share of all samples that pass, each run counting the same. Where not, it can only
be guessed from the reference's size and branches, and the page says that it is a guess.
"""

from collections.abc import Mapping, Sequence

from dlbench.dataset import Instance
from dlbench.reporting.board.entry import BASELINES
from dlbench.runs import Run
from dlbench.scoring import Tally
from dlbench.scoring.tally import mean

LEVELS = ("easy", "medium", "hard", "unsolved", "unknown")
_SMALL, _LARGE = (10, 5), (30, 15)
"""Lines of code and cognitive complexity: small is neither above the first, large either above the second."""


def tells_difficulty(run: Run) -> bool:
    """The reference solves everything and the stub nothing, however hard it is."""
    return run.config.get("model") not in BASELINES


def find_difficulty(instance: Instance, runs: Sequence[Mapping[str, Tally]]) -> str:
    """One of `LEVELS`; by thirds of the share that passes, and `unsolved` where nobody ever did."""
    if not runs:
        return _guess(instance)
    told = [tallies[instance.id] for tallies in runs if instance.id in tallies]
    shares = [one.share for one in told if not one.harness_errors]  # our own fault makes nothing hard
    if not shares:
        return "unknown"
    share = mean(shares)
    return "unsolved" if not share else "hard" if share < 1 / 3 else "medium" if share < 2 / 3 else "easy"


def _guess(instance: Instance) -> str:
    loc, cognitive = instance.measures.loc, instance.measures.cognitive
    if loc is None or cognitive is None:
        return "unknown"
    if loc > _LARGE[0] or cognitive > _LARGE[1]:
        return "hard"
    return "easy" if loc <= _SMALL[0] and cognitive <= _SMALL[1] else "medium"
