"""Run every solution of an instance on every test that the model wrote, and keep the results.

A second start runs what is missing: new solutions and tests, and harness errors. Choices and studies read the journal.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dlbench.agreement.answers import Solution
from dlbench.agreement.model_tests import ModelTest
from dlbench.agreement.selection import Outputs, VoteMatrix, make_vote_matrix
from dlbench.dataset import Instance
from dlbench.errors import DLBenchError
from dlbench.execution.cross_run import CheckResult, CrossRunPool, CrossRunTask, Result
from dlbench.jsonl import Journal, read_lines

MATRIX = "matrix.jsonl"
_ABORTED = {Result.TIMEOUT, Result.CRASHED, Result.OUT_OF_MEMORY, Result.TAMPERED}
_FAILED = {Result.FAILED, Result.ERROR, Result.TIMEOUT, Result.CRASHED, Result.OUT_OF_MEMORY}

Key = tuple[str, str]
"""Instance and solution."""


@dataclass(frozen=True)
class MatrixRow:
    instance: Instance
    solution: Solution
    tests: Sequence[ModelTest]


class Matrix:
    """The known results, by instance and solution, then by test."""

    def __init__(self) -> None:
        self.results: dict[Key, dict[str, str]] = {}
        self.outputs: dict[Key, dict[str, list[Any]]] = {}
        self.seconds = 0.0

    def add(self, record: Mapping[str, Any]) -> None:
        key = record["instance"], record["solution"]
        self.results.setdefault(key, {}).update(record["results"])
        self.outputs.setdefault(key, {}).update(record.get("outputs", {}))
        self.seconds += sum(record.get("seconds", {}).values())

    def count(self) -> dict[str, int]:
        return dict(Counter(result for results in self.results.values() for result in results.values()))

    def result(self, instance: str, solution: str, test: str) -> str:
        return self.results.get((instance, solution), {}).get(test, Result.NOT_RUN)

    def passes(self, instance: str, solution: str, test: str) -> bool:
        return self.result(instance, solution, test) == Result.PASSED

    def fails(self, instance: str, solution: str, test: str) -> bool:
        """It ran and did not pass; a run without a result neither passes nor fails."""
        return self.result(instance, solution, test) in _FAILED

    def is_known(self, instance: str, solution: str, test: str) -> bool:
        return self.result(instance, solution, test) != Result.NOT_RUN

    def find_missing(self, row: MatrixRow) -> list[ModelTest]:
        return [test for test in row.tests if not self.is_known(row.instance.id, row.solution.id, test.id)]

    def find_runnable(self, instance: str, solutions: Iterable[str]) -> list[str]:
        """The solutions that could replace the target; all of them if none could. The others have no vote."""
        ids = list(solutions)
        runnable = [one for one in ids if Result.UNUSABLE not in self.results.get((instance, one), {}).values()]
        return runnable or ids

    def find_not_run(self, rows: Iterable[MatrixRow]) -> dict[str, int]:
        """By instance, how many of these runs have no result because of a harness error."""
        return dict(Counter(row.instance.id for row in rows for _ in self.find_missing(row)))

    def make_votes(self, instance: str, solutions: Mapping[str, int], tests: Mapping[str, int]) -> VoteMatrix:
        """Ids with how often each was written; a run without a result counts as not passed."""
        passed = [[self.passes(instance, solution, test) for test in tests] for solution in solutions]
        return make_vote_matrix(passed, list(solutions.values()), list(tests.values()))

    def find_outputs(self, instance: str, solutions: Iterable[str], tests: Iterable[str]) -> Outputs:
        """An aborted run returned nothing; its result stands for it, or it would equal every run that fails."""
        columns = {test: column for column, test in enumerate(tests)}
        found = []
        for solution in solutions:
            key = instance, solution
            aborted = {test: [{"ended": one}] for test, one in self.results.get(key, {}).items() if one in _ABORTED}
            known = aborted | self.outputs.get(key, {})
            found.append({columns[test]: output for test, output in known.items() if test in columns})
        return found


def read_matrix(path: Path) -> Matrix:
    matrix = Matrix()
    for number, record in read_lines(path):
        try:
            matrix.add(record)
        except (KeyError, TypeError, AttributeError) as error:
            what = f"not a row of a matrix: {type(error).__name__} {error}"
            raise DLBenchError(what, where=f"{path}:{number}", fix="pass a folder that `dlbench` wrote") from None
    return matrix


def fill_matrix(
    pool: CrossRunPool, rows: Sequence[MatrixRow], path: Path, on_row: Callable[[MatrixRow], None] = lambda row: None
) -> Matrix:
    """Run what has no result yet, and append it to the journal."""
    with Journal(path) as journal:
        matrix = read_matrix(path)
        pending: dict[Key, MatrixRow] = {}
        tasks = []
        for row in rows:
            if missing := matrix.find_missing(row):
                pending[row.instance.id, row.solution.id] = replace(row, tests=missing)
                codes = [test.code for test in missing]
                tasks.append(CrossRunTask(row.instance, row.solution.id, row.solution.code, codes))
            else:
                on_row(row)

        def save(task: CrossRunTask, results: list[CheckResult]) -> None:
            row = pending[task.instance.id, task.key]
            record = _make_record(row, results)
            journal.append(record)
            matrix.add(record)
            on_row(row)

        pool.run(tasks, save)
    return matrix


def _make_record(row: MatrixRow, results: Sequence[CheckResult]) -> dict[str, Any]:
    pairs = list(zip(row.tests, results, strict=True))
    record: dict[str, Any] = {
        "instance": row.instance.id,
        "solution": row.solution.id,
        "results": {test.id: str(one.result) for test, one in pairs},
        "seconds": {test.id: one.seconds for test, one in pairs},
    }
    messages = {test.id: one.message[:150] for test, one in pairs if one.message}
    outputs = {test.id: one.outputs for test, one in pairs if one.outputs}
    return record | ({"messages": messages} if messages else {}) | ({"outputs": outputs} if outputs else {})


def describe_not_run(matrix: Matrix, rows: Sequence[MatrixRow]) -> str:
    """How many runs have no result, by instance; empty if none. Raises if no run has a result."""
    missing, total = matrix.find_not_run(rows), sum(len(row.tests) for row in rows)
    if not missing:
        return ""
    what = f"{sum(missing.values())} of {total} runs of solutions on tests have no result"
    if sum(missing.values()) == total:
        fix = "`dlbench doctor` lists what is missing on this machine; run the command again to retry"
        raise DLBenchError(what, where=next(iter(missing)), fix=fix)
    return f"{what}: {', '.join(f'{one} ({count})' for one, count in missing.items())}"
