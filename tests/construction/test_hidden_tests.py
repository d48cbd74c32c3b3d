"""Hidden tests have visible relatives, and what only they mention is told."""

from pathlib import Path

import pytest

from dlbench.construction.hidden_tests import hide_tests
from dlbench.construction.rebuild import propose_units
from dlbench.construction.required_names import find_expected_errors, find_required_names, find_tests_of
from dlbench.dataset.records import strip_case
from dlbench.dataset.skeleton import reduce_tree

TESTS = [f"tests/test_{file}.py::Test{number}::test_{name}" for file in "ab" for number in range(3) for name in "wxyz"]
TESTS += [f"tests/test_c.py::test_{name}[{case}]" for name in "uvw" for case in range(4)]
TESTS += ["tests/test_alone.py::test_one", "tests/test_single.py::test_two"]
FUNCTIONS = {test: strip_case(test) for test in TESTS}


@pytest.mark.parametrize("seed", range(5))
def test_every_class_has_tests_on_both_sides_and_half_are_hidden(seed: int) -> None:
    hidden = hide_tests(FUNCTIONS, {}, seed)
    assert 0.4 <= len(hidden) / len(TESTS) <= 0.6
    for owner in {strip_case(test).rpartition("::")[0] for test in TESTS} - {
        "tests/test_alone.py",
        "tests/test_single.py",
    }:
        members = [test for test in TESTS if test.startswith(f"{owner}::")]
        assert 0 < sum(test in hidden for test in members) < len(members)


def test_the_cases_of_a_test_stay_together() -> None:
    """A file cannot show some cases of a test and hide others."""
    hidden = hide_tests(FUNCTIONS, {}, 0)
    for name in "uvw":
        cases = {test in hidden for test in TESTS if test.startswith(f"tests/test_c.py::test_{name}[")}
        assert len(cases) == 1


def test_the_choice_depends_on_the_seed_alone() -> None:
    assert hide_tests(FUNCTIONS, {}, 1) == hide_tests(FUNCTIONS, {}, 1)
    assert len({frozenset(hide_tests(FUNCTIONS, {}, seed)) for seed in range(5)}) > 1


@pytest.mark.parametrize("seed", range(5))
def test_a_module_has_tests_on_both_sides(seed: int) -> None:
    rare = {test: ["pkg/rare.py"] for test in (*TESTS[:2], *TESTS[12:14])}
    hidden = hide_tests(FUNCTIONS, rare, seed)
    assert 0 < sum(test in hidden for test in rare) < len(rare)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "pkg.py").write_text(
        "import library\n"
        "class Model:\n"
        "    def fit(self, rate=1.0):\n"
        "        '''Fit it; the learned values are in `weights`.'''\n"
        "        self.weights, self.means, self.seen = [], [], []\n"
        "        if rate < 0:\n"
        "            raise ValueError(f'the rate is {rate}, and must (be) positive')\n"
        "        library.draw()\n"
        "        return {'loss': 1, 'history': 2}\n"
    )
    (tmp_path / "test_shared.py").write_text(
        "import pytest\nfrom pkg import Model\n"
        "def helper(model):\n    return model.seen\n"
        "def test_visible():\n    assert Model().fit()['loss']\n"
        "def test_hidden():\n"
        "    model = Model(); model.fit(rate=2)\n"
        "    assert model.weights and model.means and model.seen and model.history and model.draw, 'the rate is 2, and must'\n"
        "    with pytest.raises(ValueError, match='^must \\\\(be\\\\) positive'):\n        model.fit(-1)\n"
    )
    (tmp_path / "test_other.py").write_text("from pkg import Model\ndef test_keys():\n    Model().fit()['history']\n")
    return tmp_path


def test_required_names_are_those_that_only_hidden_tests_mention(tree: Path) -> None:
    """In a pilot, ten of twelve failures were one attribute that only hidden tests read."""
    skeleton = reduce_tree(tree, ["pkg.py"], [])
    hidden = ["test_shared.py::test_hidden", "test_other.py::test_keys"]
    found = find_required_names(tree, skeleton, ["test_shared.py::test_visible"], hidden)
    assert found == ["history", "means", "must (be) positive"]
    assert find_tests_of(["must (be) positive"], tree, hidden) == {hidden[0]}
    assert find_tests_of(["history"], tree, hidden) == {hidden[1]}


def test_expected_errors_have_type_message_and_call(tree: Path) -> None:
    """Some failures of rebuilds were types of errors that nothing had named."""
    with (tree / "test_other.py").open("a") as file:
        file.write("def test_errors(kind):\n    with pytest.raises(kind):\n        Model().fit(-2)\n")
        file.write(
            "    with pytest.warns(DeprecationWarning):\n        Model()\n    with pytest.raises(KeyError):\n        1\n"
        )
    hidden = ["test_shared.py::test_hidden", "test_other.py::test_errors"]
    found = find_expected_errors(tree, ["test_shared.py::test_visible"], hidden)
    assert found == ["DeprecationWarning from Model()", "ValueError: must (be) positive from fit()"]


def test_names_of_visible_tests_are_known(tree: Path) -> None:
    skeleton = reduce_tree(tree, ["pkg.py"], [])
    found = find_required_names(tree, skeleton, ["test_shared.py::test_hidden"], ["test_other.py::test_keys"])
    assert found == []


def test_what_the_folder_does_not_show_is_not_known(tree: Path) -> None:
    """The cases of a hidden test, a test of its file that is in no list, and a test that a hidden class inherits."""
    (tree / "test_shared.py").write_text(
        "import pytest\nfrom pkg import Model\n"
        "def test_unlisted():\n    assert Model().means\n"
        "@pytest.mark.parametrize('key', ['history'])\ndef test_cases(key):\n    assert Model().fit()[key]\n"
        "class TestBase:\n    def test_seen(self):\n        assert Model().seen\n\n"
        "class TestSub(TestBase):\n    x = 1\n"
        "def test_visible():\n    assert Model()\n"
    )
    (tree / "test_other.py").write_text("from pkg import Model\ndef test_means():\n    assert Model().means\n")
    names = ("shared.py::test_cases[history]", "shared.py::TestSub::test_seen", "other.py::test_means")
    visible = ["test_shared.py::test_visible", "test_shared.py::TestBase::test_seen"]
    found = find_required_names(tree, reduce_tree(tree, ["pkg.py"], []), visible, [f"test_{name}" for name in names])
    assert found == ["history", "means", "seen"]


SIZES = {"pkg/a/x.py": 300, "pkg/a/y.py": 300, "pkg/b.py": 500, "pkg/c/d/z.py": 900, "pkg/c/e.py": 400, "pkg/f.py": 50}


@pytest.mark.parametrize(
    ("least", "most", "names"),
    [
        (500, 5000, ["rebuild-pkg"]),
        (500, 1200, ["rebuild-pkg.c.d.z", "rebuild-pkg.a+b+f"]),
        (100, 600, ["rebuild-pkg.a", "rebuild-pkg.c.e", "rebuild-pkg.b+f"]),
        (6000, 9000, []),
    ],
)
def test_units_are_the_whole_package_or_parts_that_fit(least: int, most: int, names: list[str]) -> None:
    units = propose_units(SIZES, ".", least, most)
    assert [unit.name for unit in units] == names
    for unit in units:
        assert least <= sum(SIZES[path] for path in unit.files) <= most


def test_units_are_named_as_they_are_imported() -> None:
    assert [one.name for one in propose_units({"src/pkg/a.py": 600}, "src", 500, 1000)] == ["rebuild-pkg.a"]
