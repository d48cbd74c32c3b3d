"""How is the dataset read by a program of one's own? As lines of JSON, or as one Parquet table."""

from pathlib import Path

from dlbench.bridges.exports.rows import Row, Wanted
from dlbench.jsonl import rewrite
from dlbench.reporting.export import write_parquet


def write_jsonl(rows: list[Row], wanted: Wanted, folder: Path) -> None:
    rewrite(folder / f"{wanted.split}.jsonl", rows)


def write_table(rows: list[Row], wanted: Wanted, folder: Path) -> None:
    write_parquet(folder / f"{wanted.split}.parquet", rows)
