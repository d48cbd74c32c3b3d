"""What is there to label and review?

Every admissible function, with what the steps before have found out about it. A function whose tests do not judge it
costs three people's time for nothing, so it is not shown.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dlbench.construction.work import Row, Work
from dlbench.errors import DLBenchError


@dataclass(frozen=True)
class Entry:
    id: str
    function: Row
    measured: Row
    draft: str
    drafted_by: str

    @property
    def project(self) -> str:
        return self.id.partition("/")[0]

    @property
    def tests(self) -> list[str]:
        return list(self.measured.get("tests") or [])


def read_catalogue(work: Work) -> dict[str, Entry]:
    """By id, projects and functions in the order of their files; projects not measured yet are left out."""
    return {
        entry.id: entry
        for project in work.projects()
        if work.has("measured", project)
        for entry in _read_project(work, project)
    }


def list_files(work: Work) -> list[Path]:
    """The files that it is read from, whether they are there yet or not."""
    return [work.path(step, project) for project in work.projects() for step in ("functions", "measured", "drafts")]


def _read_project(work: Work, project: str) -> Iterator[Entry]:
    functions = _by_id(work, "functions", project)
    drafts = _by_id(work, "drafts", project) if work.has("drafts", project) else {}
    for key, measured in _by_id(work, "measured", project).items():
        if measured.get("admissible") is not True:
            continue
        if key not in functions:
            where, mend = str(work.path("functions", project)), "do the steps extract and measure again, in this order"
            raise DLBenchError(f"{key} was measured but is not among the functions", where=where, mend=mend)
        draft = drafts.get(key, {})
        yield Entry(key, functions[key], measured, str(draft.get("prompt") or ""), str(draft.get("by") or ""))


def _by_id(work: Work, step: str, project: str) -> dict[str, Row]:
    rows = work.read(step, project)
    for number, row in enumerate(rows, 1):
        if not isinstance(row.get("id"), str):
            where = f"{work.path(step, project)}:{number}"
            raise DLBenchError("a row without an id", where=where, mend=f"do the step {step} again")
    return {row["id"]: row for row in rows}
