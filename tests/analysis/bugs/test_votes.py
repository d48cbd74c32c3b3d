"""Votes of rules, judge and people are kept apart and compared; a vote that cannot be counted is rejected."""

import json
import math
from dataclasses import replace

import pytest

from dlbench.analysis.bugs import read_categories
from dlbench.analysis.bugs.agreement import find_majority, measure_agreement, measure_alpha, read_votes
from dlbench.analysis.bugs.llm_judge import ANSWERS, ask_judge, choose_examples, parse_answer, write_question
from dlbench.errors import DLBenchError
from dlbench.generation import OpenAIModel
from tests.analysis.bugs.made import BODY, HEADER, make_failure
from tests.generation.endpoint import Endpoint, completion

SCALE = "toy/toy.core.scale"


@pytest.fixture
def failures(toy):
    return [make_failure(toy, HEADER + BODY)]


def test_votes_are_read_from_jsonl_and_csv_and_the_last_one_counts(toy, tmp_path):
    lines = [{"instance": SCALE, "sample": 0, "category": category} for category in ("performance", "silly_mistake")]
    (tmp_path / "ann.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "all.csv").write_text(f"run,instance,sample,category,annotator\nrun,{SCALE},0,wrong_attribute,ben\n")
    found = read_votes([tmp_path / "ann.jsonl", tmp_path / "all.csv"], [make_failure(toy, "")])
    assert found == {"ann": {f"run:{SCALE}#0": "silly_mistake"}, "ben": {f"run:{SCALE}#0": "wrong_attribute"}}


@pytest.mark.parametrize(
    "change",
    [
        {"category": "sily_mistake"},
        {"instance": "toy/nothing"},
        {"sample": 7},
        {"sample": "x"},
        {"run": "other"},
        {"mood": "bad"},
        {"category": None},
        {"instance": ""},
    ],
    ids=["category", "instance", "sample", "number", "run", "key", "no category", "no instance"],
)
def test_vote_that_cannot_be_counted_is_rejected_with_its_line(toy, tmp_path, change):
    path = tmp_path / "ann.jsonl"
    path.write_text(json.dumps({"instance": SCALE, "sample": 0, "category": "performance"} | change) + "\n")
    with pytest.raises(DLBenchError) as rejected:
        read_votes([path], [make_failure(toy, "")])
    assert rejected.value.where == f"{path}:1"


def test_vote_counts_for_the_named_sample_only(toy, tmp_path):
    failures = []
    for number in (1, 2):
        one = make_failure(toy, "")
        failures.append(replace(one, verdict={**one.verdict, "sample": number}))
    path = tmp_path / "ann.jsonl"
    for vote, message in (({"sample": 0}, "not a failure"), ({}, "`sample` is missing, and 2 samples of")):
        path.write_text(json.dumps({"instance": SCALE, "category": "performance"} | vote) + "\n")
        with pytest.raises(DLBenchError, match=message):
            read_votes([path], failures)
    assert read_votes([path], failures[:1]) == {"ann": {f"run:{SCALE}#1": "performance"}}


def test_vote_without_run_is_rejected_if_there_are_two_runs(toy, tmp_path):
    path = tmp_path / "ann.jsonl"
    path.write_text(json.dumps({"instance": SCALE, "sample": 0, "category": "performance"}) + "\n")
    with pytest.raises(DLBenchError, match="unnamed run"):
        read_votes([path], [make_failure(toy, ""), make_failure(toy, "", run="second")])


def test_agreement_matches_a_table_computed_by_hand():
    first = {"1": "a", "2": "a", "3": "b", "4": "b"}
    second = {"1": "a", "2": "b", "3": "b", "5": "a"}
    found = measure_agreement({"rules": first, "judge": second})
    (pair,) = found.pairs
    assert (pair.failures, pair.share) == (3, pytest.approx(2 / 3))
    assert pair.confusions == (("a", "b", 1),)
    # observed 2 of 6 pairable values disagree; expected (36 - 9 - 9) / 30 of 6
    assert pair.alpha == pytest.approx(1 - (2 / 6) / (18 / 30))
    assert measure_agreement({"rules": first, "judge": second, "person": {"5": "b", "6": "a"}}).failures == 4


def test_alpha_without_comparable_votes_is_nan():
    assert math.isnan(measure_alpha([{"1": "a"}, {"2": "b"}]))
    assert math.isnan(measure_alpha([{"1": "a"}, {"1": "a"}]))


@pytest.mark.parametrize(
    ("answer", "category"),
    [
        ('{"category": "silly_mistake", "reason": "no return"}', "silly_mistake"),
        ('Thinking {"category": "x"} …\n```json\n{"category": "performance", "reason": ""}\n```', "performance"),
        ("I think it is a constant_error.", "constant_error"),
        ("constant_error or performance", ""),
        ('{"category": ["performance", "constant_error"]}', ""),
        ("no idea", ""),
        ("", ""),
    ],
    ids=["object", "last object", "word", "two words", "a list", "nothing", "empty"],
)
def test_answer_is_a_vote_only_if_it_names_one_category(answer, category):
    assert parse_answer(answer).get("category", "") == category


def test_judge_gets_definitions_task_code_and_error(failures):
    question = write_question(failures[0])
    for category in read_categories().values():
        assert category.meaning in question
    assert failures[0].instance.prompt in question
    assert BODY in question
    assert "AssertionError" in question


def test_examples_are_of_other_instances_and_spread_over_categories(toy):
    """An example of the same instance would tell the judge the answer; a frequent category must not fill the list."""
    asked = make_failure(toy, HEADER + BODY)

    def rated(name, category):
        return replace(asked, instance=asked.instance.model_copy(update={"id": name}), code=f"{name}()"), category

    known = [
        (asked, "performance"),
        rated("a", "silly_mistake"),
        rated("b", "silly_mistake"),
        rated("c", "syntax_error"),
    ]
    examples = choose_examples(asked, known, 2)
    assert [category for _, category in examples] == ["silly_mistake", "syntax_error"]
    question = write_question(asked, examples)
    assert "a()" in question
    assert "People say: syntax_error" in question
    assert "People say: performance" not in question


def test_majority_of_people_leaves_out_a_tie():
    people = [{"1": "a", "2": "a", "3": "a"}, {"1": "a", "2": "b"}, {"1": "b"}]
    assert find_majority(people) == {"1": "a", "3": "a"}


def test_judge_is_asked_once_and_its_votes_are_stored(failures, tmp_path):
    answer = '{"category": "non_prompted", "certainty": 3, "reason": "why"}'
    with Endpoint(lambda number, body: completion(answer)) as endpoint:
        for _ in range(2):
            judged = ask_judge(OpenAIModel("judge", endpoint.url, "key"), failures, tmp_path)
    assert len(endpoint.requests) == 1
    assert dict(judged.votes) == dict(judged.certain) == {failures[0].id: "non_prompted"}
    assert judged.unreadable == 0
    assert (tmp_path / ANSWERS).is_file()


def test_vote_of_the_judge_does_not_carry_over_to_other_code(toy, failures, tmp_path):
    other = [make_failure(toy, f"{HEADER}    return []\n")]
    assert other[0].id == failures[0].id
    named = ["non_prompted", "silly_mistake"]
    with Endpoint(lambda number, body: completion(json.dumps({"category": named[number]}))) as endpoint:
        judged = [ask_judge(OpenAIModel("judge", endpoint.url, "key"), each, tmp_path) for each in (failures, other)]
        again = ask_judge(OpenAIModel("judge", endpoint.url, "key"), failures, tmp_path)
    assert [list(one.votes.values()) for one in (*judged, again)] == [[named[0]], [named[1]], [named[0]]]
    assert not judged[0].certain


def test_answer_without_a_category_is_counted_and_is_no_vote(failures, tmp_path):
    with Endpoint(lambda number, body: completion("I cannot say.")) as endpoint:
        judged = ask_judge(OpenAIModel("judge", endpoint.url, "key"), failures, tmp_path)
    assert (dict(judged.votes), judged.unreadable) == ({}, 1)
