"""What can other programs read of a report? Long tables, one fact a row, as CSV and Parquet, and LaTeX for papers.

Numbers stand as numbers, unrounded; what cannot be computed is an empty cell, never 0.
"""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dlbench.dataset import AXES
from dlbench.jsonl import write_whole
from dlbench.reporting.latex import render_latex
from dlbench.reporting.standing import Standing
from dlbench.scoring import Score
from dlbench.scoring.intervals import NOTHING
from dlbench.scoring.summary import KS

Row = dict[str, Any]
NO_PARQUET = "Parquet is left out, since pyarrow is not installed: pip install 'dlbench[report]' and report again"


def list_scores(standing: Standing) -> Iterator[Row]:
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


def list_verdicts(standing: Standing) -> Iterator[Row]:
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


def write_tables(standing: Standing, folder: Path) -> list[str]:
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
