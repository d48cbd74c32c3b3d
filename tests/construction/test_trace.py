"""Tracing survives crashing tests and kills."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from dlbench.construction import WorkFolder
from dlbench.construction.pipeline import Pipeline
from dlbench.construction.project_spec import ProjectSpec
from dlbench.construction.trace import trace
from dlbench.execution import Engine, Limits, choose_sandbox
from tests.scaffold import write_project

CORE = """def double(value):
    return add(value, value)


def add(left, right):
    return left + right
"""
TESTS = """import os
import time

import pytest

from slow.core import add, double


@pytest.mark.parametrize("value", range(6))
def test_double(value):
    time.sleep(0.3)
    assert double(value) == 2 * value


def test_ends():
    double(1)
    os._exit(0)


@pytest.mark.parametrize("value", range(3))
def test_add(value):
    assert add(value, 1) == value + 1
"""
FILES = {
    "slow/__init__.py": "",
    "slow/core.py": CORE,
    "tests/test_core.py": TESTS,
    "tests/test_ends.py": "import os\n\nos._exit(0)\n",
    "tests/test_lacks.py": "import nowhere_to_be_found\n",
}


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    root = tmp_path_factory.mktemp("slow")
    write_project(root / "work/benchmark", root / "source", "slow", FILES)
    engine = Engine(choose_sandbox(), Limits(load_seconds=60, test_seconds=10))
    return Pipeline(engine, WorkFolder(root / "work"), ProjectSpec("slow"), lambda text: None, workers=1)


def test_crashing_tests_are_recorded_and_the_rest_traced(pipeline):
    files = ["tests/test_ends.py", "tests/test_core.py", "tests/test_lacks.py"]
    found = trace(pipeline.engine, pipeline.prepared, files)
    assert len(found.tests) == 9
    assert {test.outcome for test in found.tests} == {"passed"}
    reasons = {row["what"]: row["why"] for row in found.left_out}
    assert list(reasons) == ["tests/test_ends.py", "tests/test_lacks.py", "tests/test_core.py::test_ends"]
    assert reasons["tests/test_ends.py"].startswith("on import: ended the interpreter, exit code 0")
    assert reasons["tests/test_lacks.py"].startswith("not collected: ")
    assert reasons["tests/test_core.py::test_ends"].startswith("ended the interpreter, exit code 0")


START = """import sys
from pathlib import Path

from dlbench.construction.pipeline import Pipeline
from dlbench.construction.project_spec import ProjectSpec
from dlbench.construction import WorkFolder
from dlbench.execution import Engine, Limits, choose_sandbox

engine = Engine(choose_sandbox(), Limits(load_seconds=60, test_seconds=10))
Pipeline(engine, WorkFolder(Path(sys.argv[1])), ProjectSpec("slow"), print, workers=1).trace()
"""


def collect_for(pipeline: Pipeline) -> None:
    ids = [*(f"test_double[{value}]" for value in range(6)), "test_ends", *(f"test_add[{value}]" for value in range(3))]
    rows = [{"id": f"tests/test_core.py::{name}"} for name in ids]
    pipeline.work.write("collected", [*rows, {"id": "tests/test_ends.py::test_x"}], "slow")


def read_kept(pipeline: Pipeline) -> list[dict]:
    path = pipeline.work.path("trace_journal", "slow")
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [row for row in map(json.loads, lines) if "outcome" in row]


def read_result(pipeline: Pipeline) -> list[dict]:
    """The trace without the durations of the tests."""
    functions = pipeline.work.read("trace_functions", "slow")
    return [*functions, *({**row, "seconds": 0} for row in pipeline.work.read("trace", "slow"))]


@pytest.fixture(scope="module")
def killed(pipeline):
    """The journal of a trace that was killed after three tests."""
    collect_for(pipeline)
    pipeline.prepared  # noqa: B018 - built before the clock starts
    process = subprocess.Popen([sys.executable, "-c", START, str(pipeline.work.root)], start_new_session=True)
    deadline = time.monotonic() + 60
    while len(read_kept(pipeline)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return pipeline.work.path("trace_journal", "slow").read_text()


@pytest.mark.slow
def test_killed_trace_resumes(pipeline, killed):
    kept = read_kept(pipeline)
    assert 3 <= len(kept) < 9
    assert not pipeline.work.has("trace", "slow")
    messages = []
    again = Pipeline(pipeline.engine, pipeline.work, pipeline.spec, messages.append, workers=1)
    again.trace()
    assert messages[-1] == f"running 11 of 11 tests of slow; {len(kept)} ran before"
    went_on = read_result(pipeline)
    assert {row["id"]: row["seconds"] for row in pipeline.work.read("trace", "slow")}.items() >= {
        row["id"]: row["seconds"] for row in kept
    }.items()
    assert not pipeline.work.has("trace_journal", "slow")
    again.trace()
    assert messages[-1] == "running 11 of 11 tests of slow"
    assert read_result(pipeline) == went_on
    assert [row["what"] for row in pipeline.work.read("trace_left_out", "slow")] == [
        "tests/test_ends.py",
        "tests/test_core.py::test_ends",
    ]


def test_journal_of_other_tests_is_not_resumed(pipeline, killed):
    pipeline.work.path("trace_journal", "slow").write_text(killed)
    pipeline.work.write("collected", [{"id": "tests/test_core.py::test_add[1]"}], "slow")
    messages = []
    Pipeline(pipeline.engine, pipeline.work, pipeline.spec, messages.append, workers=1).trace()
    assert messages == ["running 1 of 1 tests of slow"]
    assert [row["id"] for row in pipeline.work.read("trace", "slow")] == ["tests/test_core.py::test_add[1]"]


def test_journal_of_another_release_is_not_resumed(pipeline, killed):
    header, _, rest = killed.partition("\n")
    other = json.dumps(json.loads(header) | {"release": "another"})
    pipeline.work.path("trace_journal", "slow").write_text(f"{other}\n{rest}")
    collect_for(pipeline)
    messages = []
    Pipeline(pipeline.engine, pipeline.work, pipeline.spec, messages.append, workers=1).trace()
    assert messages == ["running 11 of 11 tests of slow"]
