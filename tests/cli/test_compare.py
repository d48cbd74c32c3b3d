"""`compare` and `report` show differences with their tests, intervals and caveats."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dlbench.cli import app
from dlbench.cli.report import Breakdown
from dlbench.scoring import BREAKDOWNS

SCALE, STEP = "toy/toy.core.scale", "toy/toy.core.Counter.step"


def run_cli(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def write_run(tmp_path):
    def write(name, statuses, config=None, samples=()):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"model": name, "benchmark": "1.0"} | (config or {})))
        records = [
            {"instance": instance, "sample": 0, "status": status, "tests": {"t": "passed"}, "message": "disk full"}
            for instance, status in statuses.items()
        ]
        (folder / "verdicts.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        if samples:
            (folder / "samples.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))
        return folder

    return write


@pytest.fixture
def two(write_run):
    return [
        write_run("good", {SCALE: "pass", STEP: "pass"}),
        write_run("bad", {SCALE: "fail", STEP: "pass"}),
    ]


def test_compare_shows_difference_tests_and_solved_instances(two, toy_root):
    ended = run_cli("compare", *two, "--benchmark", toy_root)
    assert ended.exit_code == 0, ended.output
    assert "compared on the 2 instances" in ended.output
    assert "good - bad: +50.0 points" in ended.output
    assert "no difference shown" in ended.output
    assert "McNemar p = 1.000" in ended.output
    assert f"only good:\n    {SCALE}" in ended.output


def test_compare_prints_strict_json(two, toy_root):
    ended = run_cli("compare", *two, "--benchmark", toy_root, "--json")
    found = json.loads(ended.output, parse_constant=pytest.fail)
    (pair,) = found["comparison"]["pairs"]
    assert pair["difference"] == 0.5
    assert pair["only_a"] == [SCALE]
    assert pair["odds_ratio"] is None
    assert found["against"] is None


def test_caveats_precede_the_comparison_and_are_in_json(two, write_run, toy_root):
    cut = write_run("cut", {SCALE: "fail", STEP: "pass"}, {"max_tokens": 256})
    path = cut / "verdicts.jsonl"
    path.write_text(path.read_text().replace('"fail"', '"fail", "truncated": true', 1))
    caveat = "CUT OFF: 50.0 % of the answers of cut (1 of 2) are incomplete, with --max-tokens 256."
    ended = run_cli("compare", two[0], cut, "--benchmark", toy_root)
    assert caveat in ended.output
    assert ended.output.index(caveat) < ended.output.index("compared on the 2 instances")
    for command in (("compare", two[0], cut), ("report", cut)):
        found = json.loads(run_cli(*command, "--benchmark", toy_root, "--json").output)
        assert any(line.startswith(caveat) for line in found["warnings"])
    ranked = run_cli("analyze", "robustness", two[0], cut, "--benchmark", toy_root)
    assert caveat in ranked.output


def test_compare_reports_copies(write_run, toy_root):
    folders = [write_run(name, {SCALE: "pass", STEP: "fail"}) for name in ("one", "copy", "other")]
    for folder, answer in zip(folders, ("a", "a", "b"), strict=True):
        path = folder / "verdicts.jsonl"
        path.write_text(path.read_text().replace('"sample"', f'"answer_sha256": "{answer * 64}", "sample"'))
    ended = run_cli("compare", *folders, "--benchmark", toy_root)
    assert "THE SAME ANSWERS: one, copy have the same answers throughout" in ended.output


def test_compare_works_on_selected_instances(two, toy_root):
    ended = run_cli("compare", *two, "--benchmark", toy_root, "--instance", STEP)
    assert "compared on the 1 instances" in ended.output
    assert "1 judged instances are outside the selection" in ended.output
    assert "+0.0 points" in ended.output


def test_compare_reports_harness_errors(two, write_run, toy_root):
    ended = run_cli(
        "compare", two[0], write_run("broken", {SCALE: "harness_error", STEP: "pass"}), "--benchmark", toy_root
    )
    assert "HARNESS ERRORS: 1 instances are left out" in ended.output
    assert SCALE in ended.output
    assert "+0.0 points" in ended.output


def test_compare_with_scores_of_another_benchmark(two, toy_root, tmp_path):
    other = tmp_path / "other.json"
    other.write_text('{"good": 80, "bad": 60}')
    ended = run_cli("compare", *two, "--benchmark", toy_root, "--other", other)
    # 100 % and 50 % here, 80 % and 60 % there: variances .125 and .02, means .75 and .70
    assert "mean pass@1 75.0 % here and 70.0 % there" in ended.output
    assert "Cohen's d -0.19" in ended.output  # -.05 / √.0725
    assert "Fisher's ratio 0.02" in ended.output  # .0025 / .145
    assert "Spearman 1.00" in ended.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "not a file of scores"),
        ('{"good": "much"}', "not a file of scores"),
        ('{"good": 1, "bad": 200}', "outside 0 to 100"),
        ('{"good": 1}', "has no score of bad"),
    ],
)
def test_invalid_file_of_scores_gets_a_clear_error(two, toy_root, tmp_path, text, message):
    other = tmp_path / "other.json"
    other.write_text(text)
    ended = run_cli("compare", *two, "--benchmark", toy_root, "--other", other)
    assert ended.exit_code == 1
    assert message in ended.output
    assert "fix:" in ended.output


def test_incomparable_runs_get_a_clear_error(two, write_run, toy_root):
    alone = run_cli("compare", two[0], "--benchmark", toy_root)
    assert (alone.exit_code, "two run folders" in alone.output) == (1, True)
    newer = run_cli(
        "compare", two[0], write_run("newer", {SCALE: "pass"}, {"benchmark": "2.0"}), "--benchmark", toy_root
    )
    assert (newer.exit_code, "cannot be compared" in newer.output) == (1, True)
    apart = [write_run("one", {SCALE: "pass"}), write_run("other", {STEP: "pass"})]
    nothing = run_cli("compare", *apart, "--benchmark", toy_root)
    assert (nothing.exit_code, "no instance to compare on" in nothing.output) == (1, True)


def test_report_shows_intervals_breakdowns_and_cost(write_run, toy_root):
    usage = {"prompt_tokens": 1000, "completion_tokens": 234, "cost": 0.5}
    samples = [{"instance": SCALE, "sample": n, "answer": "", "usage": usage} for n in range(2)]
    folder = write_run("m", {SCALE: "pass", STEP: "fail"}, samples=samples)
    ended = run_cli("report", folder, "--benchmark", toy_root, "--by", "framework", "--cutoff", "2025-12-31")
    assert ended.exit_code == 0, ended.output
    # Wilson's interval of 1 in 2
    assert "50.0 % (9 to 91)" in ended.output
    assert "9.5 to 90.5" in ended.output
    assert "numpy" in ended.output
    assert "after 2025-12-31" in ended.output
    assert re.search(r"prompt tokens per sample\W+1,000 ", ended.output)
    assert re.search(r"completion tokens per sample\W+234 ", ended.output)
    assert re.search(r"cost of the run\W+1.0000 ", ended.output)
    assert "| project | toy | 2 | 50.0 % (9 to 91) |" in (folder / "report.md").read_text()


def test_report_shows_harness_errors_and_unfinished_runs(write_run, toy_root):
    folder = write_run("m", {SCALE: "harness_error"}, {"instances": [SCALE, STEP]})
    ended = run_cli("report", folder, "--benchmark", toy_root)
    assert ended.exit_code == 1
    for text in (ended.output, (folder / "report.md").read_text()):
        assert "HARNESS ERRORS: 1 of 1 verdicts of m" in text
        assert "would be 100.0 % if all of them had passed" in text
        assert "NOT FINISHED: 1 samples of m have no verdict yet" in text
        assert "0.0 % (0 to 79) !" in text


def test_report_shows_different_instances_and_versions(two, write_run, toy_root, tmp_path):
    old = write_run("old", {SCALE: "pass"}, {"benchmark": "0.3"})
    ended = run_cli("report", two[0], old, "--benchmark", toy_root, "--out", tmp_path / "out")
    assert ended.exit_code == 0, ended.output
    for text in (ended.output, *((tmp_path / "out" / name).read_text() for name in ("report.md", "report.html"))):
        assert "NOT THE SAME INSTANCES: good 2, old 1; 1 are in every run." in text
        assert "ANOTHER VERSION: old was judged on benchmark 0.3, this is 1.0." in text


def test_report_prints_json_with_every_breakdown(write_run, toy_root):
    ended = run_cli("report", write_run("m", {SCALE: "pass"}), "--benchmark", toy_root, "--json")
    found = json.loads(ended.output, parse_constant=pytest.fail)
    axes = {score["axis"] for score in found["runs"]["m"]["summary"]["scores"]}
    assert axes == {"all", *BREAKDOWNS}
    assert found["runs"]["m"]["usage"] is None


def test_by_option_has_every_breakdown():
    assert [str(one) for one in Breakdown] == list(BREAKDOWNS)


def test_documentation_example_runs(write_run, toy_root, tmp_path, monkeypatch, capsys):
    text = (Path(__file__).parent.parent.parent / "docs/scoring.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "runs").mkdir()
    for name in "ab":
        write_run(f"runs/{name}", {SCALE: "pass", STEP: "fail"})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DLBENCH_BENCHMARK", str(toy_root))
    exec(compile(example, "docs/scoring.md", "exec"), {})
    assert "kind='wilson'" in capsys.readouterr().out
