"""Which consensus set is best, by CodeT? The one with many tests and, less so, with many solutions."""

import math

from dlbench.agreement.choice.ballot import Ballot
from dlbench.agreement.choice.consensus import Consensus


def score_codet(ballot: Ballot, consensus: Consensus) -> float:
    """|tests| x √|solutions|, both with multiplicity."""
    return consensus.check_count * math.sqrt(consensus.solution_count)
