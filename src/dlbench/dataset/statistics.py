"""Compute statistics of a dataset: counts and medians of its records, and the outcomes of independent solvers.

Everything is computed from the records alone, so that anybody who has them gets the same figures. `solving.jsonl` has
one line per attempt: the instance, the number of the solver, the status, and for a failure whose fault it was. It keeps
outcomes but no solutions: those would be answers to our own tasks.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any, Literal

from pydantic import ValidationError

from dlbench.dataset.labels import AXES
from dlbench.dataset.loading import Benchmark
from dlbench.dataset.records import Instance, Record
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines

RECENT = date(2025, 6, 1)
"""Functions that first appeared later count as recent: models of that year have not read them."""

Statistics = dict[str, Any]


def describe(benchmark: Benchmark, instances: Sequence[Instance]) -> Statistics:
    """`mutation_score_median` is None where nothing was measured."""
    projects = Counter(instance.project for instance in instances)
    scores = _measured(instances, mutation_score)
    found: Statistics = {
        "version": str(benchmark.version),
        "instances": len(instances),
        "projects": len(projects),
        "methods": sum(instance.is_method for instance in instances),
        "tests": sum(len(instance.tests) for instance in instances),
        "tests_median": _median(len(instance.tests) for instance in instances),
        "loc_median": _median(_measured(instances, lambda one: one.measures.loc)),
        "loc_over_20": sum(loc > 20 for loc in _measured(instances, lambda one: one.measures.loc)),
        "cyclomatic_median": _median(_measured(instances, lambda one: one.measures.cyclomatic)),
        "cognitive_median": _median(_measured(instances, lambda one: one.measures.cognitive)),
        "mutants_most": max(_measured(instances, lambda one: one.measures.mutants), default=None),
        "mutation_score_median": _median(scores, digits=3),
        "mutation_score_least": round(min(scores), 3) if scores else None,
        "after_2025_06": sum(instance.introduced > RECENT for instance in instances),
        "project": dict(projects.most_common()),
    }
    for axis in AXES:
        counts = Counter(str(getattr(instance.labels, axis)) for instance in instances)
        found[axis] = dict(counts.most_common())
    frameworks = Counter(str(benchmark.project_of(instance).framework) for instance in instances)
    licences = Counter(benchmark.project_of(instance).license for instance in instances)
    years = Counter(str(instance.introduced.year) for instance in instances)
    found |= {"framework": dict(frameworks.most_common()), "license": dict(licences.most_common())}
    return found | {"year": dict(sorted(years.items()))}


def mutation_score(instance: Instance) -> float | None:
    """The share of mutants of the reference that the tests kill."""
    mutants, killed = instance.measures.mutants, instance.measures.mutants_killed
    return killed / mutants if mutants and killed is not None else None


def _measured(instances: Iterable[Instance], measure: Callable[[Instance], float | None]) -> list[float]:
    return [value for instance in instances if (value := measure(instance)) is not None]


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
