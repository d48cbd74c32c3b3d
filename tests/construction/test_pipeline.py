"""The pipeline admits good functions and leaves out each bad one for its reason."""

import re
import shutil

import pytest
from typer.testing import CliRunner

from dlbench.cli import app
from dlbench.construction import WorkFolder, merge_kept, render_tables, summarize_all
from dlbench.construction.collect import collect
from dlbench.construction.pipeline import Pipeline, choose_cases
from dlbench.construction.project_spec import ProjectSpec
from dlbench.errors import DLBenchError
from dlbench.execution import Engine, Limits, choose_sandbox
from tests.construction.planted import EXPECTED, write_planted

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    """A pipeline after all steps except admission."""
    work = WorkFolder(write_planted(tmp_path_factory.mktemp("planted")))
    engine = Engine(choose_sandbox(), Limits(load_seconds=90, test_seconds=10))
    pipeline = Pipeline(engine, work, ProjectSpec("planted"), lambda text: None, workers=2)
    found = collect(engine, pipeline.prepared, ["tests/test_model.py"])
    assert found.why == ""
    assert found.errors == {}
    work.write("collected", ({"id": test} for test in found.tests), "planted")
    work.write("uncollected", [], "planted")
    pipeline.trace()
    pipeline.extract()
    pipeline.screen()
    return pipeline


@pytest.fixture(scope="module")
def reasons(pipeline):
    pipeline.admit()
    found = {row["name"]: row["why"] for row in pipeline.work.read("extract_left_out", "planted")}
    found |= {row["qualname"]: row["reason"] for row in pipeline.work.read("screened", "planted") if not row["kept"]}
    return found | {row["id"].rpartition(".")[2]: row["reason"] for row in pipeline.work.read("measured", "planted")}


@pytest.mark.parametrize("name", EXPECTED)
def test_each_planted_function_is_left_out_for_its_reason(reasons, name):
    assert reasons[name] == EXPECTED[name]


def test_test_helpers_are_left_out_and_tests_are_not_listed(pipeline):
    assert "make_batch" not in {row["qualname"] for row in pipeline.work.read("functions", "planted")}
    left_out = pipeline.work.read("extract_left_out", "planted")
    assert [(row["path"], row["name"]) for row in left_out] == [("planted/testing/helpers.py", "make_batch")]


def test_functions_are_measured_before_screening(pipeline):
    rows = {row["qualname"]: row["measures"] for row in pipeline.work.read("functions", "planted")}
    assert (rows["softmax"]["loc"], rows["softmax"]["cyclomatic"]) == (7, 4)
    assert rows == {row["qualname"]: row["measures"] for row in pipeline.work.read("screened", "planted")}


def test_admissible_function_has_tests_that_kill_mutants(pipeline, reasons):
    (row,) = [row for row in pipeline.work.read("measured", "planted") if row["id"].endswith(".softmax")]
    assert len(row["tests"]) == 9  # those of `trivial` run it, too
    assert row["killed"] >= 0.7 * row["mutants"] > 3
    assert all(re.match(r".+ in line \d+", name) for name in row["survivors"])


def test_admission_resumes(pipeline, reasons):
    path = pipeline.work.path("measured", "planted")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + lines[-1][: len(lines[-1]) // 2])  # as a kill leaves it
    pipeline.admit()
    again = path.read_text().splitlines(keepends=True)
    assert again[:-1] == lines[:-1]
    assert len(again) == len(lines)


def test_tables_have_the_counts_of_the_steps(pipeline, reasons):
    text = render_tables(summarize_all(pipeline.work))
    assert re.search(r"\| planted \| \d+ \| \d+ \| \d+ \| 11 \|", text)
    assert "| order_dependent | 1 |" in text


def test_earlier_summaries_are_kept_and_the_further_one_wins(pipeline, reasons, tmp_path):
    path = tmp_path / "pass.jsonl"
    earlier = [{"project": "planted", "measured": 1}, {"project": "vanished", "measured": 3, "admissible": 2}]
    merge_kept(path, [*earlier, {"project": "broken", "why": "no tests"}])
    lines = merge_kept(path, summarize_all(pipeline.work))
    assert [line["project"] for line in lines] == ["broken", "planted", "vanished"]
    assert lines[1]["measured"] > 1
    assert any(name.endswith(".softmax") for name in lines[1]["admissible functions"])
    assert len(lines[1]["admissible functions"]) == lines[1]["admissible"]
    assert merge_kept(path, [{"project": "planted", "measured": 1}]) == lines
    text = render_tables(lines)
    assert "| **2 projects** |" in text
    assert "| broken | no tests |" in text
    good = lines[1]["admissible"]
    assert f"Of the {good + 2} admissible functions {good} are known by name." in text
    assert "## Functions left out when measured (of 1 projects)" in text


def test_invalid_summary_file_is_rejected_and_unchanged(tmp_path):
    path = tmp_path / "pass.jsonl"
    path.write_text('{"project": "one"}\n{"name": "two"}\n')
    with pytest.raises(DLBenchError, match=r"pass\.jsonl:2"):
        merge_kept(path, [{"project": "three"}])
    assert path.read_text() == '{"project": "one"}\n{"name": "two"}\n'


def test_pattern_selects_functions_and_slow_tests_exclude_them(pipeline, tmp_path):
    work = WorkFolder(tmp_path)
    for step in ("trace_functions", "screened"):
        work.write(step, pipeline.work.read(step, "planted"), "planted")
    slow = [row | {"seconds": 10.0} for row in pipeline.work.read("trace", "planted")]
    work.write("trace", slow, "planted")
    other = Pipeline(pipeline.engine, work, pipeline.spec, lambda text: None)
    other.prepared = pipeline.prepared
    other.admit(like=["*.softmax", "*.nothing"])
    assert [row["id"].rpartition(".")[2] for row in work.read("measured", "planted")] == ["softmax"]
    other.admit()
    kept = [row["id"] for row in work.read("screened", "planted") if row["kept"]]
    assert {row["id"]: row["reason"] for row in work.read("measured", "planted")} == dict.fromkeys(kept, "too_slow")


def test_cases_of_a_parametrized_test_are_sampled():
    tests = [f"a.py::test[{number}]" for number in range(100)] + ["a.py::other"]
    chosen = choose_cases(tests, 4)
    assert chosen == ["a.py::test[0]", "a.py::test[25]", "a.py::test[50]", "a.py::test[75]", "a.py::other"]


def test_step_continues_after_a_failed_project(pipeline, tmp_path):
    root = shutil.copytree(pipeline.work.root.parent, tmp_path / "copy", symlinks=True) / "work"
    ended = CliRunner().invoke(app, ["construct", "screen", "absent", "planted", "--work", str(root)])
    assert ended.exit_code == 1
    assert "planted: 7 of 11 functions are kept" in ended.output
    assert "absent: failed: " in ended.output
    assert [row["project"] for row in WorkFolder(root).read("left_out")] == ["absent"]


def test_missing_step_is_reported(tmp_path):
    from dlbench.errors import DLBenchError

    with pytest.raises(DLBenchError, match="has not been done"):
        WorkFolder(tmp_path).read("screened", "nothing")
