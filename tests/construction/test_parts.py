"""Small parts of construction: names, requirements, choice of tests, drafts."""

import asyncio

import pytest

from dlbench.construction.collect import is_test_code
from dlbench.construction.extract import name_module
from dlbench.construction.labelling.catalogue import draft_project, draft_prompt
from dlbench.construction.project_spec import ProjectSpec, find_missing, read_project_requirements, read_specs
from dlbench.construction.trace import TracedTest, choose_tests, name_group
from dlbench.dataset.labels import Framework
from dlbench.dataset.leakage import UNREVIEWED, is_draft
from dlbench.dataset.records import strip_case
from dlbench.errors import DLBenchError
from dlbench.generation import Answer, Model, RateLimiter, Request
from tests.construction.labelling import CLIP, SHARE, make_trees, make_work


@pytest.mark.parametrize(
    ("path", "root", "module"),
    [
        ("toy/core.py", ".", "toy.core"),
        ("src/toy/core.py", "src", "toy.core"),
        ("src/toy/__init__.py", "src", "toy"),
        ("other/core.py", "src", ""),
        ("toy/my-script.py", ".", ""),
        ("setup.py", ".", "setup"),
    ],
)
def test_module_name_is_the_import_name(path, root, module):
    assert name_module(path, root) == module


@pytest.mark.parametrize(
    "path", ["tests/a.py", "p/test_x.py", "p/x_test.py", "p/testing/y.py", "conftest.py", "p/test_utils.py"]
)
def test_test_code_is_recognized_by_path(path):
    assert is_test_code(path)


@pytest.mark.parametrize("path", ["p/core.py", "p/latest.py", "p/contest.py", "p/attestation/x.py"])
def test_similar_names_are_not_test_code(path):
    assert not is_test_code(path)


def test_case_is_stripped_but_not_the_folder():
    assert strip_case("a[b]/t.py::T::test_x[1-[2]]") == "a[b]/t.py::T::test_x"
    assert strip_case("t.py::test_x") == "t.py::test_x"


def test_numbered_tests_are_grouped():
    numbered = ["T::test_shape_00_float32", "T::test_shape_11", "T::test_shape12", "T::test_shape[3]", "T::test_shape"]
    assert {name_group(f"t.py::{name}") for name in numbered} == {"t.py::T::test_shape"}
    assert name_group("t_2.py::test_x") == "t_2.py::test_x"


def make_test(name: str, direct=(), deeper=(), seconds=0.1, outcome="passed") -> TracedTest:
    return TracedTest(name, outcome, seconds, tuple(direct), tuple(deeper))


def test_slow_tests_are_taken_to_reach_the_minimum():
    slow = [make_test(name, direct=[1], seconds=0.9) for name in "abcdefgh"]
    assert choose_tests(1, slow) == ["a", "b", "c"]
    very = [make_test(name, direct=[1], seconds=9.0) for name in "abc"]
    assert choose_tests(1, very) == ["a", "b"], "twenty seconds are the most"


def test_direct_tests_come_first():
    tests = [make_test("a", deeper=[1]), make_test("b", direct=[1]), make_test("c", direct=[2])]
    assert choose_tests(1, tests, most=1) == ["b"]
    assert choose_tests(1, tests) == ["a", "b"]


def test_failing_tests_are_not_chosen():
    assert choose_tests(1, [make_test("a", direct=[1], outcome="failed"), make_test("b", [1], outcome="skipped")]) == []


def test_cases_are_spread_over_tests():
    many = [make_test(f"t::a[{number:03}]", [1], seconds=0.01) for number in range(50)]
    others = [make_test(f"t::b{letter}", [1, 2, 3], seconds=0.01) for letter in "vwxyz"]
    chosen = choose_tests(1, [*many, *others], most=12)
    assert {test for test in chosen if "::b" in test} == {test.id for test in others}


def test_time_limit_allows_a_few_slow_tests():
    assert len(choose_tests(1, [make_test(f"t::{n}", [1], seconds=0.4) for n in range(20)])) == 5
    assert len(choose_tests(1, [make_test(f"t::{n}", [1], seconds=0.0625) for n in range(40)])) == 9


