"""What is known of a failure is taken from its message and its code, and what cannot be known is said."""

import ast
import inspect
import random

import pytest
from dlbench.analysis.bugs.ast_diff import compare, read_reference
from dlbench.analysis.bugs.planting.naming import rename_locals
from dlbench.analysis.bugs.planting.rewriting import reword
from hypothesis import given
from hypothesis import strategies as st

from dlbench.analysis.bugs import ast_diff, evidence
from dlbench.analysis.bugs.evidence import collect, read_message
from dlbench.analysis.bugs.explain import Library, explain
from dlbench.dataset.target import parse_function
from tests.analysis.bugs.made import BODY, CHECK, HEADER, find_evidence, inside, make_failure

FUNCTIONS = [
    node
    for module in (ast_diff, evidence, evidence, ast_diff)
    for node in ast.parse(inspect.getsource(module)).body
    if isinstance(node, ast.FunctionDef)
]
"""Functions of ours, to change and compare."""


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
def test_the_place_where_an_error_was_raised_is_found(toy, frames, site, called):
    failure = make_failure(toy, "", "TypeError: wrong", frames=frames)
    raised = read_message(failure.verdict, failure.instance)
    assert (raised.type, raised.text, raised.site, raised.called) == ("TypeError", "wrong", site, called)


def test_shapes_and_types_of_a_message_are_read(toy):
    error = "ValueError: operands could not be broadcast together with shapes (3,4) (4,) and dtype float32"
    raised = find_evidence(toy, HEADER + BODY, error).raised
    assert raised.shapes == ("(3,4)", "(4,)")
    assert "float32" in raised.dtypes


@given(st.text(max_size=300))
def test_any_message_can_be_read(text):
    assert read_message({"message": text}, _Named()).site in {"", "candidate", "library", "project", "caller", "test"}


class _Named:
    qualname, path, test_files = "f", "a/b.py", ()


@pytest.mark.parametrize("place", range(len(FUNCTIONS)))
def test_other_names_for_variables_are_no_difference(place):
    function = FUNCTIONS[place]
    found = compare(read_reference(ast.unparse(function)), rename_locals(function))
    assert (found.edits, found.removed, found.added) == ((), (), ())


@pytest.mark.parametrize("seed", range(6))
def test_other_words_leave_most_statements_alike(seed):
    alike = []
    for function in FUNCTIONS:
        made = ast.fix_missing_locations(reword(function, random.Random(seed)))
        alike.append(compare(read_reference(ast.unparse(function)), parse_function(ast.unparse(made))).likeness)
    assert sum(alike) / len(alike) > 0.8


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (HEADER + CHECK + BODY.replace("* factor", "/ factor"), "operator"),
        (HEADER + CHECK.replace("== 0", "== 1") + BODY, "constant"),
        (HEADER + CHECK.replace("==", "!=") + BODY, "comparison"),
        (HEADER + CHECK + BODY.replace("* factor", "* 2"), "fixed"),
        (HEADER + CHECK + "    return str([value * factor + OFFSET for value in values])\n", "wrapped"),
        (HEADER + CHECK + "    return\n", "nothing returned"),
    ],
    ids=["operator", "constant", "comparison", "parameter", "result", "nothing"],
)
def test_a_change_is_named(toy, code, kind):
    assert [edit.kind for edit in find_evidence(toy, code).difference.edits] == [kind]


def test_what_is_missing_is_told_apart_by_whether_the_prompt_states_it(toy):
    code = HEADER + BODY
    assert find_evidence(toy, code).told == ("ValueError",)
    assert find_evidence(toy, code, prompt="Multiply them.").untold == ("ValueError",)


def test_names_that_nobody_has_are_found_without_running(toy):
    found = find_evidence(toy, HEADER + "    made = convert(values)\n    return self.x + other + OFFSET\n")
    assert found.names.undefined == ("convert", "other", "self")
    assert found.names.called == ("convert",)


def test_a_statement_is_found_by_its_line(toy):
    found = find_evidence(toy, HEADER + CHECK + BODY, "TypeError: wrong", frames=inside(4))
    assert found.statement.startswith("return [")


@pytest.mark.parametrize(
    "code",
    [None, "def scale(:\n", "def scale(a, a):\n    return a\n", "x = 1\n"],
    ids=["none", "broken", "a parameter twice", "no function"],
)
def test_code_that_cannot_be_compared_is_said(toy, code):
    found = find_evidence(toy, code)
    assert found.difference is None
    assert found.notes


def test_a_project_that_is_not_prepared_is_said(toy):
    found = collect(make_failure(toy, HEADER + BODY), None)
    assert found.difference is None
    assert any("not prepared" in note for note in found.notes)


DEEP = {
    "a long sum": f"    return {' + '.join(['1'] * 900)}\n",
    "many elifs": "    if values == 0:\n        return 0\n"
    + "".join(f"    elif values == {number}:\n        return {number}\n" for number in range(1, 600)),
}


@pytest.mark.parametrize("body", DEEP.values(), ids=DEEP)
def test_one_answer_without_an_end_does_not_cost_the_others_their_explanation(toy, toy_prepared, body):
    deep, usual = explain([make_failure(toy, HEADER + body), make_failure(toy, HEADER + BODY)], Library(toy))
    assert "the code is nested too deeply to be compared" in deep.evidence.notes
    assert usual.evidence.difference is not None
