"""What is in a dataset? Counts and medians over its records, for people, for programs and for the card.

Everything here is computed from the records and from nothing else, so that anybody who has them gets the same figures.

Can instances be solved from their prompts? What independent solvers made of them.

One line an attempt in `solving.jsonl`: which instance, the how-manieth solver, what the engine said, and for a failure
what the fault was. Outcomes are kept and solutions never: they would be answers to our own questions.
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
"""What first appeared after it counts as recent: models of that year have not read it."""

Statistics = dict[str, Any]


def describe(benchmark: Benchmark, instances: Sequence[Instance]) -> Statistics:
    """`mutation_score_median` is None where nothing was measured; `alpha` is not computed here."""
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
    """The share of small mistakes in the reference that the tests find."""
    mutants, killed = instance.measures.mutants, instance.measures.mutants_killed
    return killed / mutants if mutants and killed is not None else None


def _measured(instances: Iterable[Instance], measure: Callable[[Instance], float | None]) -> list[float]:
    return [value for instance in instances if (value := measure(instance)) is not None]


def _median(values: Iterable[float], digits: int = 1) -> float | None:
    known = list(values)
    return round(median(known), digits) if known else None


Fault = Literal["", "prompt", "solver"]


class Attempt(Record):
    """`attempt` counts from 1; `fault` says whose a failure was, once somebody has read it, and `lacked` what the
    prompt did not say and now does."""

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
    """`first`: solved by the first solver; `final`: by any; `fixed`: prompts that were written anew."""

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
    """Over the attempts at these instances."""
    wanted = {instance.id for instance in instances}
    by_id: dict[str, list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda one: one.attempt):
        if attempt.id in wanted:
            by_id.setdefault(attempt.id, []).append(attempt)
    return Solved(
        tried=len(by_id),
        first=sum(tries[0].passed for tries in by_id.values()),
        final=sum(any(one.passed for one in tries) for tries in by_id.values()),
        repaired=sum(any(one.fault == "prompt" for one in tries) for tries in by_id.values()),
    )
