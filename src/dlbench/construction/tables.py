"""What came of it? Counts and reasons over all projects of a work folder, as tables that can be kept.

Facts only: names, figures and reasons of ours. Nothing of a project's own text goes in.
"""

from collections import Counter
from statistics import median

from dlbench.construction.calls.agreement import Comparison
from dlbench.construction.work import Row, Work

_STEPS = ("collected", "trace", "functions", "screened", "measured")


def list_projects(work: Work) -> list[str]:
    """Those that got as far as their tests; the folder holds others beside."""
    return [project for project in work.projects() if work.has("collected", project)]


def summarise(work: Work, project: str) -> Row:
    """One project's way through the steps; what was not done yet is missing."""
    row: Row = {"project": project}
    counts = {step: work.read(step, project) for step in _STEPS if work.has(step, project)}
    if "collected" in counts:
        row["tests collected"] = len(counts["collected"])
    if "trace" in counts:
        row["tests run"] = len(counts["trace"])
        row["tests passed"] = sum(test["outcome"] == "passed" for test in counts["trace"])
    if "functions" in counts:
        row["functions under test"] = len(counts["functions"])
    if "screened" in counts:
        row["screened"] = sum(function["kept"] for function in counts["screened"])
    if "measured" in counts:
        row["measured"] = len(counts["measured"])
        good = [found for found in counts["measured"] if found["admissible"]]
        row["admissible"] = len(good)
        scores = [found["killed"] / found["mutants"] for found in good if found["mutants"]]
        row["mutation score, median"] = round(median(scores), 2) if scores else None
    return row


def count_reasons(work: Work, projects: list[str]) -> dict[str, Counter[str]]:
    """Why functions were left out, by step."""
    found: dict[str, Counter[str]] = {"screened": Counter(), "measured": Counter()}
    for project in projects:
        for step, key in (("screened", "kept"), ("measured", "admissible")):
            if work.has(step, project):
                found[step].update(row["reason"] for row in work.read(step, project) if not row[key])
    return found


def render_tables(work: Work) -> str:
    """Markdown: a line for each project with their sum, then the reasons, then the projects that were left out."""
    projects = list_projects(work)
    rows = [summarise(work, project) for project in projects]
    columns = [
        "project", "tests collected", "tests run", "tests passed", "functions under test", "screened", "measured",
        "admissible", "mutation score, median",
    ]  # fmt: skip
    total: Row = {"project": f"**{len(rows)} projects**"}
    for column in columns[1:-1]:
        total[column] = sum(row.get(column) or 0 for row in rows)
    parts = [_render(columns, [*rows, total])]
    for step, reasons in count_reasons(work, projects).items():
        title = "Functions left out when screened" if step == "screened" else "Functions left out when measured"
        parts.append(f"## {title}\n\n" + _render(["reason", "functions"], _count(reasons)))
    told = [project for project in projects if work.has("static_agreement", project)]
    if told:
        parts.append("## What the text tells, against what ran\n\n" + _render_agreement(work, told))
    if work.has("left_out"):
        left = [{"project": row["project"], "why": row["why"]} for row in work.read("left_out")]
        parts.append("## Projects left out\n\n" + _render(["project", "why"], left))
    return "\n\n".join(parts) + "\n"


def _render_agreement(work: Work, projects: list[str]) -> str:
    """Precision and recall of the static graph, for what tests call themselves and for all they come to."""
    columns = [
        "project", "tests compared", "made at run time", "direct: precision", "recall", "all: precision", "all: recall",
    ]  # fmt: skip
    rows: list[Row] = []
    for project in projects:
        found = Comparison.from_row(work.read("static_agreement", project)[0])
        name = project if found.is_complete else f"{project} (not followed to its end)"
        rates = [found.direct.precision, found.direct.recall, found.all.precision, found.all.recall]
        values = [name, found.tests, found.unwritten, *(f"{rate:.2f}" for rate in rates)]
        rows.append(dict(zip(columns, values, strict=True)))
    return _render(columns, rows)


def _count(reasons: Counter[str]) -> list[Row]:
    return [{"reason": reason, "functions": count} for reason, count in reasons.most_common()]


def _render(columns: list[str], rows: list[Row]) -> str:
    def cell(value: object) -> str:
        return "" if value is None else " ".join(str(value).split()).replace("|", "\\|")[:200]

    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join("---" for _ in columns) + " |"]
    lines += ["| " + " | ".join(cell(row.get(column)) for column in columns) + " |" for row in rows]
    return "\n".join(lines)
