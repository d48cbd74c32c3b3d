"""Upstream's answers become samples of the right instance, or are left out with a reason."""

import json

import pytest

from dlbench.analysis.official import find_files, read_files, repair_all
from dlbench.analysis.official.repairs import match_answers
from dlbench.errors import DLBenchError
from tests.analysis.official import write_official


@pytest.fixture
def repaired(tmp_path):
    write_official(tmp_path / "files", "toyhalve1.txt", path="toy/core.py#L3")
    write_official(
        tmp_path / "files", "classes-toyforward2.txt", function="forward", rest="class:A\n test_cases:tests/a.py::t"
    )
    write_official(
        tmp_path / "files", "classes-toyforward3.txt", function="forward", rest="class:B\n test_cases:tests/b.py::t"
    )
    return repair_all(read_files(find_files(tmp_path / "files")))


def answer(**fields):
    usual = {"result": "def …", "function_name": "halve", "ground_truth": "toy/core.py#L3", "test": "", "repo": "toy"}
    return usual | fields


def test_answer_is_matched_by_its_file_name(repaired, tmp_path):
    folder = tmp_path / "answers/output_x/toy"
    folder.mkdir(parents=True)
    (folder / "processed_classes-toyforward3.json").write_text(json.dumps({"result": "text", "function_name": "wrong"}))
    found = match_answers(tmp_path / "answers", repaired)
    assert found.samples == [{"instance": "toy/classes-toyforward3", "sample": 0, "answer": "text"}]


def test_folder_may_contain_json_and_jsonl(repaired, tmp_path):
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers/a.json").write_text(json.dumps(answer(result="first")))
    (tmp_path / "answers/b.jsonl").write_text(json.dumps(answer(result="second")) + "\n")
    found = match_answers(tmp_path / "answers", repaired)
    assert [one["answer"] for one in found.samples] == ["first", "second"]


def test_answers_in_one_file_are_matched_by_fields_and_numbered(repaired, tmp_path):
    path = tmp_path / "answers.jsonl"
    records = [
        answer(result="1"),
        answer(result="2", repo="Toy"),
        answer(**{"function_name": "forward", "class": "B", "ground_truth": "toy/core.py"}),
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    found = match_answers(path, repaired)
    keys = [(one["instance"], one["sample"]) for one in found.samples]
    assert keys == [("toy/toyhalve1", 0), ("toy/toyhalve1", 1), ("toy/classes-toyforward3", 0)]
    assert found.left_out == []


def test_tests_distinguish_methods_without_a_class(repaired, tmp_path):
    path = tmp_path / "answers.json"
    path.write_text(json.dumps([answer(function_name="forward", ground_truth="toy/core.py", test="tests/a.py::t")]))
    assert match_answers(path, repaired).samples[0]["instance"] == "toy/classes-toyforward2"


def test_answer_that_fits_none_or_several_is_left_out(repaired, tmp_path):
    path = tmp_path / "answers.json"
    path.write_text(
        json.dumps([answer(function_name="gone"), answer(function_name="forward", ground_truth="toy/core.py")])
    )
    found = match_answers(path, repaired)
    assert found.samples == []
    assert [why.partition(":")[0] for _, why in found.left_out] == ["fits no instance", "fits several"]


@pytest.mark.parametrize("text", ["{", '[{"function_name": "halve"}]', "[1]", '[{"result": "x", "repo": 3}]', "[]"])
def test_invalid_answer_is_rejected(repaired, tmp_path, text):
    path = tmp_path / "answers.json"
    path.write_text(text)
    with pytest.raises(DLBenchError):
        match_answers(path, repaired)
