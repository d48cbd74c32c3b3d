"""What rules, a model and people say is kept apart and compared; a vote that cannot be counted is refused."""

import json
import math
from dataclasses import replace

import pytest

from dlbench.analysis.bugs.agreement import agree, measure_alpha, read_people
from dlbench.analysis.bugs.explain import Explained
from dlbench.analysis.bugs.llm_judge import ANSWERS, ask_judge, read_answer, write_question
from dlbench.analysis.bugs.rules import classify
from dlbench.analysis.bugs.taxonomy import read_categories
from dlbench.errors import DLBenchError
from dlbench.generation import OpenAIModel
from tests.analysis.bugs.made import BODY, HEADER, find_evidence, make_failure
from tests.generation.endpoint import Endpoint, completion

SCALE = "toy/toy.core.scale"


@pytest.fixture
def explained(toy):
    code = HEADER + BODY
    evidence = find_evidence(toy, code)
    return [Explained(make_failure(toy, code), evidence, classify(evidence))]


def test_votes_of_people_are_read_from_jsonl_and_csv_and_the_last_word_counts(toy, tmp_path):
    lines = [{"instance": SCALE, "sample": 0, "category": category} for category in ("performance", "silly_mistake")]
    (tmp_path / "ann.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "all.csv").write_text(f"run,instance,sample,category,annotator\nrun,{SCALE},0,wrong_attribute,ben\n")
    found = read_people([tmp_path / "ann.jsonl", tmp_path / "all.csv"], [make_failure(toy, "")])
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
def test_a_vote_that_cannot_be_counted_is_refused_by_line(toy, tmp_path, change):
    path = tmp_path / "ann.jsonl"
    path.write_text(json.dumps({"instance": SCALE, "sample": 0, "category": "performance"} | change) + "\n")
    with pytest.raises(DLBenchError) as refused:
        read_people([path], [make_failure(toy, "")])
    assert refused.value.where == f"{path}:1"


def test_a_vote_means_the_sample_that_it_names_and_no_other(toy, tmp_path):
    failures = []
    for number in (1, 2):
        one = make_failure(toy, "")
        failures.append(replace(one, verdict={**one.verdict, "sample": number}))
    path = tmp_path / "ann.jsonl"
    for vote, message in (({"sample": 0}, "no failure"), ({}, "there is no sample, and 2 of")):
        path.write_text(json.dumps({"instance": SCALE, "category": "performance"} | vote) + "\n")
        with pytest.raises(DLBenchError, match=message):
            read_people([path], failures)
    assert read_people([path], failures[:1]) == {"ann": {f"run:{SCALE}#1": "performance"}}


def test_a_vote_without_a_run_is_refused_where_there_are_two(toy, tmp_path):
    path = tmp_path / "ann.jsonl"
    path.write_text(json.dumps({"instance": SCALE, "sample": 0, "category": "performance"}) + "\n")
    with pytest.raises(DLBenchError, match="unnamed run"):
        read_people([path], [make_failure(toy, ""), make_failure(toy, "", run="second")])


def test_agreement_is_that_of_a_table_worked_out_by_hand():
    first = {"1": "a", "2": "a", "3": "b", "4": "b"}
    second = {"1": "a", "2": "b", "3": "b", "5": "a"}
    found = agree({"rules": first, "judge": second})
    (pair,) = found.pairs
    assert (pair.failures, pair.share) == (3, pytest.approx(2 / 3))
    assert pair.confusions == (("a", "b", 1),)
    # observed 2 of 6 pairable values disagree; expected (36 - 9 - 9) / 30 of 6
    assert pair.alpha == pytest.approx(1 - (2 / 6) / (18 / 30))
    assert agree({"rules": first, "judge": second, "person": {"5": "b", "6": "a"}}).failures == 4


def test_an_alpha_that_says_nothing_is_no_number():
    assert math.isnan(measure_alpha([{"1": "a"}, {"2": "b"}]))
    assert math.isnan(measure_alpha([{"1": "a"}, {"1": "a"}]))


@pytest.mark.parametrize(
    ("answer", "category"),
    [
        ('{"category": "silly_mistake", "reason": "no return"}', "silly_mistake"),
        ('Thinking {"category": "x"} …\n```json\n{"category": "performance", "reason": ""}\n```', "performance"),
        ("I think it is a constant_error.", "constant_error"),
        ("constant_error or performance", ""),
        ("no idea", ""),
        ("", ""),
    ],
    ids=["object", "last object", "word", "two words", "nothing", "empty"],
)
def test_an_answer_is_a_vote_only_where_it_names_one_category(answer, category):
    assert read_answer(answer)[0] == category


def test_the_judge_is_told_what_the_rules_were_told(explained):
    asked = write_question(explained[0])
    for category in read_categories().values():
        assert category.meaning in asked
    assert explained[0].failure.prompt in asked
    assert BODY in asked
    assert "AssertionError" in asked


def test_a_judge_is_asked_once_and_its_votes_are_kept(explained, tmp_path):
    with Endpoint(lambda number, body: completion('{"category": "non_prompted", "reason": "why"}')) as endpoint:
        for _ in range(2):
            judged = ask_judge(OpenAIModel("judge", endpoint.url, "key"), explained, tmp_path)
    assert len(endpoint.requests) == 1
    assert dict(judged.votes) == {explained[0].failure.id: "non_prompted"}
    assert judged.unreadable == 0
    assert (tmp_path / ANSWERS).is_file()


def test_a_judge_s_vote_on_code_that_is_gone_is_no_vote_on_what_stands_in_its_place(toy, explained, tmp_path):
    code = f"{HEADER}    return []\n"
    evidence = find_evidence(toy, code)
    anew = [Explained(make_failure(toy, code), evidence, classify(evidence))]
    assert anew[0].failure.id == explained[0].failure.id
    said = ["non_prompted", "silly_mistake"]
    with Endpoint(lambda number, body: completion(json.dumps({"category": said[number]}))) as endpoint:
        asked = [ask_judge(OpenAIModel("judge", endpoint.url, "key"), each, tmp_path) for each in (explained, anew)]
        again = ask_judge(OpenAIModel("judge", endpoint.url, "key"), explained, tmp_path)
    assert [list(one.votes.values()) for one in (*asked, again)] == [[said[0]], [said[1]], [said[0]]]


def test_an_answer_that_names_nothing_is_counted_and_no_vote(explained, tmp_path):
    with Endpoint(lambda number, body: completion("I cannot say.")) as endpoint:
        judged = ask_judge(OpenAIModel("judge", endpoint.url, "key"), explained, tmp_path)
    assert (dict(judged.votes), judged.unreadable) == ({}, 1)
