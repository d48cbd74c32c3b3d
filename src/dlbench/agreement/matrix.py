"""Which solution passed which check? Kept, so that every choice and every figure can be made again without running.

One line of a journal for each solution of an instance, on disk before the next is begun. A second start runs what is
missing: new solutions, new checks, and what was our own fault. Nothing in it depends on how the choice is made.

Which meetings did our own fault prevent?

A sandbox that does not start says nothing of a solution, nor of a test. Where some meetings are missing it is said
aloud; where all are, there is nothing to choose by and nothing to measure, and no figure is given.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlbench.agreement.model_tests import ModelTest
from dlbench.agreement.selection.consensus import VoteMatrix, make_vote_matrix
from dlbench.agreement.selection.rules import Outputs
from dlbench.agreement.solutions import Solution
from dlbench.dataset import Instance
from dlbench.errors import DLBenchError
from dlbench.execution.cross_run import CheckResult, CrossRunPool, CrossRunTask, Result
from dlbench.jsonl import Journal, read_lines

MATRIX = "matrix.jsonl"
_PASSED = str(Result.PASSED)
_OURS = str(Result.NOT_RUN)
_UNUSABLE = str(Result.UNUSABLE)
_BROKE_OFF = {str(one) for one in (Result.TIMEOUT, Result.CRASHED, Result.OUT_OF_MEMORY, Result.TAMPERED)}
_FAILED = {str(one) for one in (Result.FAILED, Result.ERROR, Result.TIMEOUT, Result.CRASHED, Result.OUT_OF_MEMORY)}

Key = tuple[str, str]
"""Instance and solution."""


@dataclass(frozen=True)
class MatrixRow:
    """What is to be known: one solution on these checks."""

    instance: Instance
    solution: Solution
    checks: Sequence[ModelTest]


class Matrix:
    """What is known: by instance and solution, the record of each check."""

    def __init__(self) -> None:
        self.results: dict[Key, dict[str, str]] = {}
        self.outputs: dict[Key, dict[str, list[Any]]] = {}
        self.seconds = 0.0
        """What all meetings took, one after the other."""

    def add(self, record: Mapping[str, Any]) -> None:
        key = record["instance"], record["solution"]
        self.results.setdefault(key, {}).update(record["results"])
        self.outputs.setdefault(key, {}).update(record.get("outputs", {}))
        self.seconds += sum(record.get("seconds", {}).values())

    def find_missing(self, row: MatrixRow) -> list[ModelTest]:
        there = self.results.get((row.instance.id, row.solution.id), {})
        return [check for check in row.checks if there.get(check.id, _OURS) == _OURS]

    def count(self) -> dict[str, int]:
        """How many meetings ended how."""
        found: dict[str, int] = {}
        for results in self.results.values():
            for result in results.values():
                found[result] = found.get(result, 0) + 1
        return found

    def passes(self, instance: str, solution: str, check: str) -> bool:
        return self.results.get((instance, solution), {}).get(check) == _PASSED

    def fails(self, instance: str, solution: str, check: str) -> bool:
        """That it was run and did not pass, which is more than that it is not known to pass."""
        return self.results.get((instance, solution), {}).get(check) in _FAILED

    def is_known(self, instance: str, solution: str, check: str) -> bool:
        return self.results.get((instance, solution), {}).get(check, _OURS) != _OURS

    def find_standing(self, instance: str, solutions: Iterable[str]) -> list[str]:
        """Those that could take the target's place; all of them where none could. Who did not run has no vote."""
        everyone = list(solutions)
        fit = [one for one in everyone if _UNUSABLE not in self.results.get((instance, one), {}).values()]
        return fit or everyone

    def find_not_run(self, rows: Iterable[MatrixRow]) -> dict[str, int]:
        """By instance, how many of these meetings are not known: our own fault."""
        found: dict[str, int] = {}
        for row in rows:
            if missing := self.find_missing(row):
                found[row.instance.id] = found.get(row.instance.id, 0) + len(missing)
        return found

    def make_ballot(self, instance: str, solutions: Mapping[str, int], checks: Mapping[str, int]) -> VoteMatrix:
        """Ids with how often each was written; a meeting that is not known was not passed."""
        passed = [[self.passes(instance, solution, check) for check in checks] for solution in solutions]
        return make_vote_matrix(passed, list(solutions.values()), list(checks.values()))

    def find_outputs(self, instance: str, solutions: Iterable[str], checks: Iterable[str]) -> Outputs:
        """Whoever broke off returned nothing; how it ended stands for it, or it would behave like all who fail."""
        places = {check: place for place, check in enumerate(checks)}
        return [
            {
                places[check]: found
                for check, found in (self._find_ends(instance, one) | self.outputs.get((instance, one), {})).items()
                if check in places
            }
            for one in solutions
        ]

    def _find_ends(self, instance: str, solution: str) -> dict[str, list[Any]]:
        known = self.results.get((instance, solution), {})
        return {check: [{"ended": result}] for check, result in known.items() if result in _BROKE_OFF}


