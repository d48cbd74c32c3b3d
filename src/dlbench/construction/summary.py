"""What came of it? Counts and reasons over all projects of a work folder, as tables that can be kept.

A pass over fifty projects is longer than a work folder lives, so what came of each can be put by in a file, a line for
each project, and the tables are of all of them. Facts only: names, figures and reasons of ours. Nothing of a project's
own text goes in.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from dlbench.construction.calls.agreement import Comparison
from dlbench.construction.work_folder import Row, WorkFolder
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines, rewrite

NAMES = "admissible functions"
_STEPS = ("collected", "trace", "functions", "screened", "measured")
_REASONS = {"screened": "kept", "measured": "admissible"}
"""The steps that leave functions out, and what they say of those that they do not."""
_AGREEMENT = (
    "tests compared", "made at run time", "direct: precision", "recall", "all: precision", "all: recall",
)  # fmt: skip


def list_projects(work: WorkFolder) -> list[str]:
    """Those that got as far as their tests; the folder holds others beside."""
    return [project for project in work.projects() if work.has("collected", project)]


def summarize_project(work: WorkFolder, project: str) -> Row:
    """One project's way through the steps; what was not done yet is missing."""
    row: Row = {"project": project}
    counts = {step: _read(work, step, project) for step in _STEPS if work.has(step, project)}
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


def _read(work: WorkFolder, step: str, project: str) -> list[Row]:
    return work.read_last(step, project) if step == "measured" else work.read(step, project)


def summarize_all(work: WorkFolder) -> list[Row]:
    """A line for each project: its counts, which functions are admissible, why others were left out, how right the
    text was; or why it was left out itself."""
    lines = [
        summarize_project(work, project)
        | _name(work, project)
        | _count_reasons(work, project)
        | _read_agreement(work, project)
        for project in list_projects(work)
    ]
    known = {line["project"] for line in lines}
    left = work.read("left_out") if work.has("left_out") else []
    return lines + [{"project": row["project"], "why": row["why"]} for row in left if row["project"] not in known]


def merge_kept(path: Path, lines: Iterable[Row]) -> list[Row]:
    """What stands in the file and what is new, put by there; of a project that both know, what got further."""
    kept: dict[str, Row] = {}
    if path.exists():
        for number, line in read_lines(path):
            if not isinstance(line.get("project"), str):
                what, fix = "a line without a project", "give a file that `dlbench construct tables --kept` wrote"
                raise DLBenchError(what, where=f"{path}:{number}", fix=fix)
            kept[line["project"]] = line
    for line in lines:
        if _how_far(line) >= _how_far(kept.get(line["project"], {})):
            kept[line["project"]] = line
    found = [kept[project] for project in sorted(kept)]
    path.parent.mkdir(parents=True, exist_ok=True)
    rewrite(path, found)
    return found


def _how_far(line: Row) -> tuple[int, ...]:
    return tuple(line.get(step) or 0 for step in ("measured", "screened", "functions under test", "tests run"))


def _name(work: WorkFolder, project: str) -> Row:
    """Which functions are admissible: a bare count could not be looked into."""
    if not work.has("measured", project):
        return {}
    good = [found["id"].partition("/")[2] for found in work.read_last("measured", project) if found["admissible"]]
    return {NAMES: sorted(good)}


def _count_reasons(work: WorkFolder, project: str) -> Row:
    """Why functions were left out, by step."""
    found: Row = {}
    for step, key in _REASONS.items():
        if work.has(step, project):
            reasons = Counter(row["reason"] for row in _read(work, step, project) if not row[key])
            found[f"left out when {step}"] = dict(sorted(reasons.items()))
    return found


def _read_agreement(work: WorkFolder, project: str) -> Row:
    """Precision and recall of the static graph, for what tests call themselves and for all they come to."""
    if not work.has("static_agreement", project):
        return {}
    found = Comparison.from_row(work.read("static_agreement", project)[0])
    rates = [found.direct.precision, found.direct.recall, found.all.precision, found.all.recall]
    values = [found.tests, found.unwritten, *(f"{rate:.2f}" for rate in rates)]
    return {"agreement": dict(zip(_AGREEMENT, values, strict=True)) | {"is_complete": found.is_complete}}


def render_tables(lines: list[Row]) -> str:
    """Markdown: a line for each project with their sum, then the reasons, then the projects that were left out."""
    rows = [line for line in lines if "why" not in line]
    columns = [
        "project", "tests collected", "tests run", "tests passed", "functions under test", "screened", "measured",
        "admissible", "mutation score, median",
    ]  # fmt: skip
    total: Row = {"project": f"**{len(rows)} projects**"}
    for column in columns[1:-1]:
        total[column] = sum(row.get(column) or 0 for row in rows)
    parts = [_render(columns, [*rows, total])]
    named = sum(len(row.get(NAMES) or ()) for row in rows)
    parts.append(f"Of the {total['admissible']} admissible functions {named} are known by name.")
    for step in _REASONS:
        telling = [row[f"left out when {step}"] for row in rows if f"left out when {step}" in row]
        reasons: Counter[str] = Counter()
        for one in telling:
            reasons.update(one)
        of = "" if len(telling) == len(rows) else f" (of {len(telling)} projects)"
        parts.append(f"## Functions left out when {step}{of}\n\n" + _render(["reason", "functions"], _count(reasons)))
    told = [row for row in rows if "agreement" in row]
    if told:
        parts.append("## What the text tells, against what ran\n\n" + _render_agreement(told))
    left = [line for line in lines if "why" in line]
    if left:
        parts.append("## Projects left out\n\n" + _render(["project", "why"], left))
    return "\n\n".join(parts) + "\n"


def _render_agreement(lines: list[Row]) -> str:
    rows: list[Row] = []
    for line in lines:
        found = line["agreement"]
        name = line["project"] if found["is_complete"] else f"{line['project']} (not followed to its end)"
        rows.append(found | {"project": name})
    return _render(["project", *_AGREEMENT], rows)


def _count(reasons: Counter[str]) -> list[Row]:
    return [{"reason": reason, "functions": count} for reason, count in reasons.most_common()]


def _render(columns: list[str], rows: list[Row]) -> str:
    def cell(value: object) -> str:
        return "" if value is None else " ".join(str(value).split()).replace("|", "\\|")[:200]

    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join("---" for _ in columns) + " |"]
    lines += ["| " + " | ".join(cell(row.get(column)) for column in columns) + " |" for row in rows]
    return "\n".join(lines)
