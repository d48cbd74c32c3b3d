"""Shingles find a copy inside a longer text."""

from hypothesis import given
from hypothesis import strategies as st

from dlbench.dataset.similarity import share_shown, shingle


def test_share_is_one_for_a_copy_inside_a_longer_text():
    asked = shingle("a = b + c * d")
    around = shingle("x = y ; a = b + c * d ; z = more ( words )")
    assert share_shown(asked, around) == 1
    assert share_shown(around, asked) < 0.3
    assert share_shown(asked, shingle("nothing of it is here at all")) == 0


@given(st.text("ab =(\n", max_size=30), st.text("ab =(\n", max_size=30))
def test_share_is_between_zero_and_one(one, other):
    assert 0 <= share_shown(shingle(one), shingle(other)) <= 1
    assert share_shown(shingle(one), shingle(one)) == 1