def read_matrix(path: Path) -> Matrix:
    matrix = Matrix()
    for number, record in read_lines(path):
        try:
            matrix.add(record)
        except (KeyError, TypeError, AttributeError) as error:
            what = f"not a row of a matrix: {type(error).__name__} {error}"
            raise DLBenchError(what, where=f"{path}:{number}", fix="give a folder that `dlbench` wrote") from None
    return matrix


def fill_matrix(
    rooms: CrossRunPool, rows: Sequence[MatrixRow], path: Path, on_row: Callable[[MatrixRow], None] = lambda row: None
) -> Matrix:
    """Runs what is not known yet; the journal is the truth."""
    with Journal(path) as journal:
        matrix = read_matrix(path)
        todo: dict[Key, tuple[MatrixRow, list[ModelTest]]] = {}
        for row in rows:
            missing = matrix.find_missing(row)
            if missing:
                todo[row.instance.id, row.solution.id] = row, missing
            else:
                on_row(row)
        meetings = [
            CrossRunTask(row.instance, row.solution.id, row.solution.code, [check.code for check in missing])
            for row, missing in todo.values()
        ]

        def keep(meeting: CrossRunTask, met: list[CheckResult]) -> None:
            row, missing = todo[meeting.instance.id, meeting.key]
            record = _record(row, missing, met)
            journal.append(record)
            matrix.add(record)
            on_row(row)

        rooms.run(meetings, keep)
    return matrix


def _record(row: MatrixRow, checks: Sequence[ModelTest], met: Sequence[CheckResult]) -> dict[str, Any]:
    pairs = list(zip(checks, met, strict=True))
    record: dict[str, Any] = {
        "instance": row.instance.id,
        "solution": row.solution.id,
        "results": {check.id: str(one.result) for check, one in pairs},
        "seconds": {check.id: one.seconds for check, one in pairs},
    }
    messages = {check.id: one.message[:150] for check, one in pairs if one.message}
    outputs = {check.id: one.outputs for check, one in pairs if one.outputs}
    return record | ({"messages": messages} if messages else {}) | ({"outputs": outputs} if outputs else {})


def describe_not_run(matrix: Matrix, rows: Sequence[MatrixRow]) -> str:
    """How many and whose; empty where all took place. Raises where none did."""
    missing, meetings = matrix.find_not_run(rows), sum(len(row.checks) for row in rows)
    if not missing:
        return ""
    told = f"{sum(missing.values())} of {meetings} meetings of solutions and tests could not be run"
    if sum(missing.values()) == meetings:
        fix = "`dlbench doctor` says what this machine lacks; start again, which tries them again"
        raise DLBenchError(told, where=next(iter(missing)), fix=fix)
    return f"{told}: {', '.join(f'{one} ({count})' for one, count in missing.items())}"
