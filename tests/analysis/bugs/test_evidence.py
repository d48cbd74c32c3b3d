"""Evidence on a failure comes from its message and code; what cannot be determined is noted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.analysis.bugs.evidence import collect, read_message
from dlbench.analysis.bugs.explain import ProjectModules, explain
from tests.analysis.bugs.made import BODY, CHECK, HEADER, find_evidence, inside, make_failure


@pytest.mark.parametrize(
    ("frames", "site", "called"),
    [
        (inside(2), "candidate", ""),
        ([*inside(2), "numpy/core/fromnumeric.py:70: in sum"], "library", "sum"),
        ([*inside(2), "toy/base.py:3: in help"], "project", "help"),
        (["tests/test_core.py:8: in test_scale"], "test", ""),
        (["tests/test_core.py:8: in test_scale", "toy/base.py:9: in use"], "caller", ""),
        (["tests/test_core.py:8: in test_scale", "toy/core.py:9: in scale"], "candidate", ""),
    ],
    ids=["candidate", "library", "project", "test", "caller", "fresh mode"],
)
def test_site_of_error_is_found(toy, frames, site, called):
    failure = make_failure(toy, "", "TypeError: wrong", frames=frames)
    raised = read_message(failure.verdict, failure.instance)
    assert (raised.type, raised.text, raised.site, raised.called) == ("TypeError", "wrong", site, called)


def test_shapes_and_dtypes_of_a_message_are_read(toy):
    error = "ValueError: operands could not be broadcast together with shapes (3,4) (4,) and dtype float32"
    raised = find_evidence(toy, HEADER + BODY, error).raised
    assert raised.shapes == ("(3,4)", "(4,)")
    assert "float32" in raised.dtypes


@given(st.text(max_size=300))
def test_any_message_can_be_read(text):
    assert read_message({"message": text}, _Named()).site in {"", "candidate", "library", "project", "caller", "test"}


class _Named:
    qualname, path, test_files = "f", "a/b.py", ()


def test_undefined_names_are_found_without_running(toy):
    found = find_evidence(toy, HEADER + "    made = convert(values)\n    return self.x + other + OFFSET\n")
    assert found.names.undefined == ("convert", "other", "self")
    assert found.names.called == ("convert",)


def test_statement_is_found_by_its_line(toy):
    found = find_evidence(toy, HEADER + CHECK + BODY, "TypeError: wrong", frames=inside(4))
    assert found.statement.startswith("return [")


@pytest.mark.parametrize(
    "code",
    [None, "def scale(:\n", "def scale(a, a):\n    return a\n", "x = 1\n"],
    ids=["none", "broken", "a parameter twice", "no function"],
)
def test_code_that_cannot_be_analysed_is_noted(toy, code):
    found = find_evidence(toy, code)
    assert found.statement == ""
    assert found.notes


def test_unprepared_project_is_noted(toy):
    found = collect(make_failure(toy, HEADER + BODY), None)
    assert found.names.undefined == ()
    assert any("not prepared" in note for note in found.notes)


def test_deeply_nested_answer_does_not_stop_the_others(toy, toy_prepared):
    body = f"    return {' + '.join(['1'] * 900)}\n"
    deep, usual = explain([make_failure(toy, HEADER + body), make_failure(toy, HEADER + BODY)], ProjectModules(toy))
    assert "the code is nested too deeply to be analysed" in deep.evidence.notes
    assert usual.evidence.notes == ()
