"""Select instances by split, project, label and date, and choose balanced splits.

An unknown name is an error with the nearest names, never an empty table. `live-YYYY-MM` holds every instance that first
appeared in that month or later, which an older model cannot have read.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from typing import NoReturn, TypeVar

from dlbench.dataset.labels import AXES, Data, Stage, Task
from dlbench.dataset.loading import Benchmark
from dlbench.dataset.records import Instance
from dlbench.errors import DLBenchError
from dlbench.registry import find_known

Value = TypeVar("Value")
_LIVE = re.compile(r"live-([1-9][0-9]{3}-(?:0[1-9]|1[0-2]))")


@dataclass(frozen=True)
class Selection:
    split: str = "full"
    instances: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    stages: tuple[Stage, ...] = ()
    tasks: tuple[Task, ...] = ()
    data: tuple[Data, ...] = ()
    since: date | None = None
    until: date | None = None

    def admits(self, instance: Instance) -> bool:
        labels = instance.labels
        chosen = (self.instances, self.projects, self.stages, self.tasks, self.data)
        own = (instance.id, instance.project, labels.stage, labels.task, labels.data)
        in_time = (self.since or date.min) <= instance.introduced <= (self.until or date.max)
        return in_time and all(not names or name in names for names, name in zip(chosen, own, strict=True))


def select(benchmark: Benchmark, selection: Selection) -> list[Instance]:
    for project in selection.projects:
        find_known(project, benchmark.projects, "project")
    for instance_id in selection.instances:
        find_known(instance_id, benchmark.instances, "instance")
    return [instance for instance in _split(benchmark, selection.split) if selection.admits(instance)]


def has_split(benchmark: Benchmark, split: str) -> bool:
    """Whether the benchmark has the split; a month's split must have an instance."""
    return split == "full" or split in benchmark.splits or bool(_list_live(benchmark, split))


def name_live(first: date) -> str:
    """The split of everything that first appeared in the month of that day or later."""
    return f"live-{first:%Y-%m}"


def _split(benchmark: Benchmark, split: str) -> list[Instance]:
    if split == "full" and "full" not in benchmark.splits:
        return list(benchmark.instances.values())
    if split.partition("-")[0] == "live" and split not in benchmark.splits:
        return _list_live(benchmark, split) or _reject_live(benchmark, split)
    find_known(split, dict.fromkeys(["full", *benchmark.splits]), "split")
    return [find_known(instance_id, benchmark.instances, "instance") for instance_id in benchmark.splits[split]]


def _list_live(benchmark: Benchmark, split: str) -> list[Instance]:
    if not (month := _LIVE.fullmatch(split)):
        return []
    first = date.fromisoformat(f"{month[1]}-01")
    return [instance for instance in benchmark.instances.values() if instance.introduced >= first]


def _reject_live(benchmark: Benchmark, split: str) -> NoReturn:
    if not _LIVE.fullmatch(split):
        fix = "write live-YYYY-MM, for example live-2026-01: everything that first appeared in that month or later"
        raise DLBenchError(f"the split {split!r} names no month", fix=fix)
    days = [instance.introduced for instance in benchmark.instances.values()]
    fix = f"the newest appeared on {max(days)}: use {name_live(max(days))} or earlier" if days else "add instances"
    raise DLBenchError(f"the split {split!r} is empty: nothing first appeared in that month or later", fix=fix)


_MAX_SECONDS = 5.0
"""For all tests of an instance; slower instances are taken last."""


def choose_balanced(instances: Iterable[Instance], size: int) -> list[Instance]:
    """`size` instances, or all where there are fewer, sorted by id: those of the rarest kinds, quick ones first. Hashes
    decide between equals, so that the same records give the same split."""
    left = {instance.id: instance for instance in instances}
    taken: list[Instance] = []
    counts: Counter[tuple[str, str]] = Counter()
    while left and len(taken) < size:
        best = min(left.values(), key=lambda instance: _rank(instance, counts))
        taken.append(left.pop(best.id))
        counts.update(_kinds(best))
    return sorted(taken, key=lambda instance: instance.id)


def _rank(instance: Instance, counts: Counter[tuple[str, str]]) -> tuple[bool, float, float, str]:
    seconds = instance.measures.seconds or 0.0
    crowd = sum(counts[kind] for kind in _kinds(instance))
    return seconds > _MAX_SECONDS, crowd, round(seconds, 1), sha256(instance.id.encode()).hexdigest()


def _kinds(instance: Instance) -> list[tuple[str, str]]:
    return [("project", instance.project), *((axis, getattr(instance.labels, axis)) for axis in AXES)]