def test_missing_modules_are_mapped_to_packages():
    errors = ["ModuleNotFoundError: No module named 'cv2'", "No module named 'yaml'", "No module named 'cv2.x'"]
    assert find_missing(errors) == ["opencv-python-headless", "pyyaml"]


def test_test_requirements_are_read_without_tools(tmp_path):
    (tmp_path / "PKG-INFO").write_text(
        "Metadata-Version: 2.1\nName: p\nVersion: 1\nRequires-Dist: numpy>=1.2\n"
        'Requires-Dist: parameterized; extra == "test"\nRequires-Dist: black; extra == "test"\n'
        'Requires-Dist: pywin32; sys_platform == "win32"\nRequires-Dist: plotly; extra == "plots"\n\nText\n'
    )
    found = read_project_requirements(tmp_path, ("scipy",), only_these=False)
    assert found == ["numpy>=1.2", "parameterized", "scipy", "pytest"]
    assert read_project_requirements(tmp_path, ("scipy",), only_these=True) == ["scipy", "pytest"]


@pytest.mark.parametrize("text", ["[[project]]\nversion = '1'\n", "[[project]]\nname='a'\ncolour='b'\n", "nothing", ""])
def test_invalid_project_list_is_rejected_with_a_fix(tmp_path, text):
    path = tmp_path / "projects.toml"
    path.write_text(text)
    with pytest.raises(DLBenchError, match="not a list of projects"):
        read_specs(path)


def test_unknown_framework_is_rejected_with_its_table(tmp_path):
    path = tmp_path / "projects.toml"
    path.write_text('[[project]]\nname = "a"\nframework = "torch"\n[[project]]\nname = "b"\nframework = "pytorch"\n')
    with pytest.raises(DLBenchError, match=r"'torch', 'jax'.*not 'pytorch'") as caught:
        read_specs(path)
    assert caught.value.where == f"{path}: project 2 (b)"
    assert caught.value.fix == "use one of those listed"
    path.write_text('[[project]]\nname = "a"\nframework = "torch"\n')
    assert read_specs(path) == [ProjectSpec("a", framework=Framework.TORCH)]


class Parrot(Model):
    """A model with fixed answers."""

    name = "parrot"

    def __init__(self, text: str) -> None:
        self.text = text

    async def answer(self, request: Request) -> Answer:
        return Answer(self.text)


def test_draft_is_marked_and_lists_copied_text():
    source = 'def f(x):\n    """Gives the sum of all things that are in x and nothing else at all today."""\n    return total_of(x) + 1\n'
    row = {"id": "p/m.f", "qualname": "f", "path": "m.py"}
    parrot = Parrot("It gives the sum of all things that are in x and nothing else at all today.")
    draft = asyncio.run(draft_prompt(RateLimiter(parrot), row, source))
    assert draft["prompt"].startswith(UNREVIEWED)
    assert is_draft(draft["prompt"])
    assert any("docstring" in what for what in draft["taken"])
    clean = asyncio.run(draft_prompt(RateLimiter(Parrot("Add up what the argument holds.")), row, source))
    assert clean["taken"] == []


def test_each_admissible_function_is_drafted_once(tmp_path):
    work, tree = make_work(tmp_path / "work"), make_trees(tmp_path / "trees") / "melody"
    work.path("drafts", "melody").unlink()
    drafted: list[str] = []

    def draft(most: int | None) -> int:
        gate = RateLimiter(Parrot("Add up what the argument holds."))
        return asyncio.run(draft_project(work, "melody", tree, gate, most=most, on_draft=drafted.append))

    assert draft(1) == 1
    assert draft(None) == draft(None) == 2
    assert drafted == [CLIP, SHARE], "a function that is not admissible wants none"
    rows = work.read("drafts", "melody")
    assert [(row["id"], row["by"], is_draft(row["prompt"])) for row in rows] == [
        (CLIP, "parrot", True),
        (SHARE, "parrot", True),
    ]
