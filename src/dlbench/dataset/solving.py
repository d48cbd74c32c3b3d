"""Can instances be solved from their prompts? What independent solvers made of them.

One line an attempt in `solving.jsonl`: which instance, the how-manieth solver, what the engine said, and for a failure
what the fault was. Outcomes are kept and solutions never: they would be answers to our own questions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from dlbench.dataset.records import Instance, Record
from dlbench.errors import DLBenchError
from dlbench.journal import read_lines

Fault = Literal["", "prompt", "solver"]


class Attempt(Record):
    """`attempt` counts from 1; `fault` says whose a failure was, once somebody has read it, and `lacked` what the
    prompt did not say and now does."""

    id: str
    attempt: int
    status: str
    fault: Fault = ""
    lacked: str = ""

    @property
    def passed(self) -> bool:
        return self.status == "pass"


@dataclass(frozen=True)
class Solved:
    """`first`: solved by the first solver; `final`: by any; `mended`: prompts that were written anew."""

    tried: int
    first: int
    final: int
    mended: int


def read_attempts(root: Path) -> list[Attempt]:
    path = root / "solving.jsonl"
    attempts: list[Attempt] = []
    for number, row in read_lines(path) if path.is_file() else ():
        try:
            attempts.append(Attempt(**row))
        except (ValidationError, TypeError) as error:
            what, mend = f"not an attempt: {error}", "write id, attempt and status, and for failures fault and lacked"
            raise DLBenchError(what, where=f"{path}:{number}", mend=mend) from None
    return attempts


def summarise(attempts: Iterable[Attempt], instances: Sequence[Instance]) -> Solved:
    """Over the attempts at these instances."""
    wanted = {instance.id for instance in instances}
    by_id: dict[str, list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda one: one.attempt):
        if attempt.id in wanted:
            by_id.setdefault(attempt.id, []).append(attempt)
    return Solved(
        tried=len(by_id),
        first=sum(tries[0].passed for tries in by_id.values()),
        final=sum(any(one.passed for one in tries) for tries in by_id.values()),
        mended=sum(any(one.fault == "prompt" for one in tries) for tries in by_id.values()),
    )
