"""From two releases on an index to verified tasks: a feature and a fix are divided, and old tests do not count as new.

Everything is real, as in `test_pass`; only pytest comes from the index that this machine is configured for.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from typer.testing import CliRunner, Result

from dlbench.cli import app
from dlbench.construction import WorkFolder
from dlbench.construction.project_spec import ProjectSpec
from dlbench.construction.release_changes import Changes, cluster
from dlbench.construction.releases import Pair, ReleasePair
from dlbench.construction.trace import Trace
from dlbench.dataset.merge import divide
from dlbench.execution import Engine
from dlbench.execution.release_files import (
    cut_tests,
    find_original,
    make_reference,
    make_tests,
    remove_agent_files,
    rename_tests,
)
from dlbench.workspace.pip_config import read_pip_config

from ..workspace.parts import Index
from .fake_index import MIT, isolate, publish

NAME = "dlbench-steps"
SUMS = '''"""Sums of values."""


class Total:
    """A sum that grows."""

    def __init__(self, start=0):
        self.value = start

    def add(self, number):
        self.value += number
        return self.value


def mean(values):
    return sum(values) / len(values)


def spread(values):
    return max(values) - min(values)
'''
FIXED = SUMS.replace(
    "def mean(values):\n    return",
    'def mean(values):\n    """The mean; of nothing, 0."""\n    if not values:\n        return 0\n    return',
)
GROWN = FIXED.replace(
    "        return self.value\n\n\ndef mean",
    """        return self.value

    def history(self):
        return running(self.value)


def mean""",
)
SERIES = '''"""Series of values."""


def running(count):
    """The sums of 1 to each number up to the count."""
    found, total = [], 0
    for number in range(1, count + 1):
        total += number
        found.append(total)
    return found
'''
TESTS = """import pytest

from dlbench_steps import Total
from dlbench_steps.sums import mean, spread


def test_add():
    assert Total(1).add(2) == 3


@pytest.mark.parametrize("values", [[1], [1, 3]])
def test_spread(values):
    assert spread(values) == values[-1] - 1


def test_mean():
    assert mean([1, 3]) == 2
"""
NEW_TESTS = """

def test_mean_of_nothing():
    assert mean([]) == 0
    assert mean(()) == 0


def test_mean_of_an_empty_range():
    assert mean(range(0)) == 0


def test_mean_is_a_number():
    assert mean([]) + 1 == 1


