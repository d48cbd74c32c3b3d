"""Which few instances stand for all of them?

A small split is worth something when no label and no project is missing from it, and when it is quick. One instance
after another is taken, each time one of the rarest kinds so far; of equals the quicker, and of those the one whose
hash comes first, so that the same records always give the same split.
"""

from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

from dlbench.dataset.labels import AXES
from dlbench.dataset.records import Instance

_MOST_SECONDS = 5.0
"""Of an instance's tests together; slower ones are taken last."""


def choose_balanced(instances: Iterable[Instance], size: int) -> list[Instance]:
    """`size` of them, or all where there are fewer, by their ids."""
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
    return seconds > _MOST_SECONDS, crowd, round(seconds, 1), sha256(instance.id.encode()).hexdigest()


def _kinds(instance: Instance) -> list[tuple[str, str]]:
    return [("project", instance.project), *((axis, getattr(instance.labels, axis)) for axis in AXES)]
