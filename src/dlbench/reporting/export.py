"""Export a report for other programs: long tables as CSV and Parquet, and LaTeX tables for papers."""

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dlbench.dataset import AXES
from dlbench.dataset.file_task import FileTask
from dlbench.dataset.tracks import find_labels, has_functions
from dlbench.jsonl import write_whole
from dlbench.reporting.report_data import ReportData
from dlbench.reporting.statistics import STATISTICS, Subject, tabulate_statistics
from dlbench.reporting.tables import Tabled, breakdown, spreads, statuses
from dlbench.scoring.breakdowns import lines_of, list_axes

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}
_ANY = re.compile("|".join(map(re.escape, _SPECIAL)))
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
Row = dict[str, Any]
NO_PARQUET = (
    "pyarrow is not installed, so no Parquet files were written: pip install 'dlbench[report]' and report again"
)


def render_latex(data: ReportData) -> str:
    tables = {"runs": ("Runs", tabulate_statistics(data.subjects))}
    for axis in (*AXES, "live") if has_functions(data.benchmark) else list_axes(data.benchmark):
        headings, rows = breakdown(data.summaries, [axis])
        cells = [[label.replace("_", " "), *cells] for _, label, *cells in rows]
        tables[axis] = (f"pass@1 by {axis}, with 95 % intervals", (["", *headings[2:]], cells))
    headings, rows = statuses(data.summaries)
    tables["statuses"] = ("Outcomes", (headings, [[status.replace("_", " "), *cells] for status, *cells in rows]))
    if data.repeats:
        tables["spreads"] = ("Run-to-run variance", spreads(data.repeats))
    parts = ["% Tables of DL-Bench: \\usepackage{booktabs}, then \\input{tables}"]
    parts += [_table(caption, label, table) for label, (caption, table) in tables.items()]
    return "\n\n".join(parts) + "\n"


def escape_latex(text: str) -> str:
    """Run names come from people and models."""
    return _ANY.sub(lambda found: _SPECIAL[found.group()], _CONTROL.sub(" ", text))


def _table(caption: str, label: str, table: Tabled) -> str:
    headings, rows = table
    return "\n".join([
        r"\begin{table}",
        f"\\caption{{{escape_latex(caption)}}}\\label{{tab:dlbench-{label}}}",
        f"\\begin{{tabular}}{{l{'r' * (len(headings) - 1)}}}",
        r"\toprule",
        _row(headings),
        r"\midrule",
        *map(_row, rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ])  # fmt: skip


def _row(cells: Sequence[str]) -> str:
    return " & ".join(escape_latex(cell.strip()) for cell in cells) + r" \\"


def list_scores(data: ReportData) -> Iterator[Row]:
    """One row per run and group, with every statistic that has columns."""
    for name, summary in data.summaries.items():
        for score in summary.scores:
            subject = Subject(score, summary, data.usages.get(name))
            row: Row = {"run": name, "axis": score.axis, "label": score.label}
            for statistic in STATISTICS.values():
                row |= statistic.export(subject)
            yield row


def list_verdicts(data: ReportData) -> Iterator[Row]:
    """One row per verdict, with the labels of its instance."""
    for name, run in data.runs.items():
        for record in run.verdicts:
            instance = data.benchmark.instances[record["instance"]]
            outcomes, labels = list(record["tests"].values()), {}
            if not isinstance(instance, FileTask):
                labels = find_labels(instance, ()) | {"introduced": str(instance.introduced)}
            yield {
                "run": name,
                "instance": instance.id,
                "sample": record["sample"],
                "status": record["status"],
                "tests": len(outcomes),
                "tests_passed": outcomes.count("passed"),
                "seconds": record["seconds"],
                "memory_mb": record["memory_mb"],
                "project": instance.project,
                **labels,
                "lines": math.nan if (lines := lines_of(instance)) is None else float(lines),
            }


def write_tables(data: ReportData, folder: Path) -> list[str]:
    """`scores` and `verdicts` as CSV and Parquet, and `tables.tex`; returns the file names."""
    written = []
    for name, rows in (("scores", list(list_scores(data))), ("verdicts", list(list_verdicts(data)))):
        write_whole(folder / f"{name}.csv", render_csv(rows))
        written.append(f"{name}.csv")
        if has_parquet():
            write_parquet(folder / f"{name}.parquet", rows)
            written.append(f"{name}.parquet")
    write_whole(folder / "tables.tex", render_latex(data))
    return [*written, "tables.tex"]


def has_parquet() -> bool:
    return find_spec("pyarrow") is not None


def render_csv(rows: Sequence[Row]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0] if rows else ())
    writer.writerows(("" if value != value else value for value in row.values()) for row in rows)  # NaN is not itself
    return out.getvalue()


def write_parquet(path: Path, rows: Sequence[Row]) -> None:
    import pyarrow
    from pyarrow import parquet

    plain = [{key: None if value != value else value for key, value in row.items()} for row in rows]
    content = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(plain), content)
    write_whole(path, content.getvalue())
