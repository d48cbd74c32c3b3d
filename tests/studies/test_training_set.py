"""The facts of the training set grow without near copies, and a validation project stays one."""

from pathlib import Path

import pytest
from training_set import add_facts, find_near_copies, list_test_seconds, write_splits

from dlbench.construction import Row, WorkFolder
from dlbench.construction.admit import propose_instance
from dlbench.construction.trace import Trace, TracedTest
from dlbench.construction.write_instances import write_instance
from dlbench.dataset import Benchmark, load
from tests.conftest import MODULE, find_target, write_toy
from tests.construction.planted import MODEL, write_planted

OTHER = "def total(rows, start=0):\n    for row in rows:\n        start += sum(row) / len(row)\n    return start\n"


def test_copy_of_a_benchmark_function_is_found(toy: Benchmark) -> None:
    text = find_target(MODULE, "scale").text
    renamed = text.replace("scale", "enlarge").replace("values", "items").replace("value", "item")
    found = find_near_copies({"a/m.enlarge": renamed, "a/m.total": OTHER, "b/m.total": OTHER}, toy)
    assert found == {"a/m.enlarge": "toy/toy.core.scale", "b/m.total": "a/m.total"}


@pytest.fixture
def measured(tmp_path: Path) -> WorkFolder:
    """A documented and an undocumented function of the toy project, both admissible."""
    folder = WorkFolder(tmp_path / "work")
    folder.root.mkdir()
    made = load(write_toy(folder.root).rename(folder.root / "benchmark"))
    rows: list[Row] = [one.model_dump(include={"id", "path", "qualname", "sha256"}) for one in made.instances.values()]
    found = {"admissible": True, "tests": ["tests/test_core.py::test_scale_zero"], "mutants": 5, "seconds": 0.1}
    measures = {"loc": 5, "cyclomatic": 2, "cognitive": 1}
    folder.write("functions", rows, "toy")
    folder.write("screened", ({"id": row["id"], "measures": measures} for row in rows), "toy")
    (tmp_path / "training").mkdir()
    (tmp_path / "training/VERSION").write_text("1.0\n")
    folder.write("measured", ({"id": row["id"], "killed": 4} | found for row in rows), "toy")
    return folder


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    """One function of another project, to predict stages with."""
    root = write_planted(tmp_path / "planted") / "benchmark"
    target = find_target(MODEL, "softmax")
    row = {"id": "planted/planted.model.softmax", "path": "planted/model.py", "qualname": "softmax"}
    write_instance(
        propose_instance(row | {"sha256": target.sha256}, ["tests/test_model.py::test_softmax_orders"]), root
    )
    return load(root)


def test_facts_stay_when_others_are_added(measured: WorkFolder, benchmark: Benchmark, tmp_path: Path) -> None:
    out = tmp_path / "training"
    add_facts(measured, out, benchmark, 0.5)
    assert [*load(out).instances] == ["toy/toy.core.scale"]
    measured.write("measured", [], "toy")
    add_facts(measured, out, benchmark, 0.5)
    assert [*load(out).instances] == ["toy/toy.core.scale"]
    assert load(out).splits["train"] == ("toy/toy.core.scale",)


def test_function_with_weak_tests_is_left_out(measured: WorkFolder, benchmark: Benchmark, tmp_path: Path) -> None:
    measured.write("measured", [row | {"killed": 1} for row in measured.read("measured", "toy")], "toy")
    add_facts(measured, tmp_path / "training", benchmark, 0.5)
    assert not load(tmp_path / "training").instances


def test_project_keeps_its_split_and_new_ones_are_held_out_up_to_the_share(tmp_path: Path) -> None:
    sizes = {"a": 6, "b": 2, "c": 2, "d": 2}
    ids = {f"{project}/m.f{number}" for project, count in sizes.items() for number in range(count)}
    write_splits(tmp_path, ids, {"validation": ["b/m.f0"], "train": ["c/m.f0"]}, 0.4)
    validation = (tmp_path / "splits/validation.txt").read_text().split()
    assert validation == ["b/m.f0", "b/m.f1", "d/m.f0", "d/m.f1"]
    assert {*(tmp_path / "splits/train.txt").read_text().split(), *validation} == ids


def test_time_of_a_function_is_that_of_the_tests_that_would_judge_it() -> None:
    place = ("m.py", 3, "f")
    slow, quick = (TracedTest(name, "passed", seconds, (0,), ()) for name, seconds in (("t1", 7.0), ("t2", 0.5)))
    failed = TracedTest("t3", "failed", 3.0, (0,), ())
    row = {"id": "p/m.f", "path": "m.py", "first": 3, "qualname": "f"}
    assert list_test_seconds([row], Trace({place: 0}, [slow, quick, failed])) == {"p/m.f": [7.0, 0.5]}
