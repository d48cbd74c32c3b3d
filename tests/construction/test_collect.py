"""Test collection: every file has tests or a reason, and one bad file does not affect the others."""

import pytest

from dlbench.construction import WorkFolder
from dlbench.construction.collect import NO_TEST, collect
from dlbench.construction.pipeline import Pipeline
from dlbench.construction.project_spec import ProjectSpec
from dlbench.errors import DLBenchError
from dlbench.execution import Engine, Limits, choose_sandbox
from tests.scaffold import write_project

pytestmark = pytest.mark.slow  # a file that hangs is given 20 seconds

GOOD = "def test_good():\n    pass\n"
FILES = {
    "frail/__init__.py": "",
    "tests/test_a_good.py": GOOD,
    "tests/test_b_ends.py": "import os\n\nos._exit(3)\n\n\ndef test_after():\n    pass\n",
    "tests/test_c_lacks.py": "import pytest\n\npytest.importorskip('torchless')\n\n\ndef test_lacking():\n    pass\n",
    "tests/test_d_skips.py": "import pytest\n\npytest.skip('not on this machine', allow_module_level=True)\n",
    "tests/test_e_breaks.py": "import nowhere_to_be_found\n",
    "tests/test_f_holds_none.py": "VALUE = 1\n",
    "tests/test_g_good.py": GOOD,
    "tests/test_h_hangs.py": "import time\n\ntime.sleep(600)\n",
}
TESTS = [file for file in FILES if file.startswith("tests/")]


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    root = tmp_path_factory.mktemp("frail")
    write_project(root / "work/benchmark", root / "source", "frail", FILES)
    engine = Engine(choose_sandbox(), Limits(load_seconds=20, test_seconds=20))
    return Pipeline(engine, WorkFolder(root / "work"), ProjectSpec("frail"), lambda text: None)


@pytest.fixture(scope="module")
def found(pipeline):
    return collect(pipeline.engine, pipeline.prepared, TESTS)


def test_files_that_exit_or_hang_are_recorded_and_the_others_collected(found):
    assert found.tests == ["tests/test_a_good.py::test_good", "tests/test_g_good.py::test_good"]
    assert found.why == ""
    assert "on import: ended the interpreter, exit code 3" in found.errors["tests/test_b_ends.py"]
    assert found.errors["tests/test_h_hangs.py"] == "on import: stopped for timeout"


def test_file_that_skips_itself_on_import_is_recorded_with_its_reason(found):
    assert set(found.skipped) == {"tests/test_c_lacks.py", "tests/test_d_skips.py"}
    assert "could not import 'torchless'" in found.skipped["tests/test_c_lacks.py"]
    assert found.skipped["tests/test_d_skips.py"] == "skips itself on import: Skipped: not on this machine"


def test_every_file_has_its_tests_or_a_reason(found):
    reasons = found.explain()
    assert reasons["tests/test_f_holds_none.py"] == NO_TEST
    assert "nowhere_to_be_found" in reasons["tests/test_e_breaks.py"]
    assert {*reasons, *(test.partition("::")[0] for test in found.tests)} == set(TESTS)


def test_tests_written_in_uncollected_files_are_listed(pipeline, found):
    pipeline.save_collected(found)
    rows = {row["what"]: row for row in pipeline.work.read("uncollected", "frail")}
    assert rows["tests/test_b_ends.py"]["written"] == ["tests/test_b_ends.py::test_after"]
    assert rows["tests/test_c_lacks.py"]["written"] == ["tests/test_c_lacks.py::test_lacking"]
    assert len(pipeline.work.read("collected", "frail")) == 2


def test_project_without_tests_records_the_reason_for_each_file(tmp_path, pipeline):
    """A conftest that cannot be imported affects all files at once."""
    files = {"tests/conftest.py": "import nowhere_to_be_found\n", "tests/test_one.py": GOOD, "tests/test_two.py": GOOD}
    write_project(tmp_path / "work/benchmark", tmp_path / "source", "frail", files)
    other = Pipeline(pipeline.engine, WorkFolder(tmp_path / "work"), ProjectSpec("frail"), lambda text: None)
    nothing = collect(other.engine, other.prepared, ["tests/test_one.py", "tests/test_two.py"])
    with pytest.raises(DLBenchError, match="nowhere_to_be_found"):
        other.save_collected(nothing)
    rows = other.work.read("uncollected", "frail")
    assert [row["written"] for row in rows] == [["tests/test_one.py::test_good"], ["tests/test_two.py::test_good"]]
    assert all("nowhere_to_be_found" in row["why"] for row in rows)
    assert not other.work.has("collected", "frail")


def test_crash_after_collection_is_reported(tmp_path, pipeline):
    ends = "import os\n\n\ndef pytest_collection_finish(session):\n    os._exit(5)\n"
    files = {"tests/conftest.py": ends, "tests/test_one.py": GOOD}
    write_project(tmp_path / "work/benchmark", tmp_path / "source", "frail", files)
    messages = []
    other = Pipeline(pipeline.engine, WorkFolder(tmp_path / "work"), ProjectSpec("frail"), messages.append)
    found = collect(other.engine, other.prepared, ["tests/test_one.py"])
    other.save_collected(found)
    assert [row["id"] for row in other.work.read("collected", "frail")] == ["tests/test_one.py::test_good"]
    (row,) = other.work.read("uncollected", "frail")
    assert (row["what"], "exit code 5" in row["why"]) == ("pytest", True)
    assert "exit code 5" in messages[-1]
