"""Answers of a file are returned unchanged; missing ones are an error."""

import asyncio
import json
from pathlib import Path

import pytest

from dlbench.errors import DLBenchError
from dlbench.extraction import extract
from dlbench.generation import Answer, Request, generate
from dlbench.generation.file_model import FileModel

from .test_sampling import INSTANCES, REQUESTED, keys, lines, request_of


def make(path: Path, *records: object) -> FileModel:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return FileModel(path)


def ask(model: FileModel, sample: int = 0, turn: int = 0) -> Answer:
    return asyncio.run(model.answer(Request("a/b", sample, [], turn=turn)))


def test_answers_are_those_of_the_file(tmp_path: Path) -> None:
    records = [{"instance": i, "sample": s, "answer": f"{i} {s}", "usage": {"prompt_tokens": 1}} for i, s in REQUESTED]
    model = make(tmp_path / "a.jsonl", *reversed(records))
    assert model.name == "file:a.jsonl"
    out = tmp_path / "run" / "samples.jsonl"
    generate(model, INSTANCES, request_of, out, 2, 4, lambda _: None)
    assert keys(out) == REQUESTED
    assert [record["answer"] for record in lines(out)] == [record["answer"] for record in records]
    assert lines(out)[0]["usage"] == {"prompt_tokens": 1}


def test_bare_code_is_extracted_as_code(tmp_path: Path) -> None:
    model = make(tmp_path / "a.jsonl", {"instance": "a/b", "code": "def f():\n    return '```'\n"})
    answer = ask(model)
    assert extract(answer.text, "f").code.strip() == "def f():\n    return '```'"


def test_samples_without_an_index_are_numbered(tmp_path: Path) -> None:
    model = make(tmp_path / "a.jsonl", *({"instance": "a/b", "answer": str(n)} for n in range(3)))
    answers = [ask(model, n).text for n in range(3)]
    assert answers == ["0", "1", "2"]


def test_each_turn_gets_its_own_answer(tmp_path: Path) -> None:
    record = {"instance": "a/b", "sample": 0, "answer": "code", "earlier_turns": [{"answer": "plan"}]}
    model = make(tmp_path / "a.jsonl", record)
    answers = [ask(model, turn=turn).text for turn in range(2)]
    assert answers == ["plan", "code"]


@pytest.mark.parametrize("earlier", [[], [{"answer": "plan"}]])
def test_usage_is_reported_once_for_all_turns(tmp_path: Path, earlier: list[object]) -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    record = {"instance": "a/b", "answer": "code", "earlier_turns": earlier, "usage": usage}
    model = make(tmp_path / "a.jsonl", record)
    usages = [ask(model, turn=turn).usage for turn in range(2)]
    assert sorted(usages, key=len) == [{}, usage]


def test_null_fields_have_defaults(tmp_path: Path) -> None:
    """Exported tables contain null for empty columns."""
    nulls = dict.fromkeys(("usage", "finish_reason", "reasoning", "earlier_turns", "seconds", "code"))
    model = make(tmp_path / "a.jsonl", *({"instance": i, "sample": s, "answer": "x"} | nulls for i, s in REQUESTED))
    out = tmp_path / "run" / "samples.jsonl"
    generate(model, INSTANCES, request_of, out, 2, 4, lambda _: None)
    assert keys(out) == REQUESTED
    assert {(one["answer"], str(one["usage"]), one["finish_reason"]) for one in lines(out)} == {("x", "{}", "stop")}
    assert "reasoning" not in lines(out)[0]
    model = make(tmp_path / "b.jsonl", {"instance": "a/b", "answer": None, "code": "f = 1"})
    assert extract(ask(model).text, "f").code == "f = 1"


def test_missing_sample_is_named(tmp_path: Path) -> None:
    model = make(tmp_path / "a.jsonl", {"instance": "a/b", "answer": "x"})
    with pytest.raises(DLBenchError, match="there is no sample 1 of a/b"):
        ask(model, 1)


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
def test_invalid_line_is_named_by_its_number(record: object, tmp_path: Path) -> None:
    with pytest.raises(DLBenchError) as caught:
        make(tmp_path / "a.jsonl", {"instance": "a/b", "answer": "x"}, record)
    assert caught.value.where.endswith("a.jsonl:2")


def test_answers_of_two_models_are_refused(tmp_path: Path) -> None:
    one, two = ({"instance": "a/b", "answer": "x", "model": name} for name in ("one", "two"))
    with pytest.raises(DLBenchError, match="an answer of the model two in a file of one"):
        make(tmp_path / "a.jsonl", one, two)


def test_duplicate_sample_and_missing_file_are_refused(tmp_path: Path) -> None:
    twice = {"instance": "a/b", "sample": 0, "answer": "x"}
    with pytest.raises(DLBenchError, match="given twice"):
        make(tmp_path / "a.jsonl", twice, twice)
    with pytest.raises(DLBenchError, match="no such file"):
        FileModel(tmp_path / "none.jsonl")
