"""`analyze efficiency` measures once, shows again without running, and rejects runs with nothing to measure."""

import json

import pytest

from tests.analysis.test_efficiency import SCALE, SLOW
from tests.cli.test_analyze import read_plots
from tests.cli.test_compare import STEP, run_cli, write_run  # noqa: F401 - fixtures


@pytest.fixture
def run(write_run):  # noqa: F811
    """A run whose one passing answer is slow."""
    samples = [
        {"instance": SCALE, "sample": 0, "code": SLOW},
        {"instance": STEP, "sample": 0, "code": "def step(self): ..."},
    ]
    return write_run("slow", {SCALE: "pass", STEP: "fail"}, samples=samples)


def test_measurements_are_stored_and_shown_without_running(run, toy_root, tmp_path, monkeypatch):
    ended = run_cli("analyze", "efficiency", run, "--benchmark", toy_root, "--repeats", 3, "--plots", tmp_path / "p")
    assert ended.exit_code == 0, ended.output
    for words in (
        "time and peak memory of the tests",
        "maintainability of the code",
        "coverage",
        "cyclomatic",
        "index",
    ):
        assert words in ended.output
    assert {"slow", "time of the tests, candidate to reference"} <= read_plots(tmp_path / "p")["efficiency-1"]
    stored = (run / "efficiency.jsonl").read_text()
    monkeypatch.setenv("DLBENCH_SANDBOX", "no such sandbox")  # running anything fails
    again = run_cli("analyze", "efficiency", run, "--benchmark", toy_root, "--no-run", "--json")
    assert again.exit_code == 0, again.output
    assert (run / "efficiency.jsonl").read_text() == stored
    (found,) = json.loads(again.stdout, parse_constant=pytest.fail)
    (beside,) = found["candidates"]
    assert (beside["instance"], beside["samples"], beside["ratios"]["time"]["rounds"]) == (SCALE, [0], 3)
    assert beside["ratios"]["time"]["candidate"] >= 5 * 0.2
    assert found["costs"][0]["noise"]["instances"] == 1


def test_unmeasured_samples_are_noted(run, toy_root):
    ended = run_cli("analyze", "efficiency", run, "--benchmark", toy_root, "--no-run")
    assert ended.exit_code == 0, ended.output
    assert "NOT MEASURED: 1 of 1 samples of slow that pass" in ended.output
    assert "n/a" in ended.output


def test_several_runs_carry_a_caveat(run, write_run, toy_root):  # noqa: F811
    other = write_run("other", {SCALE: "pass"}, samples=[{"instance": SCALE, "sample": 0, "code": SLOW}])
    caveat = "EACH RUN ON WHAT IT SOLVES ITSELF"
    for runs in ((run,), (run, other)):
        ended = run_cli("analyze", "efficiency", *runs, "--benchmark", toy_root, "--no-run")
        assert ended.exit_code == 0, ended.output
        assert (caveat in ended.output) == (len(runs) > 1)


def test_runs_that_cannot_be_measured_are_rejected(run, write_run, toy_root):  # noqa: F811
    for arguments, message in (
        ((write_run("bare", {SCALE: "pass"}),), "there are no samples here"),
        ((run, "--instance", STEP), "no candidate among the chosen instances passes"),
        ((run.parent,), "pass the runs in it: "),
        ((run, "--sandbox", "tinfoil"), "tinfoil"),
    ):
        ended = run_cli("analyze", "efficiency", *arguments, "--benchmark", toy_root)
        assert ended.exit_code == 1, ended.output
        assert message in ended.output
        assert "fix:" in ended.output
    assert not (run / "efficiency.jsonl").exists()
