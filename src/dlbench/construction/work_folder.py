"""Store the results of construction steps, and apply a step to many projects.

A folder for each project has one JSONL file for each step. One project's failure must not stop a pass over fifty that
takes a night; the reason is kept in `left_out.jsonl` beside the projects.
"""

import traceback
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeVar

from dlbench.errors import DLBenchError, is_full_disk
from dlbench.jsonl import read_lines, rewrite
from dlbench.workspace.home import Log

Row = dict[str, Any]


class StepMissing(DLBenchError):
    """The output of an earlier step is missing, which says nothing about the project itself."""


_COMMANDS = {
    "collected": "collect", "trace_functions": "trace", "functions": "extract", "screened": "screen",
    "measured": "admit", "drafts": "draft",
}  # fmt: skip
"""The command that writes a file, where the names differ."""


class WorkFolder:
    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, step: str, project: str = "") -> Path:
        return self.root / project / f"{step}.jsonl"

    def has(self, step: str, project: str = "") -> bool:
        return self.path(step, project).is_file()

    def read(self, step: str, project: str = "") -> list[Row]:
        """Raises StepMissing if the step has not been done, DLBenchError if its file is malformed."""
        path = self.path(step, project)
        if not path.is_file():
            command = _COMMANDS.get(step, step)
            what, fix = f"the step {command} has not been done", f"run `dlbench construct {command}` first"
            raise StepMissing(what, where=str(path), fix=fix)
        return [row for _, row in read_lines(path)]

    def read_by_id(self, step: str, project: str = "") -> dict[str, Row]:
        """The last row of each id: a function is measured again after a harness fault and then has two rows."""
        return {row["id"]: row for row in self.read(step, project)}

    def write(self, step: str, rows: Iterable[Row], project: str = "") -> None:
        path = self.path(step, project)
        path.parent.mkdir(parents=True, exist_ok=True)
        rewrite(path, rows)

    def set_aside(self, project: str, version: str) -> Path:
        """Move the project's results to `earlier/`, so that the project starts over."""
        folder = self.root / "earlier"
        folder.mkdir(exist_ok=True)
        paths = (folder / f"{project}-{version}{f'-{number}' * (number > 1)}" for number in count(1))
        return (self.root / project).rename(next(path for path in paths if not path.exists()))

    def projects(self) -> list[str]:
        return sorted(path.name for path in self.root.iterdir() if path.is_dir()) if self.root.is_dir() else []


class _Named(Protocol):
    name: str


Item = TypeVar("Item", bound=_Named)


def for_each_project(
    work: WorkFolder, items: Iterable[Item], do: Callable[[Item], None], log: Log
) -> dict[str, Exception]:
    """Apply `do` to every project and return the failures by name.

    Raises only what would affect the next project too: a full disk, or an interrupt."""
    left_out = {row["project"]: row for row in (work.read("left_out") if work.has("left_out") else [])}
    failed: dict[str, Exception] = {}
    for item in items:
        try:
            do(item)
        except Exception as error:
            if is_full_disk(error):
                raise
            failed[item.name] = error
            row = {"project": item.name, "why": explain(error)}
            # A missing step must not hide the reason why it is missing.
            left_out[item.name] = left_out.get(item.name, row) if isinstance(error, StepMissing) else row
            log(f"{item.name} is left out: {row['why'].splitlines()[0]}")
        else:
            left_out.pop(item.name, None)
        work.write("left_out", left_out.values())
    return failed


def explain(error: Exception) -> str:
    """The message of a DLBenchError; any other error is an internal error, reported with its location."""
    if isinstance(error, DLBenchError):
        return error.what
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"internal error: {type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
