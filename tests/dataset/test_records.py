"""Test ids are split at the test's own brackets, never at those of a folder."""

import pytest

from dlbench.dataset.records import strip_case
from dlbench.execution.inside.pytest_runner import pytest_arguments


@pytest.mark.parametrize(
    ("test", "function"),
    [
        ("a[b]/t.py::T::test_x[1-[2]]", "a[b]/t.py::T::test_x"),
        ("t.py::test_x[a::b]", "t.py::test_x"),
        ("t.py::test_x", "t.py::test_x"),
    ],
)
def test_case_is_removed_and_folder_is_kept(test: str, function: str) -> None:
    assert strip_case(test) == function


def test_pytest_collects_a_folder_with_brackets_from_above() -> None:
    """pytest takes every bracket of an argument for the case of a test, and finds no such path."""
    tests = ["tests/a[b]/t.py::test_x[1]", "[b]/t.py::test_x", "tests/t.py::test_y[a::b]", "tests/t.py::test_y[c]"]
    arguments = pytest_arguments({"tests": tests, "tree": "/tree", "args": []})
    assert arguments[-3:] == ["tests", ".", "tests/t.py::test_y"]
