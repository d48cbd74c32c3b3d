"""Group instances by label, project, framework, size and date."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from itertools import pairwise
from typing import Any

from dlbench.dataset import AXES
from dlbench.dataset.file_task import FileTask
from dlbench.dataset.labels import Framework, Track
from dlbench.dataset.tracks import TrackBenchmark, TrackInstance, has_functions
from dlbench.errors import DLBenchError

SIZES = {Track.FUNCTION: (1, 6, 11, 21, 41, 81), Track.REBUILD: (1, 500, 1500, 5000, 20_000)}
SIZES |= {Track.COMPONENT: (1, 60, 150, 400), Track.RELEASE: (1, 20, 60, 200, 1000)}
"""Lower ends of the bins of lines of code; the last bin is open."""
CUTOFFS = (date(2023, 10, 1), date(2024, 1, 1), date(2024, 5, 1), date(2024, 9, 1), date(2025, 6, 1))
"""The papers' four, and ours: a model trained before such a day cannot have seen what appeared after it."""
LABELS = tuple(AXES)
BREAKDOWNS = (*LABELS, "project", "framework", "size", "year", "live", "crossed")
_FILE_BREAKDOWNS = ("size", "project", "framework")
_SIZE_LABELS = {
    track: [*(f"{low:,} to {high - 1:,} lines" for low, high in pairwise(sizes)), f"{sizes[-1]:,} lines or more"]
    for track, sizes in SIZES.items()
}
_ORDERS: dict[str, Sequence[str]] = {axis: list(labels) for axis, labels in AXES.items()}
_ORDERS |= {"framework": list(Framework), "size": [label for labels in _SIZE_LABELS.values() for label in labels]}

Groups = dict[tuple[str, str], list[str]]
"""(axis, label) to the ids of its instances."""


def group(
    ids: Iterable[str], benchmark: TrackBenchmark, axes: Sequence[str] = LABELS, cutoffs: Sequence[date] = CUTOFFS
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
    """Sort by `order`; labels that it lacks follow by name."""
    return sorted(labels, key=lambda label: (order.index(label) if label in order else len(order), label))


def size_of(instance: TrackInstance) -> str:
    lines, track = lines_of(instance), instance.track if isinstance(instance, FileTask) else Track.FUNCTION
    return "unknown" if lines is None else _SIZE_LABELS[track][max(0, bisect_right(SIZES[track], lines) - 1)]


def lines_of(instance: TrackInstance) -> int | None:
    """Of the reference, or those that a task of many files asks for."""
    return instance.lines if isinstance(instance, FileTask) else instance.measures.loc


def _find_axis(axis: str, benchmark: TrackBenchmark, cutoffs: Sequence[date]) -> Callable[[Any], list[str]]:
    axes = list_axes(benchmark)
    if axis not in axes:
        raise DLBenchError(f"there is no breakdown {axis!r}", fix=f"use any of: {', '.join(axes)}")
    if axis in AXES:
        return lambda one: [str(getattr(one.labels, axis))]
    known: dict[str, Callable[[Any], list[str]]] = {
        "project": lambda one: [one.project],
        "framework": lambda one: [str(benchmark.project_of(one).framework)],
        "size": lambda one: [size_of(one)],
        "year": lambda one: [str(one.introduced.year)],
        "live": lambda one: [f"{'after' if one.introduced > day else 'until'} {day}" for day in cutoffs],
        "crossed": lambda one: [" / ".join(str(getattr(one.labels, name)) for name in AXES)],
    }
    return known[axis]


def list_axes(benchmark: TrackBenchmark) -> tuple[str, ...]:
    if has_functions(benchmark):
        return BREAKDOWNS
    is_labelled = all(one.labels is not None for one in benchmark.instances.values())
    return (*_FILE_BREAKDOWNS, *LABELS) if is_labelled else _FILE_BREAKDOWNS
