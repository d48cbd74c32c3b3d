"""Summarize counts and reasons over all projects of a work folder, as Markdown tables.

A pass over fifty projects outlives a work folder, so summaries can be kept in a file with a line for each project.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from dlbench.construction.work_folder import Row, WorkFolder
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines, rewrite

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
