"""One command says which kinds of bugs a run has; another plants known ones, to see how far to trust it."""

import json

import pytest

from tests.analysis.bugs.made import BODY, HEADER
from tests.cli.test_analyze import read_pictures
from tests.cli.test_compare import SCALE, STEP, ask, write_run  # noqa: F401 - fixtures
from tests.generation.endpoint import Endpoint, completion


@pytest.fixture
def failed(write_run):  # noqa: F811
    samples = [
        {"instance": SCALE, "sample": 0, "code": HEADER + BODY},
        {"instance": STEP, "sample": 0, "code": "def step(self): pass"},
    ]
    return write_run("mine", {SCALE: "fail", STEP: "pass"}, samples=samples)


def test_kinds_of_bugs_stand_beside_the_papers_and_are_drawn(failed, toy_root, tmp_path):
    ended = ask(
        "analyze", "bugs", failed, "--benchmark", toy_root, "--out", tmp_path / "out", "--pictures", tmp_path / "svg"
    )
    assert ended.exit_code == 0, ended.output
    assert "the papers (GPT-4o)" in ended.output
    assert "120 (29 %)" in ended.output
    (record,) = [json.loads(line) for line in (tmp_path / "out/failures.jsonl").open()]
    assert (record["run"], record["instance"], record["sample"]) == ("mine", SCALE, 0)
    assert record["reasons"]
    assert record["evidence"]["raised"]["text"] == "disk full"
    assert "| misinterpretation |" in (tmp_path / "out/bugs.md").read_text()
    assert "syntax error" in read_pictures(tmp_path / "svg")["bugs"]


def test_a_project_that_is_not_prepared_is_named(failed, toy_root, monkeypatch, tmp_path):
    monkeypatch.setenv("DLBENCH_HOME", str(tmp_path / "empty"))
    ended = ask("analyze", "bugs", failed, "--benchmark", toy_root)
    assert ended.exit_code == 0, ended.output
    assert "NOT COMPARED with references, which are not prepared here: toy" in ended.output


def test_our_own_faults_are_no_bugs_of_the_model(write_run, toy_root):  # noqa: F811
    run = write_run("mine", {SCALE: "fail", STEP: "harness_error"})
    ended = ask("analyze", "bugs", run, "--benchmark", toy_root)
    assert "HARNESS ERRORS: 1 verdicts of mine" in ended.output
    assert "the folder has no samples" in ended.output


@pytest.mark.parametrize("statuses", [{SCALE: "pass"}, {}], ids=["all passed", "empty"])
def test_a_run_without_failures_is_refused_in_plain_words(statuses, write_run, toy_root):  # noqa: F811
    ended = ask("analyze", "bugs", write_run("mine", statuses), "--benchmark", toy_root)
    assert ended.exit_code == 1
    assert "there is no failure to look at" in ended.output


def test_votes_that_are_not_utf_8_are_refused_in_plain_words(failed, toy_root, tmp_path):
    (tmp_path / "votes.csv").write_bytes(b"instance,category\n\xff\xfe,x\n")
    ended = ask("analyze", "bugs", failed, "--benchmark", toy_root, "--votes", tmp_path / "votes.csv")
    assert ended.exit_code == 1
    assert "cannot be read" in ended.output


def test_a_judge_needs_a_place_for_its_votes(failed, toy_root):
    ended = ask("analyze", "bugs", failed, "--benchmark", toy_root, "--judge", "some-model")
    assert ended.exit_code == 1
    assert "give a folder as --out" in ended.output


