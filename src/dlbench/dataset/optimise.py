"""Read and write the workloads of the optimise track: `optimise/<project>.jsonl` of a benchmark.

They hold facts only: the digest of a recorded call, which of its sizes grow, by which factors, and what was measured.
The inputs are made on the user's machine.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from dlbench.dataset.records import Record
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines, write_whole

SMALL, HELD_OUT = "small", "held_out"
SIZES = (SMALL, "medium", "large", HELD_OUT)
"""The first is that of the recorded call. The last one decides and is not shown."""


class Size(Record):
    """Inputs of one size."""

    factor: Annotated[float, Field(gt=0)]
    """By which the sizes of the recorded call that grow are multiplied."""
    calls: Annotated[int, Field(gt=0)] = 1
    """That are measured together, each with its own input."""
    seconds: float
    """Processor time of the reference where the record was made."""
    shape: str = ""
    """What grew, in words."""


class Best(Record):
    """The best known cost: something to beat."""

    speedup: float
    memory: float | None = None
    """Peak memory, as a share of the reference's."""
    by: str
    found: date


class Workload(Record):
    """Inputs for one function on which its cost is measured."""

    instance: str
    call: str = ""
    """Digest of the recorded call."""
    growing: tuple[str, ...] = ()
    """The sizes that grow together."""
    sizes: Mapping[str, Size] = Field(default_factory=dict)
    slack: float = 1.0
    """Multiplies the tolerances of numbers."""
    memory: int = 0
    """Peak bytes that the reference allocates at the held-out size."""
    operators: int = 0
    flops: int = 0
    bytes: int = 0
    reason: str = ""
    """Why it has none."""
    made: date
    best: Best | None = None


def read_workloads(root: Path) -> dict[str, Workload]:
    """All records of a benchmark by instance, those without inputs included."""
    paths = sorted((root / "optimise").glob("*.jsonl"))
    return {name: record for path in paths for name, record in _read(path).items()}


def read_eligible(root: Path) -> dict[str, Workload]:
    return {name: record for name, record in read_workloads(root).items() if record.sizes}


def describe_track(root: Path) -> dict[str, str]:
    """For the configuration of a run: a change of what is measured makes another run."""
    facts = [record.model_dump_json(exclude={"best"}) for record in read_eligible(root).values()]
    return {"track": "optimise", "workloads": hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]}


def _read(path: Path) -> dict[str, Workload]:
    found: dict[str, Workload] = {}
    for number, row in read_lines(path) if path.is_file() else ():
        try:
            record = Workload.model_validate_json(json.dumps(row))
        except ValidationError as error:
            fix = "write it again with `dlbench construct optimise --again`"
            raise DLBenchError(f"not a workload: {error}", where=f"{path}:{number}", fix=fix) from None
        found[record.instance] = record
    return found


def write_workload(root: Path, record: Workload) -> None:
    """Add a record, or replace that of its instance."""
    path = root / "optimise" / f"{record.instance.partition('/')[0]}.jsonl"
    path.parent.mkdir(exist_ok=True)
    rows = sorted((_read(path) | {record.instance: record}).values(), key=lambda one: one.instance)
    write_whole(path, "".join(f"{json.dumps(row.model_dump(mode='json', exclude_defaults=True))}\n" for row in rows))
