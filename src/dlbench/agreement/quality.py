"""How good are the tests that a model wrote?

A test is right when the reference passes it, and it is of use when it tells the reference from a mutant. Both are found
out after the choice, by letting the reference and mutants of it meet the same tests; neither is shown to the choice.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from dlbench.agreement.answers import Answers
from dlbench.agreement.checks.check import count
from dlbench.agreement.matrix import Row, fill_matrix
from dlbench.agreement.not_run import tell_not_run
from dlbench.agreement.planted import write_copy
from dlbench.agreement.solutions import Solution, make_solution
from dlbench.dataset import Instance
from dlbench.execution.cross_run import CrossRunPool
from dlbench.validation.mutants import write_mutants

QUALITY = "quality.jsonl"
MUTANTS = 5


@dataclass(frozen=True)
class Quality:
    written: int
    """Tests that could be used, with repetitions; over all instances."""
    distinct: int
    dropped: int
    """What the model wrote as tests and could not be used."""
    right: float
    """The share of distinct tests that the reference passes."""
    telling: float
    """The share of right tests that fail on one mutant or more."""
    killed: float
    """The share of mutants on which a right test fails."""
    without: int
    """Instances without a single right test."""
    not_run: str = ""
    """Meetings that our own fault prevented, and that are in no share; empty where all took place."""


def measure_quality(
    rooms: CrossRunPool,
    instances: Sequence[Instance],
    answers: Mapping[str, Answers],
    path: Path,
    mutants: int = MUTANTS,
    on_row: Callable[[Row], None] = lambda row: None,
) -> Quality:
    references: dict[str, Solution] = {}
    wrong: dict[str, list[Solution]] = {}
    rows: list[Row] = []
    for one in instances:
        node = rooms.engine.asked(rooms.prepared[one.project], one).target.node
        references[one.id] = make_solution(write_copy(node, -1))
        wrong[one.id] = [make_solution(code) for _, code in write_mutants(node, mutants)]
        checks = list(count(answers[one.id].all_checks))
        rows += [Row(one, solution, checks) for solution in (references[one.id], *wrong[one.id]) if checks]
    matrix = fill_matrix(rooms, rows, path, on_row)
    not_run = tell_not_run(matrix, rows)
    is_right: list[bool] = []
    is_telling: list[bool] = []
    is_killed: list[bool] = []
    without = distinct = 0
    for one in instances:
        reference = references[one.id].id
        written = list(count(answers[one.id].all_checks))
        distinct += len(written)
        checks = [check for check in written if matrix.is_known(one.id, reference, check.id)]
        right = [check for check in checks if matrix.passes(one.id, reference, check.id)]
        is_right += [check in right for check in checks]
        met = [bad for bad in wrong[one.id] if any(matrix.is_known(one.id, bad.id, check.id) for check in right)]
        is_telling += [any(matrix.fails(one.id, bad.id, check.id) for bad in met) for check in right if met]
        is_killed += [any(matrix.fails(one.id, bad.id, check.id) for check in right) for bad in met]
        without += not right
    return Quality(
        written=sum(len(answers[one.id].all_checks) for one in instances),
        distinct=distinct,
        dropped=sum(len(answers[one.id].dropped) for one in instances),
        right=_share(is_right),
        telling=_share(is_telling),
        killed=_share(is_killed),
        without=without,
        not_run=not_run,
    )


def _share(values: Sequence[bool]) -> float:
    return fmean(values) if values else math.nan
