"""Harness errors and interrupted work do not count against a function."""

import ast
from types import SimpleNamespace

import pytest

from dlbench.construction import WorkFolder, summarize_project
from dlbench.construction.admit import HARNESS_FAULT, admit, propose_instance
from dlbench.construction.pipeline import Pipeline
from dlbench.construction.project_spec import ProjectSpec, write_record
from dlbench.errors import DLBenchError
from dlbench.execution.pool import Task
from dlbench.runs.verdict import Outcome, Status, Verdict
from tests.workspace.parts import make_project

SOURCE = "def f(x, axis=0):\n    y = x + 1\n    if y > 2:\n        return y\n    return x - 1"
TESTS = ["t.py::a", "t.py::b", "t.py::c", "t.py::d"]
ROW = {"id": "p/p.m.f", "path": "p/m.py", "qualname": "f", "sha256": "0" * 64}


class Judge:
    """Judges correctly until a given call for the reference, a stub or anything else."""

    prepared = None

    def __init__(self, what: str, after: int, status: Status, asking: tuple[str, ...] = ()) -> None:
        self.what, self.after, self.status = what, after, status
        target = SimpleNamespace(node=ast.parse(SOURCE).body[0], text=SOURCE)
        self.profiles = {ROW["id"]: SimpleNamespace(allowed=("torch.manual_seed was replaced", *asking))}
        self.engine = SimpleNamespace(target=lambda prepared, instance: SimpleNamespace(target=target))

    def judge(self, instance, code, options=None):
        tests = (options and options.tests) or instance.tests
        is_stub = code.rstrip().endswith(("return None", "NotImplementedError", "NotImplementedError()"))
        if self.what == ("reference" if code == SOURCE else "stub" if is_stub else "other"):
            self.after -= 1
            if self.after < 0:
                return Verdict(instance.id, 0, self.status, dict.fromkeys(tests, Outcome.NOT_RUN), message="the end")
        passes = code == SOURCE
        outcome = Outcome.PASSED if passes else Outcome.FAILED
        return Verdict(instance.id, 0, Status.PASS if passes else Status.FAIL, dict.fromkeys(tests, outcome))


def test_function_is_admitted_without_faults():
    found = admit(Judge("nothing", 0, Status.PASS), Task(propose_instance(ROW, TESTS), None))
    assert found.is_admissible
    assert 0 < found.killed == found.mutants


@pytest.mark.parametrize(
    ("what", "after", "status", "reason"),
    [
        ("reference", 0, Status.HARNESS_ERROR, HARNESS_FAULT),
        ("reference", 1, Status.HARNESS_ERROR, HARNESS_FAULT),
        ("stub", 0, Status.HARNESS_ERROR, HARNESS_FAULT),
        ("other", 0, Status.HARNESS_ERROR, HARNESS_FAULT),
        ("other", 5, Status.HARNESS_ERROR, HARNESS_FAULT),
        ("reference", 0, Status.OUT_OF_MEMORY, "too_large"),
        ("reference", 3, Status.OUT_OF_MEMORY, "too_large"),
        ("reference", 3, Status.TIMEOUT, "too_slow"),
    ],
)
def test_harness_error_is_neither_a_killed_mutant_nor_a_flaky_test(what, after, status, reason):
    found = admit(Judge(what, after, status), Task(propose_instance(ROW, TESTS), None))
    assert (found.reason, found.detail) == (reason, "the end")


def test_function_that_inspects_frames_is_rejected():
    looking = Judge("nothing", 0, Status.PASS, asking=("the candidate asked for a frame",))
    assert admit(looking, Task(propose_instance(ROW, TESTS), None)).reason == "looks_at_the_judge"


def make_pipeline(tmp_path, **row):
    """A screened and traced function whose tests are too slow, so that nothing needs to run."""
    work = WorkFolder(tmp_path)
    place = {"path": "p/m.py", "first": 3, "number": 0, "kept": True, "failing": {}}
    work.write("screened", [ROW | place | row], "p")
    work.write("trace_functions", [{"place": ["p/m.py", 3, "f"]}], "p")
    slow = {"outcome": "passed", "seconds": 30.0, "direct": [0], "deeper": []}
    work.write("trace", [{"id": test} | slow for test in TESTS], "p")
    return Pipeline(None, work, ProjectSpec("p"), lambda text: None)


def test_harness_fault_is_measured_again_and_counted_once(tmp_path, monkeypatch):
    pipeline = make_pipeline(tmp_path)
    monkeypatch.setattr(Pipeline, "prepared", None)
    pipeline.work.write("measured", [{"id": ROW["id"], "reason": HARNESS_FAULT, "admissible": False}], "p")
    pipeline.admit()
    assert [row["reason"] for row in pipeline.work.read("measured", "p")] == [HARNESS_FAULT, "too_slow"]
    assert summarize_project(pipeline.work, "p")["measured"] == 1
    pipeline.admit()
    assert len(pipeline.work.read("measured", "p")) == 2


def test_function_missing_from_the_trace_is_an_error(tmp_path, monkeypatch):
    pipeline = make_pipeline(tmp_path, first=9)
    monkeypatch.setattr(Pipeline, "prepared", None)
    with pytest.raises(DLBenchError, match="not at its location in the trace"):
        pipeline.admit()


def test_results_of_another_release_are_set_aside(tmp_path):
    write_record(make_project(name="p", archive="p-1.0.tar.gz", sha256="0" * 64), tmp_path / "benchmark")
    pipeline = Pipeline(None, WorkFolder(tmp_path), ProjectSpec("p", version="2.0"), lambda text: None)
    for attempt in ("first", "second"):
        pipeline.work.write("collected", [{"id": attempt}], "p")
        pipeline.set_aside_other_release()
        assert not pipeline.work.has("collected", "p")
    kept = [(path.parent.name, path.read_text()) for path in sorted((tmp_path / "earlier").glob("*/collected.jsonl"))]
    assert [name for name, _ in kept] == ["p-1.0", "p-1.0-2"]
    assert ["first" in text for _, text in kept] == [True, False]


def test_same_release_resumes(tmp_path):
    write_record(make_project(name="p", archive="p-1.0.tar.gz", sha256="0" * 64), tmp_path / "benchmark")
    pipeline = Pipeline(None, WorkFolder(tmp_path), ProjectSpec("p", version="1.0"), lambda text: None)
    pipeline.work.write("collected", [{"id": "t.py::a"}], "p")
    pipeline.set_aside_other_release()
    assert pipeline.work.has("collected", "p")
