"""Where does construction keep what each step found?

In a folder, one below it for each project, one file of JSON lines for each step. A step reads the files of the steps
before and writes its own whole, so that it can be looked at, done again, or gone on from after a kill.
"""

from collections.abc import Iterable
from itertools import chain, count
from pathlib import Path
from typing import Any

from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines, rewrite

Row = dict[str, Any]


class StepMissing(DLBenchError):
    """A step needs what was not made: that says nothing of the project, only that a step before was not done."""


_COMMANDS = {
    "collected": "collect", "trace_functions": "trace", "static": "trace",
    "static_agreement": "trace", "functions": "extract", "screened": "screen",
    "measured": "admit", "drafts": "draft",
}  # fmt: skip
"""What makes a file, where it is not named after it."""


class Work:
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
            what, mend = f"the step {command} has not been done", f"run `dlbench construct {command}` first"
            raise StepMissing(what, where=str(path), mend=mend)
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
