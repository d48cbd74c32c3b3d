"""References are measured as code, whether they are functions, methods or loose statements."""

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


def test_statements_count_as_they_stand_without_a_header():
    # cyclomatic 1 + for + if; cognitive 1 for the loop and 2 for the condition in it
    assert measured(LOOP) == (3, 3, 3, 2, 1)


def test_a_function_among_statements_is_no_deeper_for_it():
    code = f"def g(rows):\n    total = 0\n{''.join(f'    {line}' + chr(10) for line in LOOP.splitlines())}    return total\n\nresult = g(df)\n"
    assert measured(code) == (7, 3, 3, 2, 2)


def test_comments_and_strings_that_say_something_to_readers_do_not_count():
    assert measured('# why\n\n"""What."""\nx = 1  # so\n') == (1, 1, 0, 0, 0)


@pytest.mark.parametrize("margin", ["    ", "\t"])
def test_a_body_that_stands_indented_is_measured_with_its_comments_at_the_margin(margin):
    code = f'# def solve(rows):\n{margin}### BEGIN\n{margin}"""words"""\n{margin}if rows:\n{margin}    rows = g()\n{margin}return rows\n'
    assert measured(code) == (3, 2, 1, 1, 1)


def test_a_function_is_measured_alike_with_a_comment_above_it():
    function = "def f(x):\n    return g(x)\n"
    assert measured(function) == measured(f"# why\n\n{function}") == (2, 1, 0, 0, 1)


def test_nothing_has_no_lines_and_breaks_nothing():
    assert measured("# nothing\n") == (0, 1, 0, 0, 0)


def test_missing_and_broken_references_are_told_apart_and_counted_nowhere():
    found = measure_complexity(make_corpus("x = 1\n", None, "def (:\n"))
    assert (found.items, found.without_code, found.unparsed) == (3, 1, ("2",))
    assert {found.figures[name].count for name in MEASURES} == {1}


def test_shares_of_bins_add_up_and_fall_where_they_belong():
    found = measure_complexity(make_corpus("x = 1\n", "x = 1\ny = 2\n", LOOP))
    for name in MEASURES:
        assert sum(found.bins[name]) == pytest.approx(1)
        assert len(found.bins[name]) == len(BINS[name])
    assert found.bins["lines"][:3] == pytest.approx((1 / 3, 2 / 3, 0))


def test_figures_are_as_worked_by_hand_and_not_a_number_of_nothing():
    found = find_figures([1, 2, 3, 4, 10])
    assert (found.count, found.mean, found.median, found.most) == (5, 4, 3, 10)
    assert found.deviation == pytest.approx(math.sqrt(50 / 4))
    assert math.isnan(find_figures([]).mean)
    assert all(map(math.isnan, count_bins([], [0, 1])))
