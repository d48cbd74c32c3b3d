"""What can other programs read of a report? Long tables, one fact a row, as CSV and Parquet, and LaTeX for papers.

Numbers stand as numbers, unrounded; what cannot be computed is an empty cell, never 0.

How do the scores get into a paper? Tables for `booktabs`, the papers' own: overall, by label, live, variance.

Names of runs come from people and models: every letter that LaTeX would act on is escaped.
"""

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dlbench.dataset import AXES
from dlbench.jsonl import write_whole
from dlbench.reporting.report_data import ReportData
from dlbench.reporting.tables import Tabled, breakdown, overview, spreads, statuses
from dlbench.scoring import Score
from dlbench.scoring.intervals import NOTHING
from dlbench.scoring.summary import KS

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


def render_latex(standing: ReportData) -> str:
    summaries = standing.summaries
    parts = [
        "% Tables of DL-Bench: \\usepackage{booktabs}, then \\input{tables}",
        _table("Runs", "runs", overview(summaries, standing.usages)),
    ]
    for axis in (*AXES, "live"):
        headings, rows = breakdown(summaries, [axis])
        cells = [[row[1].replace("_", " "), *row[2:]] for row in rows]
        parts.append(_table(f"pass@1 by {axis}, with 95 % intervals", axis, (["", *headings[2:]], cells)))
    headings, rows = statuses(summaries)
    cells = [[row[0].replace("_", " "), *row[1:]] for row in rows]
    parts.append(_table("What became of the answers", "statuses", (headings, cells)))
    if standing.repeats:
        parts.append(_table("The same again", "spreads", spreads(standing.repeats)))
    return "\n\n".join(parts) + "\n"


def escape_latex(words: str) -> str:
    return _ANY.sub(lambda found: _SPECIAL[found.group()], _CONTROL.sub(" ", words))


def _table(caption: str, label: str, tabled: Tabled) -> str:
    headings, rows = tabled
    lines = [
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
    ]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return " & ".join(escape_latex(cell.strip()) for cell in cells) + r" \\"


Row = dict[str, Any]
NO_PARQUET = "Parquet is left out, since pyarrow is not installed: pip install 'dlbench[report]' and report again"


def list_scores(standing: ReportData) -> Iterator[Row]:
    """One row a run and group."""
    for name, summary in standing.summaries.items():
        for score in summary.scores:
            yield {
                "run": name,
                "axis": score.axis,
                "label": score.label,
                "instances": score.instances,
                "samples": score.samples,
                "pass_at_1": score.pass_at_1,
                "low": score.interval.low,
                "high": score.interval.high,
                "interval": score.interval.kind,
                "clustered_low": score.clustered.low,
                "clustered_high": score.clustered.high,
                "tests_passed": score.passing_rate,
                **{key: value for k in KS[1:] for key, value in _list_pass_at(score, k).items()},
                "harness_errors": score.harness_errors,
            }


def _list_pass_at(score: Score, k: int) -> Row:
    found = score.pass_at_interval.get(k, NOTHING)
    share = score.pass_at.get(k, math.nan)
    return {f"pass_at_{k}": share, f"pass_at_{k}_low": found.low, f"pass_at_{k}_high": found.high}


def list_verdicts(standing: ReportData) -> Iterator[Row]:
    """One row a verdict, with the labels of its instance."""
    for name, run in standing.runs.items():
        for record in run.verdicts:
            instance = standing.benchmark.instances[record["instance"]]
            outcomes = list(record["tests"].values())
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
                **{axis: str(getattr(instance.labels, axis)) for axis in AXES},
                "introduced": str(instance.introduced),
                "lines": math.nan if instance.measures.loc is None else float(instance.measures.loc),
            }


def write_tables(standing: ReportData, folder: Path) -> list[str]:
    """`scores` and `verdicts` as CSV and Parquet, and `tables.tex`; gives the names of the files."""
    tables = {"scores": list(list_scores(standing)), "verdicts": list(list_verdicts(standing))}
    written = []
    for name, rows in tables.items():
        write_whole(folder / f"{name}.csv", render_csv(rows))
        written.append(f"{name}.csv")
        if has_parquet():
            write_parquet(folder / f"{name}.parquet", rows)
            written.append(f"{name}.parquet")
    write_whole(folder / "tables.tex", render_latex(standing))
    return [*written, "tables.tex"]


def has_parquet() -> bool:
    return find_spec("pyarrow") is not None


def render_csv(rows: Sequence[Row]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0] if rows else ())
    writer.writerows(map(_cells, rows))
    return out.getvalue()


def _cells(row: Row) -> Iterable[object]:
    return ("" if isinstance(value, float) and math.isnan(value) else value for value in row.values())


def write_parquet(path: Path, rows: Sequence[Row]) -> None:
    import pyarrow
    from pyarrow import parquet

    plain = [{key: None if value != value else value for key, value in row.items()} for row in rows]
    partial = path.with_name(f".{path.name}.part")
    try:
        parquet.write_table(pyarrow.Table.from_pylist(plain), partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
