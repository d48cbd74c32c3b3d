"""Turn Python projects into verified benchmark instances, in nine steps that read and write plain files.

A folder for each project has one JSONL file for each step. One project's failure must not stop a pass over fifty that
takes a night; the reason is kept in `left_out.jsonl` beside the projects. Summaries are Markdown tables; a pass
outlives its work folder, so they can be kept in a file with a line for each project.
"""

import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from statistics import median
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


NAMES = "admissible functions"
_REASONS = {"screened": "kept", "measured": "admissible"}
"""The steps that leave functions out, and the key that marks the ones they keep."""


def summarize_project(work: WorkFolder, project: str) -> Row:
    """One project's counts for the steps done so far."""
    row: Row = {"project": project}
    if work.has("collected", project):
        row["tests collected"] = len(work.read("collected", project))
    if work.has("trace", project):
        outcomes = [test["outcome"] for test in work.read("trace", project)]
        row |= {"tests run": len(outcomes), "tests passed": outcomes.count("passed")}
    if work.has("functions", project):
        row["functions under test"] = len(work.read("functions", project))
    if work.has("screened", project):
        row["screened"] = sum(function["kept"] for function in work.read("screened", project))
    if work.has("measured", project):
        measured = work.read_by_id("measured", project).values()
        good = [found for found in measured if found["admissible"]]
        scores = [found["killed"] / found["mutants"] for found in good if found["mutants"]]
        row |= {"measured": len(measured), "admissible": len(good)}
        row["mutation score, median"] = round(median(scores), 2) if scores else None
    return row


def describe_losses(work: WorkFolder, project: str) -> Iterator[str]:
    """Why tests and functions do not count, and the files that say more."""
    failing = [test for test in work.read("trace", project) if test["outcome"] not in ("passed", "skipped")]
    if failing:
        test = failing[0]
        why = one_line(str(test.get("message") or "").partition("\nE ")[2].partition("\n")[0]) or test["outcome"]
        yield f"{len(failing)} tests do not pass, such as {test['id']}: {why} (all: {work.path('trace', project)})"
    found = _explain_project(work, project)
    for step in _REASONS:
        if reasons := found.get(f"left out when {step}"):
            counts = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
            yield f"left out when {step}: {counts} (why: {work.path(step, project)})"


def one_line(text: str, most: int = 160) -> str:
    return " ".join(text.split())[:most]


def summarize_all(work: WorkFolder) -> list[Row]:
    """A row for each project: counts, admissible functions and reasons; or why the project was left out."""
    lines = [
        summarize_project(work, project) | _explain_project(work, project)
        for project in work.projects()
        if work.has("collected", project)
    ]
    known = {line["project"] for line in lines}
    left = work.read("left_out") if work.has("left_out") else []
    return lines + [{"project": row["project"], "why": row["why"]} for row in left if row["project"] not in known]


def merge_kept(path: Path, lines: Iterable[Row]) -> list[Row]:
    """Merge the rows into the file; of a project in both, keep the row that got further."""
    kept: dict[str, Row] = {}
    if path.exists():
        for number, line in read_lines(path):
            if not isinstance(line.get("project"), str):
                what, fix = "a line without a project", "give a file that `dlbench construct tables --kept` wrote"
                raise DLBenchError(what, where=f"{path}:{number}", fix=fix)
            kept[line["project"]] = line
    for line in lines:
        if _progress(line) >= _progress(kept.get(line["project"], {})):
            kept[line["project"]] = line
    found = [kept[project] for project in sorted(kept)]
    path.parent.mkdir(parents=True, exist_ok=True)
    rewrite(path, found)
    return found


def _progress(line: Row) -> tuple[int, ...]:
    return tuple(line.get(step) or 0 for step in ("measured", "screened", "functions under test", "tests run"))


def _explain_project(work: WorkFolder, project: str) -> Row:
    """The names of the admissible functions, so that the count can be checked, and the reasons against the others."""
    found: Row = {}
    for step, key in _REASONS.items():
        if work.has(step, project):
            rows = work.read_by_id(step, project)
            if step == "measured":
                found[NAMES] = sorted(name.partition("/")[2] for name, row in rows.items() if row[key])
            reasons = Counter(row["reason"] for row in rows.values() if not row[key])
            found[f"left out when {step}"] = dict(sorted(reasons.items()))
    return found


def render_tables(lines: list[Row]) -> str:
    """Render Markdown: a row for each project with totals, the reasons, and the projects left out."""
    rows = [line for line in lines if "why" not in line]
    columns = [
        "project", "tests collected", "tests run", "tests passed", "functions under test", "screened", "measured",
        "admissible", "mutation score, median",
    ]  # fmt: skip
    total: Row = {"project": f"**{len(rows)} projects**"}
    total |= {column: sum(row.get(column) or 0 for row in rows) for column in columns[1:-1]}
    parts = [_render(columns, [*rows, total])]
    named = sum(len(row.get(NAMES) or ()) for row in rows)
    parts.append(f"Of the {total['admissible']} admissible functions {named} are known by name.")
    for step in _REASONS:
        counted = [row[f"left out when {step}"] for row in rows if f"left out when {step}" in row]
        reasons = sum(map(Counter, counted), Counter[str]())
        of = "" if len(counted) == len(rows) else f" (of {len(counted)} projects)"
        found = [{"reason": reason, "functions": count} for reason, count in reasons.most_common()]
        parts.append(f"## Functions left out when {step}{of}\n\n" + _render(["reason", "functions"], found))
    if left := [line for line in lines if "why" in line]:
        parts.append("## Projects left out\n\n" + _render(["project", "why"], left))
    return "\n\n".join(parts) + "\n"


def _render(columns: list[str], rows: list[Row]) -> str:
    def cell(value: object) -> str:
        return "" if value is None else " ".join(str(value).split()).replace("|", "\\|")[:200]

    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join("---" for _ in columns) + " |"]
    lines += ["| " + " | ".join(cell(row.get(column)) for column in columns) + " |" for row in rows]
    return "\n".join(lines)
