"""Group instances by label, project, framework, size and date."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from itertools import pairwise

from dlbench.dataset import AXES, Benchmark, Instance
from dlbench.dataset.labels import Framework
from dlbench.errors import DLBenchError

SIZES = (1, 6, 11, 21, 41, 81)
"""Lower ends of the bins of lines of code; the last bin is open."""
CUTOFFS = (date(2023, 10, 1), date(2024, 1, 1), date(2024, 5, 1), date(2024, 9, 1), date(2025, 6, 1))
"""The papers' four, and ours: a model trained before such a day cannot have seen what appeared after it."""
LABELS = tuple(AXES)
BREAKDOWNS = (*LABELS, "project", "framework", "size", "year", "live", "crossed")
_SIZE_LABELS = [*(f"{low} to {high - 1} lines" for low, high in pairwise(SIZES)), f"{SIZES[-1]} lines or more"]
_ORDERS: dict[str, Sequence[str]] = {axis: list(labels) for axis, labels in AXES.items()}
_ORDERS |= {"framework": list(Framework), "size": _SIZE_LABELS}

Groups = dict[tuple[str, str], list[str]]
"""(axis, label) to the ids of its instances."""


def group(
    ids: Iterable[str], benchmark: Benchmark, axes: Sequence[str] = LABELS, cutoffs: Sequence[date] = CUTOFFS
) -> Groups:
    """All instances first, then each axis with the labels that occur, in the order of the tables."""
    instances = [benchmark.instances[one] for one in ids]
    groups: Groups = {("all", "all"): [instance.id for instance in instances]}
    for axis in axes:
        labels_of = _find_axis(axis, benchmark, cutoffs)
        found: defaultdict[str, list[str]] = defaultdict(list)
        for instance in instances:
            for label in labels_of(instance):
                found[label].append(instance.id)
        groups |= {(axis, label): found[label] for label in sort_labels(found, _ORDERS.get(axis, ()))}
    return groups


def sort_labels(labels: Iterable[str], order: Sequence[str]) -> list[str]:
    """In this order; labels that it lacks follow by name."""
    return sorted(labels, key=lambda label: (order.index(label) if label in order else len(order), label))


def size_of(instance: Instance) -> str:
    loc = instance.measures.loc
    return "unknown" if loc is None else _SIZE_LABELS[max(0, bisect_right(SIZES, loc) - 1)]


def _find_axis(axis: str, benchmark: Benchmark, cutoffs: Sequence[date]) -> Callable[[Instance], list[str]]:
    if axis in AXES:
        return lambda one: [str(getattr(one.labels, axis))]
    known: dict[str, Callable[[Instance], list[str]]] = {
        "project": lambda one: [one.project],
        "framework": lambda one: [str(benchmark.project_of(one).framework)],
        "size": lambda one: [size_of(one)],
        "year": lambda one: [str(one.introduced.year)],
        "live": lambda one: [f"{'after' if one.introduced > day else 'until'} {day}" for day in cutoffs],
        "crossed": lambda one: [" / ".join(str(getattr(one.labels, name)) for name in AXES)],
    }
    if axis not in known:
        raise DLBenchError(f"there is no breakdown {axis!r}", fix=f"use any of: {', '.join(BREAKDOWNS)}")
    return known[axis]
