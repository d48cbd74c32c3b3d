"""Answers from a file are what stands there; what is not there is not made up."""

import asyncio
import json
from pathlib import Path

import pytest

from dlbench.errors import DLBenchError
from dlbench.extraction import extract
from dlbench.generation import FileModel, Request, generate

from .test_sampling import INSTANCES, WANTED, keys, lines, request_of


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_file_gives_back_what_it_holds(tmp_path: Path) -> None:
    records = [{"instance": i, "sample": s, "answer": f"{i} {s}", "usage": {"prompt_tokens": 1}} for i, s in WANTED]
    model = FileModel(write(tmp_path / "a.jsonl", *reversed(records)))
    assert model.name == "file:a.jsonl"
    out = tmp_path / "run" / "samples.jsonl"
    generate(model, INSTANCES, request_of, out, 2, 4, lambda _: None)
    assert keys(out) == WANTED
    assert [record["answer"] for record in lines(out)] == [record["answer"] for record in records]
    assert lines(out)[0]["usage"] == {"prompt_tokens": 1}


def test_bare_code_is_taken_as_code(tmp_path: Path) -> None:
    model = FileModel(write(tmp_path / "a.jsonl", {"instance": "toy/toy.f", "code": "def f():\n    return '```'\n"}))
    answer = asyncio.run(model.answer(Request("toy/toy.f", 0, [])))
    assert extract(answer.text, "f").code.strip() == "def f():\n    return '```'"


def test_samples_without_a_number_are_counted(tmp_path: Path) -> None:
    model = FileModel(write(tmp_path / "a.jsonl", *({"instance": "a/b", "answer": str(n)} for n in range(3))))
    answers = [asyncio.run(model.answer(Request("a/b", n, []))).text for n in range(3)]
    assert answers == ["0", "1", "2"]


def test_each_turn_gets_its_own_answer(tmp_path: Path) -> None:
    record = {"instance": "a/b", "sample": 0, "answer": "code", "earlier_turns": [{"answer": "plan"}]}
    model = FileModel(write(tmp_path / "a.jsonl", record))
    answers = [asyncio.run(model.answer(Request("a/b", 0, [], turn=turn))).text for turn in range(2)]
    assert answers == ["plan", "code"]


@pytest.mark.parametrize("earlier", [[], [{"answer": "plan"}]])
def test_usage_is_told_once_in_however_many_turns_a_file_is_asked(tmp_path: Path, earlier: list[object]) -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    record = {"instance": "a/b", "answer": "code", "earlier_turns": earlier, "usage": usage}
    model = FileModel(write(tmp_path / "a.jsonl", record))
    told = [asyncio.run(model.answer(Request("a/b", 0, [], turn=turn))).usage for turn in range(2)]
    assert sorted(told, key=len) == [{}, usage]


def test_what_a_record_says_with_null_is_not_said(tmp_path: Path) -> None:
    """Tables are written out with nulls where a column has no value; asked in a run, they ended in a traceback."""
    nothing = dict.fromkeys(("usage", "finish_reason", "reasoning", "earlier_turns", "seconds", "code"))
    file = write(tmp_path / "a.jsonl", *({"instance": i, "sample": s, "answer": "x"} | nothing for i, s in WANTED))
    out = tmp_path / "run" / "samples.jsonl"
    generate(FileModel(file), INSTANCES, request_of, out, 2, 4, lambda _: None)
    assert keys(out) == WANTED
    assert [(one["answer"], one["usage"], one["finish_reason"]) for one in lines(out)] == [("x", {}, "stop")] * len(
        WANTED
    )
    assert "reasoning" not in lines(out)[0]
    model = FileModel(write(tmp_path / "b.jsonl", {"instance": "a/b", "answer": None, "code": "f = 1"}))
    assert extract(asyncio.run(model.answer(Request("a/b", 0, []))).text, "f").code == "f = 1"


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    model = FileModel(write(tmp_path / "a.jsonl", {"instance": "a/b", "answer": "x"}))
    with pytest.raises(DLBenchError, match="holds no sample 1 of a/b"):
        asyncio.run(model.answer(Request("a/b", 1, [])))


@pytest.mark.parametrize(
    "record",
    [
        {"instance": "a/b"},
        {"answer": "x"},
        {"instance": 1, "answer": "x"},
        {"instance": "a", "answer": None},
        {"instance": "a", "answer": "x", "earlier_turns": "plan"},
        {"instance": "a", "answer": "x", "earlier_turns": [{"text": "plan"}]},
    ],
)
def test_a_line_that_is_no_sample_is_named_by_its_number(record: object, tmp_path: Path) -> None:
    with pytest.raises(DLBenchError) as caught:
        FileModel(write(tmp_path / "a.jsonl", {"instance": "a/b", "answer": "x"}, record))
    assert caught.value.where.endswith("a.jsonl:2")


def test_answers_of_two_models_are_not_one_model(tmp_path: Path) -> None:
    one, two = ({"instance": "a/b", "answer": "x", "model": name} for name in ("one", "two"))
    with pytest.raises(DLBenchError, match="another model than before: two, not one"):
        FileModel(write(tmp_path / "a.jsonl", one, two))


def test_a_sample_given_twice_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    twice = {"instance": "a/b", "sample": 0, "answer": "x"}
    with pytest.raises(DLBenchError, match="given twice"):
        FileModel(write(tmp_path / "a.jsonl", twice, twice))
    with pytest.raises(DLBenchError, match="no such file"):
        FileModel(tmp_path / "none.jsonl")
