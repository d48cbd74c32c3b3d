"""References are measured, whether they are functions, methods or loose statements."""

import math

import pytest

from dlbench.analysis.complexity import BINS, MEASURES, count_bins, find_figures, measure_code, measure_complexity
from dlbench.analysis.corpora import Corpus, Item

LOOP = "for row in rows:\n    if row:\n        total += f(row)\n"


def make_corpus(*codes):
    return Corpus("made", tuple(Item(str(number), "p", code, "g", {}) for number, code in enumerate(codes)))


def measured(code):
    found = measure_code(code)
    return found.loc, found.cyclomatic, found.cognitive, found.nesting, found.calls


def test_statements_are_measured_without_a_header():
    # cyclomatic 1 + for + if; cognitive 1 for the loop and 2 for the condition in it
    assert measured(LOOP) == (3, 3, 3, 2, 1)


def test_function_among_statements_is_not_nested_deeper():
    code = f"def g(rows):\n    total = 0\n{''.join(f'    {line}' + chr(10) for line in LOOP.splitlines())}    return total\n\nresult = g(df)\n"
    assert measured(code) == (7, 3, 3, 2, 2)


def test_comments_and_docstrings_do_not_count():
    assert measured('# why\n\n"""What."""\nx = 1  # so\n') == (1, 1, 0, 0, 0)


@pytest.mark.parametrize("margin", ["    ", "\t"])
def test_indented_body_is_measured(margin):
    code = f'# def solve(rows):\n{margin}### BEGIN\n{margin}"""words"""\n{margin}if rows:\n{margin}    rows = g()\n{margin}return rows\n'
    assert measured(code) == (3, 2, 1, 1, 1)


def test_comment_above_a_function_changes_nothing():
    function = "def f(x):\n    return g(x)\n"
    assert measured(function) == measured(f"# why\n\n{function}") == (2, 1, 0, 0, 1)


def test_empty_code_has_no_lines():
    assert measured("# nothing\n") == (0, 1, 0, 0, 0)


def test_missing_and_broken_references_are_not_counted():
    found = measure_complexity(make_corpus("x = 1\n", None, "def (:\n"))
    assert (found.items, found.without_code, found.unparsed) == (3, 1, ("2",))
    assert {found.figures[name].count for name in MEASURES} == {1}


def test_bins_add_up_to_one():
    found = measure_complexity(make_corpus("x = 1\n", "x = 1\ny = 2\n", LOOP))
    for name in MEASURES:
        assert sum(found.bins[name]) == pytest.approx(1)
        assert len(found.bins[name]) == len(BINS[name])
    assert found.bins["lines"][:3] == pytest.approx((1 / 3, 2 / 3, 0))


def test_figures_match_those_computed_by_hand_and_are_nan_without_values():
    found = find_figures([1, 2, 3, 4, 10])
    assert (found.count, found.mean, found.median, found.most) == (5, 4, 3, 10)
    assert found.deviation == pytest.approx(math.sqrt(50 / 4))
    assert math.isnan(find_figures([]).mean)
    assert all(map(math.isnan, count_bins([], [0, 1])))
