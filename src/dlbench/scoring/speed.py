"""Score speed-ups: the mean of their logarithms, so that twice as fast and half as fast cancel, with its interval.

An answer that fails, or is slower than the reference, counts as 0: whoever tries it keeps the reference.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from statistics import fmean
from typing import Any

import numpy as np

from dlbench.scoring.intervals import NOTHING, Interval, bound, draw_places
from dlbench.scoring.tally import group_by, passes_plus

FASTER, MUCH_FASTER, LEANER = 1.2, 2.0, 0.7
_MIN_TASKS = 5
"""With fewer, a mean has no interval."""


@dataclass(frozen=True)
class Speed:
    """All tasks of a run. Means are over tasks, each a mean over its samples."""

    tasks: int
    mean: float
    """Of log2 of the speed-ups."""
    interval: Interval
    faster: float
    """Share of at least `FASTER`."""
    much_faster: float
    leaner: float
    """Share of answers that take at most `LEANER` of the reference's memory."""
    unmeasured: int
    """Samples that pass and whose cost could not be measured."""


def find_gain(record: Mapping[str, Any]) -> float:
    """log2 of the speed-up; 0 for an answer that fails or is slower."""
    if not passes_plus(record) or record.get("cost") != "measured":
        return 0.0
    return max(0.0, math.log2(max(1e-9, float(record["speedup"]))))


def find_gains(records: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """By instance, the mean over samples."""
    return {name: fmean(map(find_gain, known)) for name, known in group_by(records, itemgetter("instance")).items()}


def summarise_speed(records: Sequence[Mapping[str, Any]]) -> Speed:
    gains = find_gains(records)
    groups = group_by(records, itemgetter("instance")).values()

    def share(holds: Any) -> float:  # noqa: ANN401 - a predicate of a record
        return fmean(fmean(map(holds, known)) for known in groups) if groups else math.nan

    return Speed(
        tasks=len(gains),
        mean=fmean(gains.values()) if gains else math.nan,
        interval=bound_mean(list(gains.values())),
        faster=share(lambda one: find_gain(one) >= math.log2(FASTER)),
        much_faster=share(lambda one: find_gain(one) >= math.log2(MUCH_FASTER)),
        leaner=share(_is_leaner),
        unmeasured=sum(one.get("cost") == "not available" for one in records),
    )


def _is_leaner(record: Mapping[str, Any]) -> bool:
    memory = record.get("memory_ratio")
    is_right = passes_plus(record) and record.get("cost") == "measured"
    return is_right and memory is not None and memory <= LEANER


def bound_mean(values: Sequence[float]) -> Interval:
    """Of the mean over tasks, which are resampled."""
    if len(values) < _MIN_TASKS:
        return NOTHING
    means = np.asarray(values)[draw_places(len(values))].mean(axis=1)
    return bound(means, "bootstrap")


def compare_gains(ours: Mapping[str, float], theirs: Mapping[str, float]) -> tuple[int, float, Interval]:
    """Of the tasks that both have: how many, the mean difference of the gains, and its interval."""
    differences = [ours[name] - theirs[name] for name in ours if name in theirs]
    return len(differences), fmean(differences) if differences else math.nan, bound_mean(differences)