@pytest.mark.parametrize("count", [0, 1, 4])
def test_running(count):
    assert len(running(count)) == count
    assert running(count)[-1:] == ([count * (count + 1) // 2] if count else [])


def test_running_starts_at_one():
    assert running(2) == [1, 3]


def test_history():
    assert Total(3).history() == [1, 3, 6]


def test_add_again():
    assert Total(1).add(1) == 2
"""
FILES = {
    "PKG-INFO": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n",
    "LICENSE": MIT,
    "AGENTS.md": "Work so.\n",
    "dlbench_steps/__init__.py": '"""Steps."""\nfrom .sums import Total, mean\n\n__all__ = ["Total", "mean"]\n',
    "dlbench_steps/sums.py": SUMS,
    "tests/test_sums.py": TESTS,
}
IMPORTS = "from dlbench_steps import Total, running\n"
NEXT = {
    "dlbench_steps/__init__.py": (
        '"""Steps."""\nfrom .series import running\nfrom .sums import Total, mean\n\n'
        '__all__ = ["Total", "mean", "running"]\n'
    ),
    "dlbench_steps/sums.py": GROWN.replace('values."""\n', 'values."""\nfrom .series import running\n', 1),
    "dlbench_steps/series.py": SERIES,
    "tests/test_sums.py": TESTS.replace("from dlbench_steps import Total\n", IMPORTS) + NEW_TESTS,
}
RENAMED = "tests/test_sums_next.py"
FEATURE = {"dlbench_steps/series.py", "dlbench_steps/sums.py::Total.history"}


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    return write(tmp_path / "old", FILES), write(tmp_path / "new", FILES | NEXT)


def test_what_changed_is_named_by_unit(trees: tuple[Path, Path]) -> None:
    assert Changes(*trees, NAME).changed == {*FEATURE, "dlbench_steps/sums.py::mean"}


def test_a_function_brings_the_new_names_that_it_reads(trees: tuple[Path, Path]) -> None:
    changes = Changes(*trees, NAME)
    assert changes.complete({"dlbench_steps/sums.py::Total.history"}) == FEATURE
    assert changes.complete({"dlbench_steps/sums.py::mean"}) == {"dlbench_steps/sums.py::mean"}


def test_the_reference_has_what_is_taken_with_its_imports_and_exports(trees: tuple[Path, Path]) -> None:
    feature = make_reference(*trees, FEATURE, ".")
    assert (
        feature["dlbench_steps/__init__.py"]
        == NEXT["dlbench_steps/__init__.py"]
        .replace(
            "from .series import running\nfrom .sums import Total, mean",
            "from .sums import Total, mean\nfrom .series import running",
        )
        .replace('\n\n__all__ = ["Total", "mean", "running"]', "\n\n__all__ = ['Total', 'mean', 'running']")
        .encode()
    )
    sums = (feature["dlbench_steps/sums.py"] or b"").decode()
    assert "from .series import running" in sums
    assert "def history" in sums
    assert "of nothing, 0" not in sums
    fix = make_reference(*trees, {"dlbench_steps/sums.py::mean"}, ".")
    assert fix == {"dlbench_steps/sums.py": FIXED.encode()}


@pytest.mark.parametrize("test", ["tests/test_a.py::test_x[1]", "pkg/a_test.py::TestA::test_x", "test_next.py::test"])
def test_renamed_tests_have_their_names_back(test: str) -> None:
    assert rename_tests(test) != test
    assert find_original(rename_tests(test)) == test


def test_new_tests_stand_beside_the_old_ones_with_the_imports_that_they_need(trees: tuple[Path, Path]) -> None:
    made = make_tests(*trees, ["tests/test_sums_next.py::test_mean_of_nothing"], {"dlbench_steps"})
    text = (made["tests/test_sums_next.py"] or b"").decode()
    assert "def test_mean_of_nothing" in text
    assert "from dlbench_steps.sums import mean\n" in text
    assert "running" not in text
    assert "test_add" not in text


def test_helpers_fixtures_and_base_classes_of_a_test_stay() -> None:
    module = divide(
        "import pytest\nfrom pkg import make, other\n\nSIZE = make(1)\n\n\n@pytest.fixture\ndef thing():\n    return SIZE\n\n\n"
        "@pytest.fixture(autouse=True)\ndef always():\n    yield\n\n\ndef unused():\n    return other\n\n\nclass Base:\n"
        "    def test_it(self, thing):\n        assert thing\n\n    def test_more(self):\n        unused()\n\n\n"
        "class TestIt(Base):\n    def test_own(self):\n        pass\n"
    )
    text = cut_tests(module, {"TestIt::test_it"}, {"pkg"})
    assert "import make\n" in text
    assert all(f"def {name}" in text for name in ("thing", "always", "test_it"))
    assert not any(f"def {name}" in text for name in ("unused", "test_more", "test_own"))
    compile(text, "tests.py", "exec")


def test_files_for_agents_are_removed(trees: tuple[Path, Path]) -> None:
    assert remove_agent_files(trees[0]) == {"AGENTS.md": None}


def test_tests_of_a_common_change_stay_together_and_others_apart(trees: tuple[Path, Path]) -> None:
    changes = Changes(*trees, NAME)
    fix = {"dlbench_steps/sums.py::mean"}
    needed = {"t.py::a": FEATURE, "t.py::b": {"dlbench_steps/series.py"}, "t.py::c": fix, "t.py::d": fix}
    assert [one.tests for one in cluster(changes, needed)] == [{"t.py::a", "t.py::b"}, {"t.py::c", "t.py::d"}]
    tangled = cluster(changes, needed | {"t.py::e": {*FEATURE, *fix}})
    assert [one.tests for one in tangled] == [{"t.py::a", "t.py::b", "t.py::c", "t.py::d", "t.py::e"}]


def test_old_tests_that_were_not_tried_alone_are_not_new(
    trees: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a test file that cannot be imported on the older release, every test fails there."""
    path = "tests/test_sums.py"
    spec, before = ProjectSpec(NAME), SimpleNamespace(tree=trees[0])
    pair: Any = ReleasePair(
        cast(Engine, None),
        WorkFolder(tmp_path),
        spec,
        cast(Pair, SimpleNamespace(name="x")),
        print,
        workers=1,
        seconds=1,
    )
    vars(pair).update(trees=trees, prepared=(before, SimpleNamespace(tree=trees[1])), test_files=[path])
    vars(pair).update(changes=Changes(*trees, NAME), _run_on_older=lambda *_: Trace(left_out=[{"what": RENAMED}]))
    monkeypatch.setattr("dlbench.construction.releases._MOST_ALONE", 2)
    names = ("test_running[1]", "test_history", "test_add", "test_mean_of_nothing")
    tests = [f"{path}::{name}" for name in names]
    assert pair._find_passing(tests) == set(tests[2:])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("releases")
    machine = read_pip_config()
    with pytest.MonkeyPatch.context() as patch, Index(folder / "served") as index:
        isolate(folder, patch)
        patch.setenv("PIP_INDEX_URL", machine.index_url or "")
        patch.setenv("PIP_EXTRA_INDEX_URL", " ".join([index.url, *machine.extra_index_urls]))
        patch.setenv("PIP_FIND_LINKS", " ".join(machine.find_links))
        patch.setenv("PIP_CERT", machine.cert or "")
        changes = {"1.1": NEXT, "1.2": NEXT | {"dlbench_steps/sums.py": FIXED}}
        publish(index, NAME, FILES, dict.fromkeys(("1.0", "1.1", "1.2"), ""), changes=changes, requires_dist=[])
        yield folder


def construct(folder: Path, *options: str) -> Result:
    arguments = [
        "construct",
        "releases",
        NAME,
        "--since",
        "2026-01-02",
        "--out",
        str(folder / "out"),
        "--lines",
        "2",
        "90",
    ]
    return CliRunner().invoke(app, [*arguments, "--workers", "1", *options])


@pytest.fixture(scope="module")
def made(folder: Path) -> dict[str, Any]:
    result = construct(folder)
    assert result.exit_code == 0, result.output
    assert "2 releases, 1 left out, 2 tasks proposed" in result.output
    assert "0 new or changed test functions" in result.output
    found = [json.loads(path.read_text()) for path in (folder / "out").glob("*/proposals/*/proposal.json")]
    return {"fix" if "mean" in one["id"] else "feature": one for one in found}


@pytest.mark.slow
def test_a_feature_and_a_fix_of_one_release_become_two_tasks(made: dict[str, Any]) -> None:
    assert made["fix"]["taken"] == ["dlbench_steps/sums.py::mean"]
    assert set(made["feature"]["taken"]) == FEATURE
    assert {test.partition("::")[2].partition("[")[0] for test in made["feature"]["hidden"]} == {
        "test_running", "test_running_starts_at_one", "test_history",
    }  # fmt: skip


@pytest.mark.slow
def test_tests_that_pass_on_the_older_release_must_still_pass_and_judge_nothing(made: dict[str, Any]) -> None:
    for task in made.values():
        assert not [test for test in task["hidden"] if "test_add" in test or "test_spread" in test]
        assert "tests/test_sums.py::test_add" in task["unchanged"]


@pytest.mark.slow
def test_a_second_run_repeats_nothing(made: dict[str, Any], folder: Path) -> None:
    runs = folder / "out" / f"{NAME}-1.1" / "runs.jsonl"
    before = runs.read_bytes()
    assert "2 tasks proposed" in construct(folder).output
    assert runs.read_bytes() == before


@pytest.mark.slow
def test_a_described_change_becomes_a_task_that_holds(made: dict[str, Any], folder: Path) -> None:
    pair, described = folder / "out" / f"{NAME}-1.1", folder / "described"
    task_id = made["fix"]["id"]
    one = ["pre_post_processing"] * 3, ["general"] * 3, ["others"] * 3
    facts = {"change": "fix", "votes": dict(zip(("stage", "task", "data"), one, strict=True)), "reviewer": "me"}
    stem = task_id.replace("/", ".")
    write(described, {f"{stem}.md": "`mean` of nothing is 0.\n", f"{stem}.json": json.dumps(facts)})
    root = folder / "mine"
    shutil.copytree(pair / "benchmark", root)
    written = construct(folder, "--descriptions", str(described), "--into", str(root))
    assert (written.exit_code, "fix" in (root / "releases" / f"{stem}.json").read_text()) == (0, True), written.output
    result = CliRunner().invoke(app, ["validate", "--track", "release", "--benchmark", str(root), "--workers", "1"])
    assert (result.exit_code, f"{task_id}: valid" in result.output) == (0, True), result.output
