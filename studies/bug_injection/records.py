"""Records of the injected bugs, and how well raters recover their categories.

One half of the instances is for writing rules, the other for measuring them, drawn by a seed: rules written while
looking at a function would know it when they are measured. The file holds categories and hashes, no code.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bug_injection.subject import InjectedBug
from dlbench.analysis.bugs.taxonomy import check_category
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines

INJECTED = "injected.jsonl"
BUILDING, MEASURING = "building", "measuring"

Key = tuple[str, int]


@dataclass(frozen=True)
class InjectionRecord:
    instance: str
    sample: int
    category: str
    kind: str
    operator: str
    half: str
    sha256: str
    """Of the candidate's code."""
    prompt: str = ""
    """The prompt, if sentences were cut from the instance's own."""

    @property
    def key(self) -> Key:
        return self.instance, self.sample

    def as_record(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value != ""}


def choose_half(instance: str, seed: int) -> str:
    drawn = hashlib.sha256(f"{seed}:{instance}".encode()).digest()[0]
    return BUILDING if drawn % 2 else MEASURING


def make_record(instance: str, sample: int, bug: InjectedBug, seed: int) -> InjectionRecord:
    digest = hashlib.sha256(bug.code.encode()).hexdigest()
    half = choose_half(instance, seed)
    return InjectionRecord(instance, sample, bug.category, bug.kind, bug.operator, half, digest, bug.prompt)


def read_records(path: Path) -> dict[Key, InjectionRecord]:
    found = {}
    for number, fields in read_lines(path):
        where = f"{path}:{number}"
        try:
            record = InjectionRecord(**fields)
        except TypeError as error:
            fix = "give a file that `studies/bug_injection/run.py inject` wrote"
            raise DLBenchError(f"not an injected bug: {error}", where=where, fix=fix) from None
        check_category(record.category, where)
        found[record.key] = record
    return found


@dataclass(frozen=True)
class Accuracy:
    failures: int
    accuracy: float
    macro_f1: float
    """Over the injected categories."""
    by_category: Mapping[str, Mapping[str, float]]
    """Precision, recall, F1 and number of injected bugs."""
    confusions: tuple[tuple[str, str, int], ...]
    """Injected, predicted, count; most frequent first."""


def measure_accuracy(pairs: Sequence[tuple[str, str]]) -> Accuracy:
    """`pairs`: injected and predicted category of each failure."""
    from sklearn.metrics import precision_recall_fscore_support

    truth, predicted = [a for a, _ in pairs], [b for _, b in pairs]
    labels = sorted(set(truth))
    columns = precision_recall_fscore_support(truth, predicted, labels=labels, zero_division=0)
    by_category = {
        label: dict(zip(("precision", "recall", "f1", "injected"), map(float, row), strict=True))
        for label, row in zip(labels, zip(*columns, strict=True), strict=True)
    }
    wrong = Counter(pair for pair in pairs if pair[0] != pair[1])
    return Accuracy(
        failures=len(pairs),
        accuracy=sum(a == b for a, b in pairs) / len(pairs),
        macro_f1=sum(row["f1"] for row in by_category.values()) / len(by_category),
        by_category=by_category,
        confusions=tuple((*pair, count) for pair, count in sorted(wrong.items(), key=lambda one: (-one[1], one[0]))),
    )
