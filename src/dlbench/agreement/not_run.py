"""Which meetings did our own fault prevent?

A sandbox that does not start says nothing of a solution, nor of a test. Where some meetings are missing it is said
aloud; where all are, there is nothing to choose by and nothing to measure, and no figure is given.
"""

from collections.abc import Sequence

from dlbench.agreement.matrix import Matrix, Row
from dlbench.errors import DLBenchError


def tell_not_run(matrix: Matrix, rows: Sequence[Row]) -> str:
    """How many and whose; empty where all took place. Raises where none did."""
    missing, meetings = matrix.find_not_run(rows), sum(len(row.checks) for row in rows)
    if not missing:
        return ""
    told = f"{sum(missing.values())} of {meetings} meetings of solutions and tests could not be run"
    if sum(missing.values()) == meetings:
        mend = "`dlbench doctor` says what this machine lacks; start again, which tries them again"
        raise DLBenchError(told, where=next(iter(missing)), mend=mend)
    return f"{told}: {', '.join(f'{one} ({count})' for one, count in missing.items())}"
