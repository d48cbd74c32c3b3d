"""What is in a dataset? Counts and medians over its records, for people, for programs and for the card.

Everything here is computed from the records and from nothing else, so that anybody who has them gets the same figures.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from statistics import median
from typing import Any

from dlbench.dataset.labels import AXES
from dlbench.dataset.loading import Benchmark
from dlbench.dataset.records import Instance

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
