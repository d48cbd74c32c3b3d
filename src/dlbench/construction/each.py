"""Does one project's failure keep the others from their turn?

It must not: a stranger's release can be wrong in ways that nobody has thought of, and a pass over fifty takes a night.
What stands against each is kept in `left_out.jsonl` beside the projects, as it happens.
"""

import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol, TypeVar

from dlbench.construction.work import StepMissing, Work
from dlbench.errors import DLBenchError, is_full_disk
from dlbench.workspace.home import Say


class _Named(Protocol):
    name: str


Each = TypeVar("Each", bound=_Named)


def try_each(work: Work, each: Iterable[Each], do: Callable[[Each], None], say: Say) -> dict[str, Exception]:
    """Does it with every project in turn. Gives what stands against those that failed, by name; raises only what would
    stand against the next one too: a full disk, or somebody who wants it to stop."""
    left_out = {row["project"]: row for row in (work.read("left_out") if work.has("left_out") else [])}
    failed: dict[str, Exception] = {}
    for one in each:
        try:
            do(one)
        except Exception as error:
            if is_full_disk(error):
                raise
            failed[one.name] = error
            row = {"project": one.name, "why": explain(error)}
            # that a step before was not done is no news where it is known why
            left_out[one.name] = left_out.get(one.name, row) if isinstance(error, StepMissing) else row
            say(f"{one.name} is left out: {row['why'].splitlines()[0]}")
        else:
            left_out.pop(one.name, None)
        work.write("left_out", left_out.values())
    return failed


def explain(error: Exception) -> str:
    """What a person can mend in its own words; anything else is a fault of ours, with the place where it came up."""
    if isinstance(error, DLBenchError):
        return error.what
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"our fault: {type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
