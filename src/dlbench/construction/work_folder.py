"""Where does construction keep what each step found?

In a folder, one below it for each project, one file of JSON lines for each step. A step reads the files of the steps
before and writes its own whole, so that it can be looked at, done again, or gone on from after a kill.

Does one project's failure keep the others from their turn?

It must not: a stranger's release can be wrong in ways that nobody has thought of, and a pass over fifty takes a night.
What stands against each is kept in `left_out.jsonl` beside the projects, as it happens.
"""

import traceback
from collections.abc import Callable, Iterable
from itertools import chain, count
from pathlib import Path
from typing import Any, Protocol, TypeVar

from dlbench.errors import DLBenchError, is_full_disk
from dlbench.jsonl import read_lines, rewrite
from dlbench.workspace.home import Log

Row = dict[str, Any]


class StepMissing(DLBenchError):
    """A step needs what was not made: that says nothing of the project, only that a step before was not done."""


_COMMANDS = {
    "collected": "collect", "trace_functions": "trace", "static": "trace",
    "static_agreement": "trace", "functions": "extract", "screened": "screen",
    "measured": "admit", "drafts": "draft",
}  # fmt: skip
"""What makes a file, where it is not named after it."""


class WorkFolder:
    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, step: str, project: str = "") -> Path:
        return self.root / project / f"{step}.jsonl"

    def has(self, step: str, project: str = "") -> bool:
        return self.path(step, project).is_file()

    def read(self, step: str, project: str = "") -> list[Row]:
        """Raises StepMissing when the step was not done yet, DLBenchError when its file is not what a step writes."""
        path = self.path(step, project)
        if not path.is_file():
            command = _COMMANDS.get(step, step)
            what, fix = f"the step {command} has not been done", f"run `dlbench construct {command}` first"
            raise StepMissing(what, where=str(path), fix=fix)
        return [row for _, row in read_lines(path)]

    def read_last(self, step: str, project: str = "") -> list[Row]:
        """Of each id the last row: what was our own fault is tried again, and then stands twice in a journal."""
        return list({row["id"]: row for row in self.read(step, project)}.values())

    def write(self, step: str, rows: Iterable[Row], project: str = "") -> None:
        path = self.path(step, project)
        path.parent.mkdir(parents=True, exist_ok=True)
        rewrite(path, rows)

    def put_aside(self, project: str, version: str) -> Path:
        """Out of the way, so that the project begins anew; nothing is lost."""
        folder = self.root / "earlier"
        folder.mkdir(exist_ok=True)
        marks = chain([""], (f"-{number}" for number in count(2)))
        places = (folder / f"{project}-{version}{mark}" for mark in marks)
        return (self.root / project).rename(next(place for place in places if not place.exists()))

    def projects(self) -> list[str]:
        return sorted(path.name for path in self.root.iterdir() if path.is_dir()) if self.root.is_dir() else []


class _Named(Protocol):
    name: str


Each = TypeVar("Each", bound=_Named)


def for_each_project(
    work: WorkFolder, each: Iterable[Each], do: Callable[[Each], None], log: Log
) -> dict[str, Exception]:
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
            log(f"{one.name} is left out: {row['why'].splitlines()[0]}")
        else:
            left_out.pop(one.name, None)
        work.write("left_out", left_out.values())
    return failed


def explain(error: Exception) -> str:
    """What a person can fix in its own words; anything else is a fault of ours, with the place where it came up."""
    if isinstance(error, DLBenchError):
        return error.what
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"our fault: {type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
