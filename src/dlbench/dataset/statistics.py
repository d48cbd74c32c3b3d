"""Compute statistics of a dataset: counts and medians of its records, and the outcomes of independent solvers.

Everything is computed from the records, so that anybody who has them gets the same figures. `solving.jsonl` keeps the
outcomes of attempts but no solutions: those would be answers to our own tasks.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import Any, Literal

from pydantic import ValidationError

from dlbench.dataset.file_task import FileTask
from dlbench.dataset.labels import AXES
from dlbench.dataset.loading import Benchmark
from dlbench.dataset.plus import read_plus
from dlbench.dataset.records import Instance, Record
from dlbench.dataset.tracks import TrackBenchmark
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines

RECENT = date(2025, 6, 1)
"""Functions that first appeared later count as recent: models of that year have not read them."""

Statistics = dict[str, Any]


def describe(benchmark: Benchmark, instances: Sequence[Instance]) -> Statistics:
    """`mutation_score_median` is None where nothing was measured."""

    def measure(name: str) -> list[float]:
        return [value for one in instances if (value := getattr(one.measures, name)) is not None]

    def count(key: Callable[[Instance], str]) -> dict[str, int]:
        return dict(Counter(map(key, instances)).most_common())

    scores = [score for one in instances if (score := mutation_score(one)) is not None]
    plus = [record for record in map(read_plus(benchmark.root).get, (one.id for one in instances)) if record]
    measured = [record for record in plus if record.mutants]
    return {
        "version": str(benchmark.version),
        "instances": len(instances),
        "projects": len({instance.project for instance in instances}),
        "methods": sum(instance.is_method for instance in instances),
        "tests": sum(len(instance.tests) for instance in instances),
        "tests_median": _median(len(instance.tests) for instance in instances),
        "loc_median": _median(measure("loc")),
        "loc_over_20": sum(loc > 20 for loc in measure("loc")),
        "cyclomatic_median": _median(measure("cyclomatic")),
        "cognitive_median": _median(measure("cognitive")),
        "mutants_most": max(measure("mutants"), default=None),
        "mutation_score_median": _median(scores, digits=3),
        "mutation_score_least": round(min(scores), 3) if scores else None,
        "plus": sum(bool(record.inputs) for record in plus),
        "plus_inputs_median": _median(len(record.inputs) for record in plus if record.inputs),
        "plus_measured": len(measured),
        "plus_mutants": sum(record.mutants for record in measured),
        "plus_score_by_tests": [round(record.killed / record.mutants, 3) for record in measured],
        "plus_score": [round(record.killed_plus / record.mutants, 3) for record in measured],
        "after_2025_06": sum(instance.introduced > RECENT for instance in instances),
        "project": count(lambda one: one.project),
        **{axis: count(attrgetter(f"labels.{axis}.value")) for axis in AXES},
        "framework": count(lambda one: benchmark.project_of(one).framework.value),
        "license": count(lambda one: benchmark.project_of(one).license),
        "year": dict(sorted(count(lambda one: str(one.introduced.year)).items())),
    }


def describe_tasks(benchmark: TrackBenchmark) -> Statistics:
    records = [one for one in benchmark.instances.values() if isinstance(one, FileTask)]
    return {
        "version": str(benchmark.version),
        "instances": len(records),
        "projects": len({one.project for one in records}),
        "lines": sum(one.lines for one in records),
        "lines_median": _median(one.lines for one in records),
        "definitions": sum(one.definitions for one in records),
        "visible_tests": sum(len(one.visible) for one in records),
        "hidden_tests": sum(len(one.hidden) for one in records),
    }


def mutation_score(instance: Instance) -> float | None:
    """The share of mutants of the reference that the tests kill."""
    mutants, killed = instance.measures.mutants, instance.measures.mutants_killed
    return killed / mutants if mutants and killed is not None else None


def _median(values: Iterable[float], digits: int = 1) -> float | None:
    known = list(values)
    return round(median(known), digits) if known else None


Fault = Literal["", "prompt", "solver"]


class Attempt(Record):
    """`attempt` counts from 1; `fault` is set once somebody reviewed the failure; `lacked` says what the prompt lacked
    then and has now."""

    id: str
    attempt: int
    status: str
    fault: Fault = ""
    lacked: str = ""

    @property
    def passed(self) -> bool:
        return self.status == "pass"


@dataclass(frozen=True)
class Solved:
    """`first`: solved by the first solver; `final`: by any; `repaired`: instances whose prompt was rewritten."""

    tried: int
    first: int
    final: int
    repaired: int


def read_attempts(root: Path) -> list[Attempt]:
    path = root / "solving.jsonl"
    attempts: list[Attempt] = []
    for number, row in read_lines(path) if path.is_file() else ():
        try:
            attempts.append(Attempt(**row))
        except (ValidationError, TypeError) as error:
            what, fix = f"not an attempt: {error}", "write id, attempt and status, and for failures fault and lacked"
            raise DLBenchError(what, where=f"{path}:{number}", fix=fix) from None
    return attempts


def summarise(attempts: Iterable[Attempt], instances: Sequence[Instance]) -> Solved:
    """The summary of the attempts at these instances."""
    ids = {instance.id for instance in instances}
    by_id: dict[str, list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda one: one.attempt):
        if attempt.id in ids:
            by_id.setdefault(attempt.id, []).append(attempt)
    return Solved(
        tried=len(by_id),
        first=sum(tries[0].passed for tries in by_id.values()),
        final=sum(any(one.passed for one in tries) for tries in by_id.values()),
        repaired=sum(any(one.fault == "prompt" for one in tries) for tries in by_id.values()),
    )
