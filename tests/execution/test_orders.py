"""Tests are tried in orders that differ, so that what needs another test before it is found out."""

from math import factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.validation.mutants import draw_orders


@pytest.mark.parametrize("count", [3, 4, 5, 9])
def test_five_orders_are_five_and_every_test_that_can_comes_first(count: int) -> None:
    tests = [f"t{number}" for number in range(count)]
    for key in ("toy/a", "toy/b", "toy/c"):
        orders = draw_orders(tests, 5, key)
        assert len(set(orders)) == 5
        assert len({order[0] for order in orders}) == min(5, count)


@given(st.integers(1, 6), st.integers(0, 8), st.text())
def test_every_order_has_every_test_once_and_is_drawn_the_same_again(count: int, times: int, key: str) -> None:
    tests = [f"t{number}" for number in range(count)]
    orders = draw_orders(tests, times, key)
    assert orders == draw_orders(tests, times, key)
    assert [sorted(order) for order in orders] == [sorted(tests)] * times
    assert len(set(orders)) == min(times, factorial(count))


def test_with_the_given_order_every_test_runs_once_before_every_other() -> None:
    """What one test leaves behind for another is then seen, whichever of them is written first."""
    tests = [f"t{number}" for number in range(6)]
    orders = [tests, *draw_orders(tests, 1, "toy/a")]
    before = {(first, then) for order in orders for place, first in enumerate(order) for then in order[place + 1 :]}
    assert before == {(first, then) for first in tests for then in tests if first != then}


def test_two_instances_with_as_many_tests_are_not_tried_in_the_same_orders() -> None:
    tests = [f"t{number}" for number in range(8)]
    assert draw_orders(tests, 5, "toy/a") != draw_orders(tests, 5, "toy/b")
