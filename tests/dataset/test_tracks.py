"""Records of tasks of many files: what is wrong with one is reported with the fix, and the seal covers them."""

import json
from pathlib import Path

import pytest

from dlbench.dataset import Kind, load
from dlbench.dataset.file_task import Rebuild
from dlbench.dataset.tracks import find_labels, name_file, read_tasks, write_task
from dlbench.dataset.validation import CHANGED, check_records, check_seal, seal
from dlbench.errors import DLBenchError

RECORD = Rebuild(
    id="toy/rebuild-toy.core",
    project="toy",
    version="1.0",
    files=("toy/core.py",),
    kept=("toy/core.py::Counter.step",),
    visible=("tests/test_core.py::test_a",),
    hidden=tuple(f"tests/test_core.py::test_{number}" for number in range(10)),
    lines=100,
    definitions=10,
    sha256="0" * 64,
)


@pytest.fixture
def path(toy_root: Path) -> Path:
    return write_task(toy_root, RECORD)


def test_labels_are_those_of_most_functions_inside(toy_root: Path) -> None:
    scale, step = load(toy_root).instances.values()
    other = scale.model_copy(update={"labels": scale.labels.model_copy(update={"stage": "training"})})
    elsewhere = other.model_copy(update={"path": "toy/other.py"})
    rest = {"task": "general", "data": "structured_array"}
    assert find_labels(RECORD, [scale, step, other]) == {"stage": "pre_post_processing", **rest}
    assert find_labels(RECORD, [scale, other, elsewhere]) == rest
    assert find_labels(RECORD, [elsewhere]) == {}


def change(path: Path, **fields: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_a_record_is_read_as_it_was_written(path: Path, toy_root: Path) -> None:
    assert read_tasks(toy_root) == {RECORD.id: RECORD}
    assert check_records(toy_root)[1] == []


@pytest.mark.parametrize(
    ("fields", "kind", "what"),
    [
        ({"hidden": ["tests/test_core.py::test_b"]}, Kind.MALFORMED_RECORD, "1 hidden tests, fewer than 10"),
        ({"visible": [RECORD.hidden[0]]}, Kind.MALFORMED_RECORD, "is in two of visible, hidden and unchanged"),
        ({"kept": ["toy/other.py::f"]}, Kind.MALFORMED_RECORD, "in no file that is reduced"),
        ({"files": ["../core.py"], "kept": []}, Kind.MALFORMED_RECORD, "not a relative path"),
        ({"files": ["toy/core.c"], "kept": []}, Kind.MALFORMED_RECORD, "not a Python file"),
        ({"hidden": [*RECORD.hidden, RECORD.hidden[0]]}, Kind.MALFORMED_RECORD, "listed twice"),
        ({"id": "other/rebuild-toy.core"}, Kind.MALFORMED_RECORD, "does not read toy/rebuild-"),
        ({"id": "toy/rebuild-toy"}, Kind.MALFORMED_RECORD, "another file name"),
        ({"surprise": 1}, Kind.MALFORMED_RECORD, "surprise"),
        ({"version": "1.1"}, Kind.SOURCE_MISMATCH, "made from 1.1"),
    ],
)
def test_what_is_wrong_with_a_record_is_reported(
    path: Path, toy_root: Path, fields: dict[str, object], kind: Kind, what: str
) -> None:
    change(path, **fields)
    (problem,) = check_records(toy_root)[1]
    assert problem.kind is kind
    assert problem.where == f"rebuilds/{path.name}"
    assert what in problem.what
    assert problem.fix


def test_a_task_of_an_unknown_project_is_reported(path: Path, toy_root: Path) -> None:
    record = RECORD.model_copy(update={"id": "nobody/rebuild-x", "project": "nobody"})
    path.unlink()
    write_task(toy_root, record)
    (problem,) = check_records(toy_root)[1]
    assert problem.kind is Kind.UNKNOWN_PROJECT


def test_commands_refuse_a_malformed_record(path: Path, toy_root: Path) -> None:
    change(path, lines=0)
    with pytest.raises(DLBenchError, match="lines"):
        read_tasks(toy_root)


def test_the_seal_covers_the_tasks(path: Path, toy_root: Path) -> None:
    seal(toy_root)
    change(path, lines=101)
    assert check_seal(toy_root) == CHANGED


def test_names_of_files_are_unique() -> None:
    assert name_file("toy/rebuild-toy.a+b") == "toy.rebuild-toy.a+b.json"
