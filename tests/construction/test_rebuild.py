"""`dlbench construct rebuild` makes a task out of a project: what it removes, keeps and hides."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dlbench.cli import app
from dlbench.construction.task_construction import choose_within
from dlbench.construction.trace import TracedTest
from dlbench.dataset import load
from dlbench.dataset.file_task import Rebuild
from dlbench.dataset.skeleton import hash_skeleton, reduce_tree
from dlbench.dataset.tracks import read_tasks, write_task
from dlbench.workspace.source import source_tree
from tests.scaffold import write_project

pytestmark = pytest.mark.slow

REGISTRY = """NAMES = {}


def register(name):
    def keep(function):
        NAMES[name] = function
        return function

    return keep


def list_names():
    return _sort(NAMES)


def _sort(names):
    return sorted(names)


def find(name):
    return NAMES[name]
"""
LOSSES = """from .registry import register


@register("squared")
def squared(value):
    return value * value


@register("absolute")
def absolute(value):
    return -value if value < 0 else value


class Mean:
    \"\"\"The mean of values.\"\"\"

    def __init__(self):
        self.total, self.count = 0, 0

    def add(self, value):
        self.total += value
        self.count += 1

    def compute(self):
        if not self.count:
            raise ValueError("there is no value yet")
        return self.total / self.count
"""
COPIED = "def doubled(values):\n    return [value * 2 for value in values]\n"
UNTESTED = "def unused():\n    return 1\n"
TESTS = """import pytest

from model.doubled import doubled
from model.losses import Mean, absolute, squared
from model.registry import find, list_names

ALL = list_names()
TURNS = []


@pytest.mark.parametrize("name", ALL)
def test_names(name):
    assert name in ("absolute", "squared")


def test_doubled():
    assert doubled([1]) == [2]


class TestMean:
    def test_empty(self):
        with pytest.raises(ValueError, match="there is no value"):
            Mean().compute()

    def test_raises_anything(self):
        with pytest.raises(Exception):
            squared(None)
"""
TESTS += "".join(f"""
    def test_mean_{chr(97 + number)}(self):
        mean = Mean()
        mean.add({number})
        assert mean.count == 1
        assert mean.compute() == {number}
""" for number in range(10))  # fmt: skip
TESTS += "".join(f"""

def test_squared_{chr(97 + number)}():
    assert squared({number}) == {number**2}
    assert absolute(-{number}) == {number}
    assert find("squared") is squared
    TURNS.append({number})
""" for number in range(12))  # fmt: skip
TESTS += """

def test_needs_others():
    assert squared(1) and len(TURNS) == 12
"""
SHARED = """from model.losses import Mean


class Checks:
    start = 0

    def test_sum(self):
        mean = Mean()
        mean.add(self.start)
        assert mean.total == self.start

    def test_count(self):
        mean = Mean()
        mean.add(self.start)
        assert mean.count == 1
"""
DERIVED = """from shared_test import Checks


class TestFour(Checks):
    start = 4
