"""Which bug was planted into which sample, and for what may it be used?

Half of the instances are for writing rules, half for measuring them, drawn by a seed: rules that were written while
looking at a function would know it when they are measured. The file holds what was planted and a hash, no code.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dlbench.analysis.bugs.planting.subject import InjectedBug
from dlbench.analysis.bugs.taxonomy import read_categories
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines

PLANTED = "planted.jsonl"
BUILDING, MEASURING = "building", "measuring"

Key = tuple[str, int]


@dataclass(frozen=True)
class Truth:
    instance: str
    sample: int
    category: str
    kind: str
    operator: str
    half: str
    sha256: str
    """Of the candidate's code."""
    prompt: str = ""
    """What the task was told as, where sentences were cut from the instance's prompt."""

    @property
    def key(self) -> Key:
        return self.instance, self.sample

    def as_record(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value != ""}


def choose_half(instance: str, seed: int) -> str:
    drawn = hashlib.sha256(f"{seed}:{instance}".encode()).digest()[0]
    return BUILDING if drawn % 2 else MEASURING


def tell(instance: str, sample: int, plant: InjectedBug, seed: int) -> Truth:
    digest = hashlib.sha256(plant.code.encode()).hexdigest()
    half = choose_half(instance, seed)
    return Truth(instance, sample, plant.category, plant.kind, plant.operator, half, digest, plant.prompt)


def read_truths(path: Path) -> dict[Key, Truth]:
    return {one.key: one for one in _parse(path)}


def _parse(path: Path) -> Iterable[Truth]:
    for number, record in read_lines(path):
        where = f"{path}:{number}"
        try:
            one = Truth(**record)
        except TypeError as error:
            fix = "give a file that `dlbench analyze plant-bugs` wrote"
            raise DLBenchError(f"not a planted bug: {error}", where=where, fix=fix) from None
        check_category(one.category, where)
        yield one


def check_category(name: object, where: str) -> str:
    known: Mapping[str, object] = read_categories()
    if not isinstance(name, str) or name not in known:
        raise DLBenchError(f"there is no category {name!r}", where=where, fix=f"use one of: {', '.join(known)}")
    return name
