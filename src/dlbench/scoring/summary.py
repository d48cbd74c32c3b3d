"""What do a run's verdicts say, overall and by label?

Pure functions over verdict records: a run can be scored again at any time without running anything. Every instance that
was asked counts the same, however many samples it has; harness errors stay in the denominator and are shown apart.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dlbench.dataset import AXES, Benchmark, find_known
from dlbench.scoring.passk import mean, pass_at_k


@dataclass(frozen=True)
class Score:
    """One row of a table: a group of instances and how they went."""

    axis: str
    label: str
    instances: int
    samples: int
    pass_at_1: float
    passing_rate: float
    """Mean over instances of the share of tests passed."""


@dataclass(frozen=True)
class Summary:
    scores: tuple[Score, ...]
    statuses: dict[str, int]

    @property
    def overall(self) -> Score:
        return self.scores[0]


def summarise(records: Iterable[dict[str, Any]], benchmark: Benchmark) -> Summary:
    by_instance: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    statuses: defaultdict[str, int] = defaultdict(int)
    for record in records:
        find_known(record["instance"], benchmark.instances, "instance")
        by_instance[record["instance"]].append(record)
        statuses[record["status"]] += 1
    groups: dict[tuple[str, str], list[str]] = {("all", "all"): list(by_instance)}
    for axis, labels in AXES.items():
        for label in labels:
            members = [key for key in by_instance if getattr(benchmark.instances[key].labels, axis) == label]
            if members:
                groups[axis, str(label)] = members
    scores = tuple(_score(axis, label, [by_instance[key] for key in keys]) for (axis, label), keys in groups.items())
    return Summary(scores, dict(statuses))


def _score(axis: str, label: str, instances: list[list[dict[str, Any]]]) -> Score:
    return Score(
        axis=axis,
        label=label,
        instances=len(instances),
        samples=sum(map(len, instances)),
        pass_at_1=mean(
            pass_at_k(len(records), sum(r["status"] == "pass" for r in records), 1) for records in instances
        ),
        passing_rate=mean(mean(map(_share_passed, records)) for records in instances),
    )


def _share_passed(record: dict[str, Any]) -> float:
    # a verdict that is not trusted passes nothing, whatever its tests said
    if record["status"] == "tampered" or not record["tests"]:
        return 0.0
    outcomes = list(record["tests"].values())
    return outcomes.count("passed") / len(outcomes)
