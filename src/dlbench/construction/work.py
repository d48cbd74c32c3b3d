"""Where does construction keep what each step found?

In a folder, one below it for each project, one file of JSON lines for each step. A step reads the files of the steps
before and writes its own whole, so that it can be looked at, done again, or gone on from after a kill.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dlbench.errors import DLBenchError
from dlbench.journal import write_whole

Row = dict[str, Any]


class Work:
    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, step: str, project: str = "") -> Path:
        return self.root / project / f"{step}.jsonl"

    def has(self, step: str, project: str = "") -> bool:
        return self.path(step, project).is_file()

    def read(self, step: str, project: str = "") -> list[Row]:
        """Raises DLBenchError when the step was not done yet, or its file is not what a step writes."""
        path = self.path(step, project)
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            what, mend = f"the step {step} has not been done", f"run `dlbench construct {step}` first"
            raise DLBenchError(what, where=str(path), mend=mend) from None
        return list(_parse(lines, path))

    def write(self, step: str, rows: Iterable[Row], project: str = "") -> None:
        path = self.path(step, project)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows))

    def projects(self) -> list[str]:
        return sorted(path.name for path in self.root.iterdir() if path.is_dir()) if self.root.is_dir() else []


def _parse(lines: list[str], path: Path) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except ValueError as error:
            what, mend = f"line {number} is not JSON: {error}", "remove the file and run the step again"
            raise DLBenchError(what, where=str(path), mend=mend) from None
        if not isinstance(row, dict):
            what, mend = f"line {number} is not a JSON object", "remove the file and run the step again"
            raise DLBenchError(what, where=str(path), mend=mend)
        yield row