def test_rules_judge_and_people_are_compared(failed, toy_root, tmp_path):
    votes = tmp_path / "ann.jsonl"
    votes.write_text(json.dumps({"instance": SCALE, "sample": 0, "category": "missing_corner_case"}) + "\n")
    with Endpoint(lambda number, body: completion('{"category": "silly_mistake", "reason": "why"}')) as endpoint:
        asked = (
            "analyze", "bugs", failed, "--benchmark", toy_root, "--votes", votes, "--out", tmp_path / "out",
            "--judge", "some-model", "--base-url", endpoint.url, "--api-key", "key",
        )  # fmt: skip
        ended, shown = ask(*asked, "--json"), ask(*asked)
    assert ended.exit_code == shown.exit_code == 0, ended.output
    found = json.loads(ended.stdout, parse_constant=pytest.fail)
    pairs = {(one["a"], one["b"]): one["share"] for one in found["agreement"]["pairs"]}
    assert pairs["judge", "person ann"] == 0
    assert set(pairs) == {("rules", "judge"), ("rules", "person ann"), ("judge", "person ann")}
    failure = f"mine:{SCALE}#0"
    assert found["votes"]["judge"] == {failure: "silly_mistake"}
    assert found["votes"]["person ann"] == {failure: "missing_corner_case"}
    assert found["judge_reasons"] == {failure: "why"}
    told = (tmp_path / "out/bugs.md").read_text()
    assert "| silly mistake | 0 (0 %) | 1 (100 %) | 0 (0 %) |" in told
    assert "| all raters |" in told
    assert "kinds of bugs, by rater" in shown.output
    assert (tmp_path / "out/judge-some-model/samples.jsonl").is_file()


def test_a_judge_can_be_asked_for_the_rest_only(failed, toy_root, tmp_path):
    asked = ("analyze", "bugs", failed, "--benchmark", toy_root, "--out", tmp_path / "out", "--json")
    confidences = [one["confidence"] for one in json.loads(ask(*asked).stdout)["failures"]]
    limit = max(confidences) + 0.001
    with Endpoint(lambda number, body: completion('{"category": "silly_mistake"}')) as endpoint:
        judge = ("--judge", "some-model", "--base-url", endpoint.url, "--api-key", "key", "--judge-below")
        ended = ask(*asked, *judge, limit)
        assert ended.exit_code == 0, ended.output
        assert len(endpoint.requests) == sum(one < limit for one in confidences)
        assert "of which the rules are least sure" not in ended.output
        assert "confident of every failure" in ask(*asked, *judge, 0).output


def test_what_a_judge_says_of_the_rest_only_is_told_to_be_about_them(write_run, toy_root, tmp_path):  # noqa: F811
    """Its figures would otherwise stand beside the rules' on all failures, though it was given the hard ones."""
    samples = [{"instance": SCALE, "sample": 0, "code": HEADER + BODY}, {"instance": STEP, "sample": 0, "code": "def"}]
    run = write_run("mine", {SCALE: "fail", STEP: "syntax_error"}, samples=samples)
    asked = ("analyze", "bugs", run, "--benchmark", toy_root, "--out", tmp_path / "out")
    low, high = sorted(one["confidence"] for one in json.loads(ask(*asked, "--json").stdout)["failures"])
    with Endpoint(lambda number, body: completion('{"category": "silly_mistake"}')) as endpoint:
        judge = ("--judge", "some-model", "--base-url", endpoint.url, "--api-key", "key", "--judge-below")
        ended = ask(*asked, *judge, (low + high) / 2)
    told = "the judge was asked about 1 of 2 failures, those of which the rules are least sure"
    assert told in " ".join(ended.output.split())


@pytest.mark.slow
def test_planted_bugs_are_judged_and_the_rules_are_measured_on_them(toy_root, tmp_path):
    out = tmp_path / "planted"
    ended = ask("analyze", "plant-bugs", "--benchmark", toy_root, "--out", out, "--instance", SCALE, "--seed", "3")
    assert ended.exit_code == 0, ended.output
    assert (out / "planted.jsonl").is_file()
    ended = ask("analyze", "bugs", out, "--benchmark", toy_root, "--half", "all", "--json")
    measured = json.loads(ended.stdout)["measured"]
    assert measured["failures"] >= 5
    assert measured["accuracy"] >= 0.75
    verdicts = [json.loads(line) for line in (out / "verdicts.jsonl").read_text().splitlines()]
    failed = {one["sample"] for one in verdicts if one["status"] != "pass"}
    planted = [json.loads(line) for line in (out / "planted.jsonl").read_text().splitlines()]
    categories = [one["category"] for one in planted if one["sample"] in failed]
    with Endpoint(lambda number, body: completion(json.dumps({"category": categories[0]}))) as endpoint:
        judge = ("--judge", "some-model", "--base-url", endpoint.url, "--api-key", "key", "--out", tmp_path / "out")
        ended = ask("analyze", "bugs", out, "--benchmark", toy_root, "--half", "all", *judge)
    told = f"judge names the planted category of {categories.count(categories[0])} of {len(categories)} failures"
    assert told in " ".join(ended.output.split())