"""
FILES = {
    "model/__init__.py": "from . import losses, registry\n",
    "model/registry.py": REGISTRY,
    "model/losses.py": LOSSES,
    "model/untested.py": UNTESTED,
    "model/doubled.py": COPIED,
    "examples/copy_of_doubled.py": COPIED,
    "tests/test_model.py": TESTS,
    "tests/shared_test.py": SHARED,
    "tests/test_derived.py": DERIVED,
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("rebuild")
    write_project(root / "benchmark", root / "source", "model", FILES)
    return root


def construct(root: Path, *options: str) -> Result:
    arguments = ["construct", "rebuild", "model", "--benchmark", root / "benchmark", "--work", root / "work", *options]
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def made(root: Path) -> Rebuild:
    result = construct(root, "--lines", "5", "100")
    assert result.exit_code == 0, result.output
    return read_tasks(root / "benchmark")["model/rebuild-model"]


def test_modules_that_tests_reach_are_removed(made: Rebuild) -> None:
    assert made.files == ("model/losses.py", "model/registry.py")
    assert made.lines == 9
    assert made.definitions == 6


def test_a_module_with_a_copy_in_the_release_stays(made: Rebuild) -> None:
    assert "model/doubled.py" not in made.files
    assert not [test for test in made.tests if "doubled" in test]


def test_what_runs_on_import_or_collection_keeps_its_body(made: Rebuild) -> None:
    names = {"list_names", "register", "_sort"}
    assert set(made.kept) == {f"model/registry.py::{name}" for name in names}


def test_half_of_the_tests_that_need_the_code_are_hidden(made: Rebuild) -> None:
    assert len(made.tests) >= 23
    assert abs(len(made.hidden) - len(made.visible)) <= 2
    for owner in ("tests/test_model.py::TestMean", "tests/test_model.py::test_squared"):
        assert any(test.startswith(owner) for test in made.hidden)
        assert any(test.startswith(owner) for test in made.visible)


def test_test_files_may_import_others(made: Rebuild) -> None:
    derived = {f"tests/test_derived.py::TestFour::{name}" for name in ("test_sum", "test_count")}
    assert derived & set(made.hidden)
    assert derived & set(made.visible)


@pytest.mark.parametrize("name", ["test_names", "test_raises_anything", "test_needs_others"])
def test_tests_that_pass_on_the_skeleton_or_depend_on_the_order_do_not_judge(made: Rebuild, name: str) -> None:
    assert not [test for test in made.tests if name in test]


def test_the_digest_is_that_of_the_skeleton(made: Rebuild, root: Path) -> None:
    benchmark = load(root / "benchmark")
    tree = source_tree(benchmark.projects["model"], benchmark.root)
    assert hash_skeleton(reduce_tree(tree, made.files, made.kept)) == made.sha256


def test_a_second_run_repeats_nothing_and_finds_the_same(made: Rebuild, root: Path) -> None:
    journal = root / "work/model/runs.jsonl"
    before = journal.read_bytes()
    assert construct(root, "--lines", "5", "100").exit_code == 0
    assert journal.read_bytes() == before
    assert read_tasks(root / "benchmark")[made.id] == made


def test_tasks_of_another_size_have_other_modules_and_share_the_runs_on_the_release(made: Rebuild, root: Path) -> None:
    others = root / "small"
    whole = write_task(
        others, made.model_copy(update={"id": "model/rebuild-whole", "files": ("model/registry.py",), "kept": ()})
    )
    runs = (root / "work/model/runs.jsonl").read_text()
    assert construct(root, "--lines", "5", "8", "--into", str(others)).exit_code == 0
    whole.unlink()
    assert [one.files for one in read_tasks(others).values()] == [("model/losses.py",)]
    added = (root / "work/model/runs.jsonl").read_text().removeprefix(runs)
    assert "on the skeleton" in added
    assert "on the release" not in added


def test_tests_are_chosen_within_a_time_with_every_test_before_its_further_cases() -> None:
    seconds = {"t.py::slow": 5.0, "t.py::test[a]": 1.0, "t.py::test[b]": 1.0, "t.py::other": 2.0}
    tests = [TracedTest[int](name, "passed", cost, (), ()) for name, cost in seconds.items()]
    assert choose_within(tests, 3) == ["t.py::test[a]", "t.py::other"]
    assert choose_within(tests, 8) == ["t.py::slow", "t.py::test[a]", "t.py::other"]
    assert choose_within(tests, 9) == list(seconds)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--lines", "5000", "6000"), "no part of them has 5000 to 6000"),
        (("--lines", "6", "5"), "--lines 6 5 is no range"),
        (("--lines", "1", "1"), "fewer than 10"),
    ],
)
def test_a_project_that_makes_no_task_is_an_error_with_the_reason(
    made: Rebuild, root: Path, options: tuple[str, ...], message: str
) -> None:
    result = construct(root, *options, "--into", str(root / "other"))
    assert result.exit_code == 1
    assert message in f"{result.output}{result.stderr}{result.exception}"


def run(root: Path, *arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in (*arguments, "--benchmark", root / "benchmark")])


def test_a_constructed_task_is_valid_in_five_orders(made: Rebuild, root: Path) -> None:
    result = run(root, "validate", "--track", "rebuild", "--instance", made.id, "--repeat", 5, "--shuffle")
    assert result.exit_code == 0, result.output


def test_the_release_solves_its_task_and_the_skeleton_does_not(made: Rebuild, root: Path, tmp_path: Path) -> None:
    """From a project to a score: construct, check out, write, submit."""
    folder = tmp_path / "answer"
    assert run(root, "task", "checkout", made.id, folder).exit_code == 0
    skeleton = json.loads(run(root, "task", "submit", made.id, folder, "--json").stdout)
    assert (skeleton["status"], skeleton["share"]) == ("fail", 0.0)
    for path in made.files:
        (folder / path).write_text(FILES[path])
    solved = json.loads(run(root, "task", "submit", made.id, folder, "--json").stdout)
    assert (solved["status"], solved["share"]) == ("pass", 1.0)


def test_a_record_that_shows_a_judging_test_is_refused(made: Rebuild) -> None:
    row = json.loads(made.model_dump_json()) | {"visible": [made.hidden[0]]}
    with pytest.raises(ValueError, match="in two of visible, hidden and unchanged"):
        Rebuild.model_validate(row)
