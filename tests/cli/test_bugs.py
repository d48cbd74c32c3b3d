"""`analyze bugs` counts the kinds of bugs of a run and compares the rules with a judge and people."""

import json

import pytest

from tests.analysis.bugs.made import BODY, HEADER
from tests.cli.test_analyze import read_plots
from tests.cli.test_compare import SCALE, STEP, run_cli, write_run  # noqa: F401 - fixtures
from tests.generation.endpoint import Endpoint, completion


@pytest.fixture
def failed(write_run):  # noqa: F811
    samples = [
        {"instance": SCALE, "sample": 0, "code": HEADER + BODY},
        {"instance": STEP, "sample": 0, "code": "def step(self): pass"},
    ]
    return write_run("mine", {SCALE: "fail", STEP: "pass"}, samples=samples)


def test_kinds_of_bugs_are_shown_next_to_the_papers_and_plotted(failed, toy_root, tmp_path):
    ended = run_cli(
        "analyze", "bugs", failed, "--benchmark", toy_root, "--out", tmp_path / "out", "--plots", tmp_path / "svg"
    )
    assert ended.exit_code == 0, ended.output
    assert "the papers (GPT-4o)" in ended.output
    assert "120 (29 %)" in ended.output
    (record,) = [json.loads(line) for line in (tmp_path / "out/failures.jsonl").open()]
    assert (record["run"], record["instance"], record["sample"]) == ("mine", SCALE, 0)
    assert record["category"] is None
    assert "disk full" in record["message"]
    assert "| not classified | 1 (100 %) |" in (tmp_path / "out/bugs.md").read_text()
    assert "1 of 1 failures are not classified" in " ".join(ended.output.split())
    assert "syntax error" in read_plots(tmp_path / "svg")["bugs"]


def test_harness_errors_are_left_out(write_run, toy_root):  # noqa: F811
    run = write_run("mine", {SCALE: "fail", STEP: "harness_error"})
    ended = run_cli("analyze", "bugs", run, "--benchmark", toy_root)
    assert "HARNESS ERRORS: 1 verdicts of mine" in ended.output
    assert "the folder has no samples" in ended.output


@pytest.mark.parametrize("statuses", [{SCALE: "pass"}, {}], ids=["all passed", "empty"])
def test_run_without_failures_is_rejected(statuses, write_run, toy_root):  # noqa: F811
    ended = run_cli("analyze", "bugs", write_run("mine", statuses), "--benchmark", toy_root)
    assert ended.exit_code == 1
    assert "there are no failures" in ended.output


def test_votes_that_are_not_utf_8_are_rejected(failed, toy_root, tmp_path):
    (tmp_path / "votes.csv").write_bytes(b"instance,category\n\xff\xfe,x\n")
    ended = run_cli("analyze", "bugs", failed, "--benchmark", toy_root, "--votes", tmp_path / "votes.csv")
    assert ended.exit_code == 1
    assert "cannot be read" in ended.output


def test_judge_requires_out(failed, toy_root):
    ended = run_cli("analyze", "bugs", failed, "--benchmark", toy_root, "--judge", "some-model")
    assert ended.exit_code == 1
    assert "give a folder as --out" in ended.output


def test_agreement_of_rules_judge_and_people_is_shown(failed, toy_root, tmp_path):
    votes = tmp_path / "ann.jsonl"
    votes.write_text(json.dumps({"instance": SCALE, "sample": 0, "category": "missing_corner_case"}) + "\n")
    with Endpoint(lambda number, body: completion('{"category": "silly_mistake", "reason": "why"}')) as endpoint:
        arguments = (
            "analyze", "bugs", failed, "--benchmark", toy_root, "--votes", votes, "--out", tmp_path / "out",
            "--judge", "some-model", "--base-url", endpoint.url, "--api-key", "key",
        )  # fmt: skip
        ended, shown = run_cli(*arguments, "--json"), run_cli(*arguments)
    assert ended.exit_code == shown.exit_code == 0, ended.output
    found = json.loads(ended.stdout, parse_constant=pytest.fail)
    pairs = {(one["a"], one["b"]): one["share"] for one in found["agreement"]["pairs"]}
    assert pairs["judge", "person ann"] == 0
    assert {name for pair in pairs for name in pair} == {
        "rules", "judge", "judge, where certain", "person ann",
    }  # fmt: skip
    failure = f"mine:{SCALE}#0"
    assert found["votes"]["judge"] == {failure: "silly_mistake"}
    assert found["votes"]["person ann"] == {failure: "missing_corner_case"}
    assert found["failures"][0]["reason"] == "why"
    markdown = (tmp_path / "out/bugs.md").read_text()
    assert "| silly mistake | 0 | 1 (100 %) | 0 | 0 (0 %) |" in markdown
    assert "| all raters |" in markdown
    assert "kinds of bugs, by rater" in shown.output
    assert (tmp_path / "out/judge-some-model/samples.jsonl").is_file()


def test_judge_sees_what_people_said_of_other_failures(write_run, toy_root, tmp_path):  # noqa: F811
    samples = [
        {"instance": SCALE, "sample": 0, "code": HEADER + BODY},
        {"instance": STEP, "sample": 0, "code": "x = 1"},
    ]
    run = write_run("mine", {SCALE: "fail", STEP: "fail"}, samples=samples)
    votes = tmp_path / "ann.jsonl"
    votes.write_text(json.dumps({"instance": STEP, "sample": 0, "category": "constant_error"}) + "\n")
    with Endpoint(lambda number, body: completion('{"category": "silly_mistake", "certainty": 3}')) as endpoint:
        arguments = (
            "analyze", "bugs", run, "--benchmark", toy_root, "--votes", votes, "--out", tmp_path / "out",
            "--judge", "some-model", "--base-url", endpoint.url, "--api-key", "key",
        )  # fmt: skip
        ended = run_cli(*arguments)
        assert ended.exit_code == 0, ended.output
        asked = [request["messages"][0]["content"] for request in endpoint.requests]
    assert sorted("People say: constant_error" in text for text in asked) == [False, True]
    assert "kinds of bugs, by the judge" in ended.output
    assert "| silly mistake | 2 (100 %) |" in (tmp_path / "out/bugs.md").read_text()
