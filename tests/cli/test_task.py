"""`dlbench task`: a folder to work in shows no reference and no hidden test, and what is submitted from it is judged."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dlbench.cli import app
from dlbench.execution.task_tests import cut_tests
from dlbench.runs import read_run
from dlbench.workspace.home import home
from tests.execution.file_task_toy import (
    COMPONENT,
    CORE,
    CORE_TESTS,
    DESCRIPTION,
    HIDDEN,
    RIGHT,
    TASK,
    UNCHANGED,
    VISIBLE,
    write_toy,
)

REMOVED = (
    "values) - array.mean",
    "array.std()",
    "np.minimum",
    "self.count += by",
    "zip(self.values",
    "isinstance(other",
)


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("rebuild"), {"AGENTS.md": "Work so.\n", ".cursorrules": "Work so.\n"})


def run(toys: Path, *arguments: object) -> tuple[int, str]:
    return invoke("task", *arguments, "--benchmark", toys)


def invoke(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*map(str, arguments)])
    return done.exit_code, done.output


def validate(toys: Path, *arguments: object) -> tuple[int, str]:
    return invoke("validate", "--track", "rebuild", *arguments, "--workers", 1, "--benchmark", toys)


@pytest.fixture
def folder(toys: Path, tmp_path: Path) -> Path:
    status, output = run(toys, "checkout", TASK, tmp_path / "work")
    assert status == 0, output
    return tmp_path / "work"


def read_all(folder: Path) -> str:
    files = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return "\n".join(path.read_text() for path in files)


def test_the_folder_shows_neither_the_reference_nor_hidden_tests(folder: Path) -> None:
    text = read_all(folder)
    assert not [part for part in REMOVED if part in text]
    assert "def scale(values, factor=2):" in text
    for test in HIDDEN:
        assert f"def {test.rpartition('::')[2].partition('[')[0]}(" not in text
    for test in VISIBLE:
        assert f"def {test.rpartition('::')[2]}(" in text
    assert str(home()) not in text
    assert "Work so." not in text
    git = ["git", "-C", str(folder)]
    assert subprocess.check_output([*git, "log", "--format=%s"]) == b"The task\n"
    assert subprocess.check_output([*git, "status", "--short"]) == b""
    assert not [path for path in folder.rglob("*") if path.name == "__pycache__" or path.suffix == ".pyc"]


def test_the_folder_holds_no_copy_of_hidden_tests(tmp_path: Path) -> None:
    """Editors leave such copies, and releases ship them."""
    copy = "tests/flycheck_test_core.py"
    made = write_toy(tmp_path, {copy: CORE_TESTS})
    assert run(made, "checkout", TASK, tmp_path / "work")[0] == 0
    assert (tmp_path / "source" / copy).is_file()
    assert not (tmp_path / "work" / copy).exists()


def test_the_instructions_name_modules_required_names_and_a_command_that_runs(toys: Path, folder: Path) -> None:
    text = (folder / "INSTRUCTIONS.md").read_text()
    assert "- `OFFSET`" in text
    assert "- `ValueError from scale()`" in text
    assert "- `toylib/core.py`" in text
    command = next(line.strip(" `") for line in text.splitlines() if "-m pytest" in line)
    assert command.startswith("OMP_NUM_THREADS=1 TOYLIB_SIZES='1 2' PYTHONPATH=")
    for path, content in RIGHT.items():
        (folder / path).write_text(content)
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
    assert f"{len(VISIBLE)} passed" in done.stdout, done.stdout + done.stderr


def test_a_component_is_described_without_docstrings(toys: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    assert run(toys, "checkout", COMPONENT, folder)[0] == 0
    text = read_all(folder)
    assert not [part for part in REMOVED if part in text]
    for docstring in ("Every value times the factor", "Counts, from a start", "Values by name"):
        assert docstring not in text
    assert "def scale(values, factor=2):" in text
    instructions = (folder / "INSTRUCTIONS.md").read_text()
    assert DESCRIPTION in instructions
    assert "- `toylib/core.py`: `Counter`" in instructions
    assert "1 tests of `VISIBLE_TESTS.txt` pass now and must still pass" in instructions
    assert (folder / "VISIBLE_TESTS.txt").read_text() == f"{UNCHANGED[0]}\n"
    for path, content in RIGHT.items():
        (folder / path).write_text(content)
    status, output = run(toys, "submit", COMPONENT, folder, "--out", tmp_path / "run", "--workers", 1)
    assert (status, "status   pass" in output) == (0, True), output
    assert read_run(tmp_path / "run").config["track"] == "component"
    status, output = invoke("report", tmp_path / "run", "--by", "stage", "--benchmark", toys)
    assert (status, "training" in output) == (0, True), output


def test_a_right_answer_is_submitted(toys: Path, folder: Path, tmp_path: Path) -> None:
    for path, content in RIGHT.items():
        (folder / path).write_text(content)
    (folder / "tests" / "conftest.py").unlink()
    (folder / "toylib" / "linked.py").symlink_to("/etc/passwd")
    status, output = run(toys, "submit", TASK, folder, "--out", tmp_path / "run", "--workers", 1)
    assert status == 0, output
    assert "status   pass" in output
    assert f"hidden   {len(HIDDEN)}/{len(HIDDEN)} passed (100.0%)" in output
    assert f"visible  {len(VISIBLE)}/{len(VISIBLE)} passed" in output
    assert "ignored  tests/conftest.py" in output
    assert "ignored  toylib/linked.py: a link" in output
    (record,) = read_run(tmp_path / "run").verdicts
    assert (record["instance"], record["sample"], record["status"]) == (TASK, 0, "pass")
    assert (list(record["tests"]), list(record["visible"])) == (list(HIDDEN), list(VISIBLE))
    assert record["answer_sha256"]


def test_code_that_the_screen_names_counts_once_it_is_accepted(toys: Path, folder: Path) -> None:
    for path, content in RIGHT.items():
        (folder / path).write_text(content)
    with (folder / "toylib/core.py").open("a") as file:
        file.write("import gc\n")
    line = (folder / "toylib/core.py").read_text().count("\n")
    status, output = run(toys, "submit", TASK, folder, "--screen")
    assert (status, output.endswith(f"toylib/core.py:{line}: gc\n")) == (1, True), output
    status, output = run(toys, "submit", TASK, folder)
    assert "status   unconfirmed" in output
    assert "if it is honest: --accept gc" in output
    status, output = run(toys, "submit", TASK, folder, "--accept", "gcc")
    assert (status, "the screen does not name 'gcc'" in output) == (1, True), output
    status, output = run(toys, "submit", TASK, folder, "--accept", "gc")
    assert "status   pass" in output
    assert f"accepted toylib/core.py:{line}: gc" in output


def test_the_screen_names_files_that_are_no_python(toys: Path, folder: Path) -> None:
    (folder / "toylib/core.py").write_text("x = 1\ndef\n")
    status, output = run(toys, "submit", TASK, folder, "--screen")
    assert (status, "toylib/core.py:2: invalid syntax" in output) == (1, True), output


def test_submitted_attempts_make_a_run(toys: Path, folder: Path, tmp_path: Path) -> None:
    """An attempt that is submitted again replaces the first; another one counts beside it."""
    submit = ("submit", TASK, folder, "--out", tmp_path / "run", "--name", "agent", "--workers", 1)
    for sample in (0, 0, 1):
        assert run(toys, *submit, "--sample", sample)[0] == 0
    found = read_run(tmp_path / "run")
    assert (found.name, found.config["track"]) == ("agent", "rebuild")
    assert [(one["sample"], one["status"]) for one in found.verdicts] == [(0, "fail"), (1, "fail")]
    status, output = invoke("report", tmp_path / "run", "--benchmark", toys)
    row = next(line for line in output.splitlines() if TASK in line)
    cells = [cell.strip() for cell in row.split("│")[1:-1]]
    assert (status, cells) == (0, [TASK, "20", str(len(HIDDEN)), "0.0 %, 0 of 2 pass"])
    status, output = run(toys, *submit, "--name", "other")
    assert (status, "this run was started with model agent, you passed other" in output) == (1, True), output


def test_an_untouched_folder_fails(toys: Path, folder: Path) -> None:
    status, output = run(toys, "submit", TASK, folder, "--json", "--workers", 1)
    record = json.loads(output[output.index("{") :])
    assert (status, record["status"], record["share"]) == (0, "fail", 0)
    assert "ignored" not in record


def test_list_and_show_know_the_track(toys: Path) -> None:
    of_track = ("--track", "rebuild", "--benchmark", toys)
    assert invoke("list", *of_track) == (0, f"{TASK}\n")
    (record,) = json.loads(invoke("list", *of_track, "--json")[1])
    assert (record["lines"], record["hidden"], record["labels"]) == (20, list(HIDDEN), {})
    status, output = invoke("show", TASK, "--benchmark", toys)
    assert (status, f"hidden ({len(HIDDEN)}):" in output, "20 lines, 10 functions" in output) == (0, True, True), output


def test_stats_count_and_list_tasks(toys: Path) -> None:
    status, output = invoke("stats", "--track", "rebuild", "--benchmark", toys)
    assert re.search(r"^hidden tests +11$", output, re.MULTILINE), output
    row = next(line for line in output.splitlines() if TASK in line)
    cells = [cell.strip() for cell in row.split("│")[1:-1]]
    assert (status, cells) == (0, [TASK, "20", "2", "10", str(len(VISIBLE)), str(len(HIDDEN)), ""])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("list", "--stage", "training"), "--stage is for functions"),
        (("list", "--split", "lite"), "--split is for functions"),
        (("list", "--project", "toylab"), "did you mean toylib"),
        (("stats", "--card"), "--card and --plots are for functions"),
        (("validate", "--plus"), "--compare-modes and --plus are for functions"),
    ],
)
def test_options_for_functions_are_refused(toys: Path, options: tuple[str, ...], message: str) -> None:
    status, output = invoke(*options, "--track", "rebuild", "--benchmark", toys)
    assert (status, message in output) == (1, True), output


def test_validate_accepts_a_sound_task(toys: Path) -> None:
    status, output = validate(toys, "--repeat", 2, "--shuffle")
    assert (status, f"{TASK}: valid" in output) == (0, True), output


def test_a_copy_of_a_reduced_module_makes_a_task_invalid(tmp_path: Path) -> None:
    copy = CORE.replace("class Counter", "class Other") + "\n\nEXTRA = 1\n"
    toys = write_toy(tmp_path, {"examples/core.py": copy})
    status, output = validate(toys, "--instance", TASK)
    assert (status, "examples/core.py shows most bodies of toylib/core.py" in output) == (1, True), output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("checkout", "toylib/rebuild-none", "x"), "did you mean toylib/rebuild-toylib"),
        (("checkout", TASK, "/etc"), "the folder is not empty"),
        (("submit", TASK, "no-such-folder"), "there is no such folder"),
        (("submit", TASK, "tests"), "no file of toylib/rebuild-toylib is in the folder"),
    ],
)
def test_wrong_input_is_named(toys: Path, arguments: tuple[str, ...], message: str) -> None:
    status, output = run(toys, *arguments)
    assert (status, message in output) == (1, True), output


def test_a_benchmark_without_rebuild_tasks_says_so(toy_root: Path, tmp_path: Path) -> None:
    status, output = run(toy_root, "checkout", TASK, tmp_path / "x")
    assert "there are no component tasks" in run(toy_root, "checkout", COMPONENT, tmp_path / "x")[1]
    assert (status, "there are no rebuild tasks" in output) == (1, True), output


def test_cutting_keeps_helpers_and_inherited_tests() -> None:
    source = (
        "import x\n\n\ndef helper(): pass\n\n\n@x.mark\ndef test_a():\n    helper()\n\n\nclass Base:\n    def test_b(self):\n"
        "        pass\n\n    def test_c(self):\n        pass\n\n\nclass TestSub(Base):\n    size = 1\n\n\nclass TestGone:\n"
        "    def test_d(self):\n        pass\n"
    )
    hidden = ["t.py::test_a", "t.py::TestSub::test_c", "t.py::TestGone::test_d"]
    found = cut_tests(source.encode(), ["t.py::TestSub::test_b"], hidden).decode()
    assert "\n\n\n\n" not in found  # where a test was cut out, there is no gap
    namespace: dict[str, object] = {}
    exec(found.replace("import x", ""), namespace)
    assert "helper" in namespace
    assert "test_a" not in namespace
    assert [name for name in ("test_b", "test_c") if hasattr(namespace["TestSub"], name)] == ["test_b"]
    assert not hasattr(namespace["TestGone"], "test_d")
    for shown, judging in (("Base::test_b", "TestSub::test_b"), ("TestSub::test_b", "Base::test_b")):
        assert b"test_b" not in cut_tests(source.encode(), [f"t.py::{shown}"], [f"t.py::{judging}"])
    called = cut_tests(b"def test_a(): pass\n\n\ndef test_b(): pass\n\n\ntest_b()\n", ["t.py::test_a"])
    assert called == b"def test_a(): pass\n\n\n"  # pytest could not collect the file
    assert b"test_b" in cut_tests(source.encode(), ["t.py::Base::test_b_with_zeros[1]"])
    assert cut_tests(CORE_TESTS.encode(), [], HIDDEN).decode().count("def test") == 0


def test_cutting_keeps_fixtures_that_are_named_like_tests() -> None:
    source = "import pytest\n\n\n@pytest.fixture(params=[1])\ndef test_image(request):\n    return 1\n\n\ndef test_a(test_image): pass\n"
    found = cut_tests(source.encode(), [], ["t.py::test_a"]).decode()
    assert ("def test_image" in found, "def test_a" in found) == (True, False), found
