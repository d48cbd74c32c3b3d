"""Exports have the unrounded numbers of the report, empty for n/a, equal in every format."""

import csv
import io
import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from dlbench.reporting.export import (
    escape_latex,
    has_parquet,
    list_scores,
    list_verdicts,
    render_csv,
    render_latex,
    write_tables,
)
from dlbench.scoring import summarise
from tests.reporting.pages import make_world
from tests.scoring.made import make_benchmark, verdicts


@pytest.fixture
def data(tmp_path):
    world = make_world(tmp_path)
    return world.collect(world.write_run("a_b & 50%", "110000"), world.write_run("other", "111100"))


def test_csv_has_the_scores_of_the_summary_and_empty_cells_for_n_a(data):
    rows = list(csv.DictReader(io.StringIO(render_csv(list(list_scores(data))))))
    (overall,) = (row for row in rows if (row["run"], row["axis"]) == ("other", "all"))
    assert float(overall["pass_at_1"]) == pytest.approx(4 / 6)
    assert float(overall["low"]) == data.summaries["other"].overall.interval.low
    assert overall["pass_at_5"] == ""  # two samples each
    assert {row["axis"] for row in rows} >= {"stage", "task", "data", "project", "size", "year", "live", "crossed"}


def test_pass_at_k_has_its_interval(data):
    benchmark = make_benchmark(40)
    summary = summarise(verdicts(benchmark, *("1" * 10 + "0" * 30 for _ in range(5))), benchmark)
    overall = next(list_scores(replace(data, summaries={"m": summary})))
    found = summary.overall.pass_at_interval[5]
    assert overall["pass_at_5"] == 0.25
    assert (overall["pass_at_5_low"], overall["pass_at_5_high"]) == (found.low, found.high)
    assert 0 < found.low < 0.25 < found.high < 1
    assert math.isnan(overall["pass_at_10_low"])  # there are five


def test_each_verdict_is_a_row_with_labels(data):
    rows = list(list_verdicts(data))
    assert len(rows) == 2 * 6 * 2
    assert [(row["status"], row["tests_passed"], row["tests"]) for row in rows[:5:4]] == [
        ("pass", 2, 2),
        ("fail", 1, 2),
    ]
    assert rows[0]["stage"] == "training"


def test_parquet_equals_csv(data, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    assert write_tables(data, out) == [
        "scores.csv",
        "scores.parquet",
        "verdicts.csv",
        "verdicts.parquet",
        "tables.tex",
    ]
    assert sorted(path.name for path in out.iterdir()) == sorted(write_tables(data, out))
    for name in ("scores", "verdicts"):
        written = list(csv.DictReader((out / f"{name}.csv").open()))
        kept = parquet.read_table(out / f"{name}.parquet").to_pylist()
        assert [{key: "" if value is None else str(value) for key, value in row.items()} for row in kept] == written


def test_other_tables_are_written_without_pyarrow(data, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert not has_parquet()
    assert write_tables(data, tmp_path) == ["scores.csv", "verdicts.csv", "tables.tex"]


def test_latex_tables_are_complete_and_names_escaped(data):
    text = render_latex(data)
    assert r"a\_b \& 50\%" in text
    for table in re.findall(r"\\toprule\n(.*?)\\bottomrule", text, re.DOTALL):
        rows = [line for line in table.splitlines() if line != r"\midrule"]
        assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1
        assert all(row.endswith(r"\\") for row in rows)
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") >= 6
    assert math.nan not in [row["pass_at_1"] for row in list_scores(data)]


@given(st.text())
def test_every_latex_special_character_is_escaped(words):
    plain = re.sub(r"\\(text[a-z]+\{\}|[&%$#_{}])", "", escape_latex(words))
    assert not re.search(r"[\\~^&%$#_{}<>|\"\n]", plain)
