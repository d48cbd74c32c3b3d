"""A rule speaks only where it agrees with people; elsewhere a failure stays without a category."""

import tomllib
from pathlib import Path

import pytest

from dlbench.analysis.bugs import classify, read_categories
from dlbench.generation.techniques import catalogue
from tests.analysis.bugs.made import make_failure


@pytest.mark.parametrize(
    ("status", "category"),
    [
        ("syntax_error", "syntax_error"),
        ("no_code", "misinterpretation"),
        ("missing_target", "misinterpretation"),
        ("timeout", None),
        ("tampered", None),
    ],
)
def test_status_decides_where_it_states_the_cause(toy, status, category):
    found = classify(make_failure(toy, None, "", status=status))
    assert (found.category if found else None) == category


@pytest.mark.parametrize(
    ("error", "category"),
    [
        ("TypeError: scale() missing 1 required positional argument: 'factor'", "misinterpretation"),
        ("TypeError: Scaler.scale() got an unexpected keyword argument 'by'", "misinterpretation"),
        ("ImportError: cannot import name 'SHIFT' from 'toy.base' (/toy/base.py)", "wrong_attribute"),
        ("TypeError: rescale() missing 1 required positional argument: 'factor'", None),
        ("AssertionError: assert [1] == [2]", None),
        ("AttributeError: 'list' object has no attribute 'scaled'", None),
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x3 and 5x4)", None),
    ],
)
def test_error_decides_only_where_people_agree(toy, error, category):
    found = classify(make_failure(toy, "", error))
    assert (found.category if found else None) == category
    assert found is None or found.reason


def test_categories_match_those_of_the_bug_warnings():
    known = tomllib.loads(Path(catalogue.__file__).with_name("bugs.toml").read_text(encoding="utf-8"))["bug"]
    assert {one.name: one.seen for one in read_categories().values()} == {bug["kind"]: bug["seen"] for bug in known}
    assert len(known) == 14
