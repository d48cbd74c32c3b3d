"""Tests are tried in orders that differ, so that what needs another test before it is found out."""

from math import factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.execution.orders import draw_orders


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


def test_two_instances_with_as_many_tests_are_not_tried_in_the_same_orders() -> None:
    tests = [f"t{number}" for number in range(8)]
    assert draw_orders(tests, 5, "toy/a") != draw_orders(tests, 5, "toy/b")
