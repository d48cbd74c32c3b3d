"""`dlbench construct components` proposes definitions with the tests that judge them, and makes records of described ones."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dlbench.cli import app
from dlbench.dataset import Kind, load
from dlbench.dataset.file_task import Component
from dlbench.dataset.tracks import read_tasks
from dlbench.validation.sources import check_task
from dlbench.workspace.source import source_tree
from tests.scaffold import write_project

pytestmark = pytest.mark.slow

POWERS = {"abcdefghijkl"[number]: number for number in range(12)}
STATS = '''"""Statistics."""


def _clean(values):
    return [value for value in values if value is not None]


def scale(values, factor):
    return [value * factor for value in values]


class Summary:
    """Means of powers of numbers."""

    def __init__(self, values):
        self.values = values
'''
STATS += "".join(f'''
    def power_{name}(self):
        """The mean of all the values that are not missing, each to the power of {number}."""
        values = _clean(self.values)
        total = 0
        for value in values:
            total += value**{number}
        return total / len(values)
''' for name, number in POWERS.items())  # fmt: skip
REPORT = """from model.stats import Summary


def describe(values):
    return f"{Summary(values).power_b():.1f}"
"""
TESTS = """import pytest

from model.report import describe
from model.stats import Summary, scale


def test_scale():
    assert scale([1, 2], 3) == [3, 6]


def test_describe():
    assert describe([1, None, 2]) == "1.5"


def test_truth():
    assert Summary([1]) is not None


def test_any_error():
    with pytest.raises(Exception):
        Summary([]).power_b()
"""
TESTS += "".join(f"""

@pytest.mark.parametrize("value", [0, 2])
def test_power_{name}(value):
    assert Summary([value, None, value]).power_{name}() == value**{number}
""" for name, number in POWERS.items())  # fmt: skip
FILES = {
    "model/__init__.py": "",
    "model/stats.py": STATS,
    "model/report.py": REPORT,
    "tests/test_stats.py": TESTS,
}
WORDS = "A summary holds numbers, of which some may be missing, and gives the mean of a power of them. " * 10
FACTS = {
    "votes": {"stage": ["training"] * 3, "task": ["general"] * 3, "data": ["others"] * 3},
    "attempts": [{"kind": "answer", "solved": True, "share": 1.0}],
    "reviewer": "a second person",
    "dropped": ["tests/test_stats.py::test_power_l[2]"],
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("components")
    write_project(root / "benchmark", root / "source", "model", FILES)
    return root


def run(root: Path, *arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in (*arguments, "--benchmark", root / "benchmark")])


def construct(root: Path, *options: object) -> Result:
    return run(root, "construct", "components", "model", "--work", root / "work", "--out", root / "out", *options)


@pytest.fixture(scope="module")
def proposal(root: Path) -> Path:
    result = construct(root, "--orders", 2)
    assert result.exit_code == 0, result.output
    assert result.output.count("on the release, order ") == 1
    (found,) = (root / "out").iterdir()
    return found


@pytest.fixture(scope="module")
def component(root: Path, proposal: Path) -> Component:
    folder = root / "descriptions"
    folder.mkdir()
    (folder / f"{proposal.name}.md").write_text(WORDS)
    result = construct(root, "--descriptions", folder)
    assert result.exit_code == 1
    assert "the description has no facts beside it" in str(result.output)
    (folder / f"{proposal.name}.json").write_text(json.dumps(FACTS))
    result = construct(root, "--descriptions", folder)
    assert result.exit_code == 0, result.output
    (record,) = read_tasks(root / "benchmark").values()
    assert isinstance(record, Component)
    return record


def test_a_class_goes_with_the_private_helper_that_only_it_uses(proposal: Path) -> None:
    facts = json.loads((proposal / "proposal.json").read_text())
    assert {"model/stats.py::Summary", "model/stats.py::_clean"} <= set(facts["asked"])
    assert facts["lines"] >= 60
    base = (proposal / "base/model/stats.py").read_text()
    assert "    def power_b(self):\n        raise NotImplementedError\n" in base
    assert "_clean" not in base
    assert "mean" not in base


def test_a_describer_gets_the_code_and_the_tests_that_judge(proposal: Path) -> None:
    assert "total / len(values)" in (proposal / "removed.py").read_text()
    tests = (proposal / "tests/tests/test_stats.py").read_text()
    assert "def test_power_b(" in tests
    assert "def test_truth" not in tests


def test_tests_that_pass_without_the_code_do_not_judge_and_must_still_pass(proposal: Path) -> None:
    facts = json.loads((proposal / "proposal.json").read_text())
    hidden, unchanged = ({test.rpartition("::")[2] for test in facts[key]} for key in ("hidden", "unchanged"))
    assert {f"test_power_{name}[{value}]" for name in POWERS for value in (0, 2)} <= hidden
    assert "test_any_error" in unchanged
    assert not {"test_truth", "test_any_error"} & hidden


def test_a_description_makes_a_record_with_labels_and_without_dropped_tests(component: Component) -> None:
    assert component.description == WORDS.strip()
    assert component.labels is not None
    assert component.labels.stage == "training"
    assert component.reviewer == "a second person"
    assert FACTS["dropped"][0] not in component.tests
    assert component.size == "S"


def test_the_record_is_valid_and_its_reference_passes(component: Component, root: Path, tmp_path: Path) -> None:
    result = run(root, "validate", "--track", "component", "--repeat", 2, "--shuffle")
    assert result.exit_code == 0, result.output
    folder = tmp_path / "answer"
    assert run(root, "task", "checkout", component.id, folder).exit_code == 0
    for path in component.files:
        (folder / path).write_text(FILES[path])
    solved = json.loads(run(root, "task", "submit", component.id, folder, "--json").stdout)
    assert (solved["status"], solved["share"]) == ("pass", 1.0)


def test_a_description_that_quotes_the_code_or_a_docstring_is_reported(component: Component, root: Path) -> None:
    benchmark = load(root / "benchmark")
    tree = source_tree(benchmark.projects["model"], benchmark.root)
    assert check_task(component, tree, "here") == []
    quoted = "The mean of all the values that are not missing, each to the power of 3. `total = total / len(values)`."
    found = check_task(component.model_copy(update={"description": quoted}), tree, "here")
    assert Kind.PROMPT_LEAKS_DOCSTRING in {problem.kind for problem in found}
    assert all("description" in problem.what for problem in found)


def test_a_second_run_repeats_nothing(root: Path, proposal: Path) -> None:
    before = (root / "work/model/runs.jsonl").read_bytes()
    assert construct(root, "--orders", 2).exit_code == 0
    assert (root / "work/model/runs.jsonl").read_bytes() == before


def test_a_project_without_components_is_an_error_with_the_reason(tmp_path: Path) -> None:
    small = {
        "small/__init__.py": "def one():\n    return 1\n",
        "tests/test_a.py": "import small\n\n\ndef test_one():\n    assert small.one() == 1\n",
    }
    write_project(tmp_path / "benchmark", tmp_path / "source", "small", small)
    result = run(tmp_path, "construct", "components", "small", "--work", tmp_path / "work", "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "no class, module or group of 60 to 1000 lines" in f"{result.output}{result.exception}"
