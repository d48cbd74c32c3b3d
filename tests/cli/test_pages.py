"""`report` and `browse` write their pages, or say why they cannot."""

import json
import shutil
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from dlbench.cli import app

SCALE, STEP = "toy/toy.core.scale", "toy/toy.core.Counter.step"


def run_cli(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    verdict = {"sample": 0, "status": "pass", "tests": {"t": "passed"}, "message": ""}
    (folder / "config.json").write_text(json.dumps({"model": "m", "benchmark": "1.0"}))
    (folder / "verdicts.jsonl").write_text(
        "".join(json.dumps(verdict | {"instance": one}) + "\n" for one in (SCALE, STEP))
    )
    (folder / "samples.jsonl").write_text(json.dumps({"instance": SCALE, "sample": 0, "code": "def scale(): 1"}) + "\n")
    return folder


def test_report_writes_page_tables_and_plots(run, toy_root, tmp_path):
    ended = run_cli("report", run, "--out", tmp_path / "new/out", "--benchmark", toy_root)
    assert ended.exit_code == 0, ended.output
    names = {path.name for path in (tmp_path / "new/out").iterdir()}
    tables = {"scores.csv", "scores.parquet", "verdicts.csv", "verdicts.parquet", "tables.tex"}
    assert names == {"report.html", "report.md", "plots"} | tables
    assert ended.output.splitlines()[-1] == f"report: {tmp_path / 'new/out/report.html'}"
    assert "m: pass@1 100.0 % (34 to 100), 2 instances" in ended.output
    assert "outcomes" not in ended.output
    assert "100.0 %" in (tmp_path / "new/out/report.html").read_text()


def test_each_plot_is_a_file_with_a_legend(run, toy_root, tmp_path):
    other = shutil.copytree(run, tmp_path / "it's \"<b>&")
    ended = run_cli("report", run, other, "--out", tmp_path / "out", "--benchmark", toy_root)
    assert ended.exit_code == 0, ended.output
    files = sorted((tmp_path / "out/plots").glob("*.svg"))
    texts = {one.name: list(ElementTree.fromstring(one.read_text()).itertext()) for one in files}
    assert {"m (run)", "m (it's \"<b>&)"} <= set(texts["pass-1-by-stage-in-percent-with-95-intervals.svg"])
    assert texts["statuses-of-the-verdicts-by-run.svg"][-1] == "pass"
    assert len(files) == (tmp_path / "out/report.html").read_text().count('<svg class="plot"') > 5


def test_tables_are_printed_beside_a_page_only_if_asked_for(run, toy_root, tmp_path):
    ended = run_cli("report", run, "--out", tmp_path / "out", "--by", "framework", "--benchmark", toy_root)
    assert ended.exit_code == 0, ended.output
    assert "numpy" in ended.output
    assert "outcomes" in ended.output


def test_plots_of_an_earlier_report_are_removed_and_other_files_stay(run, toy_root, tmp_path):
    other, plots = shutil.copytree(run, tmp_path / "other"), tmp_path / "out/plots"
    arguments = ("--out", tmp_path / "out", "--benchmark", toy_root)
    assert run_cli("report", run, other, *arguments).exit_code == 0
    (plots / "mine.svg").write_text("<svg/>")
    both = {path.name for path in plots.glob("*.svg")}
    assert run_cli("report", run, *arguments).exit_code == 0
    left = {path.name for path in plots.glob("*.svg")}
    assert run_cli("report", run, "--out", tmp_path / "fresh", "--benchmark", toy_root).exit_code == 0
    assert left == {path.name for path in (tmp_path / "fresh/plots").glob("*.svg")} | {"mine.svg"}
    assert "agreement-between-runs.svg" in both - left


def test_missing_pyarrow_is_explained(run, toy_root, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    ended = run_cli("report", run, "--out", tmp_path / "out", "--benchmark", toy_root)
    assert ended.exit_code == 0
    assert "pip install 'dlbench[report]'" in ended.output
    assert not list((tmp_path / "out").glob("*.parquet"))


def test_harness_errors_exit_1_after_writing_the_report(run, toy_root, tmp_path):
    path = run / "verdicts.jsonl"
    path.write_text(path.read_text().replace('"pass"', '"harness_error"'))
    ended = run_cli("report", run, "--out", tmp_path / "out", "--benchmark", toy_root)
    assert ended.exit_code == 1
    assert "HARNESS ERRORS: 2 of 2" in (tmp_path / "out/report.html").read_text()


@pytest.mark.parametrize(
    ("more", "message"),
    [(["--public"], "--public requires --out"), (["--out", "{}/run/config.json/x"], "cannot be created")],
)
def test_unwritable_report_gets_a_clear_error(run, toy_root, tmp_path, more, message):
    ended = run_cli("report", run, "--benchmark", toy_root, *(one.format(tmp_path) for one in more))
    assert ended.exit_code == 1
    assert message in ended.output
    assert "fix:" in ended.output


def test_failed_report_leaves_no_folder(toy_root, tmp_path):
    ended = run_cli("report", tmp_path / "absent", "--out", tmp_path / "out", "--benchmark", toy_root)
    assert (ended.exit_code, "there are no verdicts here" in ended.output) == (1, True)
    assert not (tmp_path / "out").exists()


def test_browse_writes_a_page_of_the_selection(run, toy_root, tmp_path):
    out = tmp_path / "data.html"
    ended = run_cli("browse", "--benchmark", toy_root, "--instance", STEP, "--run", run, "--out", out, "--no-browser")
    assert ended.exit_code == 0, ended.output
    assert f"1 instances: {out}" in ended.output
    assert "1 instances of 1 projects" in out.read_text()


def test_unwritable_browser_page_gets_a_clear_error(toy_root, tmp_path):
    ended = run_cli("browse", "--benchmark", toy_root, "--out", tmp_path / "absent/data.html", "--no-browser")
    assert ended.exit_code == 1
    assert "cannot be written" in ended.output
    assert "fix:" in ended.output
