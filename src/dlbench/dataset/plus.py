"""Read and write the records of further inputs: `plus/<project>.jsonl` of a benchmark.

They hold facts only: which recorded call was varied by which mutator with which seed, and digests. The inputs
themselves are made on the user's machine.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError

from dlbench.dataset.records import Record
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines, write_whole


@dataclass(frozen=True)
class InputKey:
    """One input: the digest of a recorded call, a mutator ("" for the call itself), its seed, and the digest of the
    result. `slack` multiplies the tolerances of its numbers."""

    call: str
    mutator: str
    seed: int
    digest: str
    slack: float = 1.0

    @classmethod
    def parse(cls, text: str) -> Self:
        call, mutator, seed, digest, slack = text.split(":")
        return cls(call, mutator, int(seed), digest, float(slack))

    def __str__(self) -> str:
        return f"{self.call}:{self.mutator}:{self.seed}:{self.digest}:{self.slack:g}"


class PlusRecord(Record):
    """The further inputs of an instance, and how they were chosen."""

    instance: str
    inputs: tuple[str, ...] = ()
    outputs: str = ""
    """A digest of the types and shapes that the reference answers."""
    calls: int = 0
    """Distinct calls that its tests make and that can be recorded."""
    refused: Mapping[str, int] = Field(default_factory=dict)
    """Why other calls were not recorded, and how many."""
    dropped: Mapping[str, int] = Field(default_factory=dict)
    """Why variations were dropped, and how many."""
    review: tuple[str, ...] = ()
    """Inputs on which independent solutions agree with each other against the reference; not used."""
    reason: str = ""
    """Why it has no inputs."""
    mutants: int = 0
    killed: int = 0
    """Mutants that fail the tests."""
    killed_plus: int = 0
    """Those, and mutants that pass the tests and fail on the inputs."""

    def parse(self) -> list[InputKey]:
        return [InputKey.parse(text) for text in self.inputs]


def read_plus(root: Path) -> dict[str, PlusRecord]:
    """The records of a benchmark by instance; empty if it has none."""
    return {name: record for path in sorted((root / "plus").glob("*.jsonl")) for name, record in _read(path).items()}


def _read(path: Path) -> dict[str, PlusRecord]:
    found: dict[str, PlusRecord] = {}
    for number, row in read_lines(path) if path.is_file() else ():
        try:
            record = PlusRecord(**row)
            found[record.instance] = record
            record.parse()
        except (ValidationError, ValueError) as error:
            fix = "write it again with `dlbench construct plus --again`"
            raise DLBenchError(f"not a plus record: {error}", where=f"{path}:{number}", fix=fix) from None
    return found


def write_plus(root: Path, record: PlusRecord) -> None:
    """Add a record, or replace that of its instance."""
    path = root / "plus" / f"{record.instance.partition('/')[0]}.jsonl"
    path.parent.mkdir(exist_ok=True)
    rows = sorted((_read(path) | {record.instance: record}).values(), key=lambda one: one.instance)
    write_whole(path, "".join(f"{json.dumps(row.model_dump(mode='json', exclude_defaults=True))}\n" for row in rows))
