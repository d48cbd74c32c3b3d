"""Mean cosines are over all pairs, intervals contain them, near-duplicates are found."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.analysis.divergence import Texts, measure_distances, project_to_plane


def make(name, rows):
    vectors = np.array(rows, dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Texts(name, tuple(f"{name}{number}" for number in range(len(rows))), vectors)


def draw(name, size, seed, shift=0.0):
    rows = np.random.default_rng(seed).normal(size=(size, 8))
    rows[:, 0] += shift
    return make(name, rows)


def test_mean_is_over_all_pairs_without_self_pairs():
    a, b = make("a", [(1, 0), (0, 1)]), make("b", [(1, 0), (1, 1)])
    within, other, between = measure_distances([a, b], "prompt", "none")
    assert (within.here, within.there, within.mean) == ("a", "a", 0)
    assert other.mean == pytest.approx(math.sqrt(0.5))
    assert between.mean == pytest.approx((1 + math.sqrt(0.5) + 0 + math.sqrt(0.5)) / 4)
    assert between.nearest == pytest.approx((1 + math.sqrt(0.5)) / 2)


def test_intervals_contain_the_mean_and_are_reproducible():
    texts = [draw("a", 60, 1, 2.0), draw("b", 80, 2, 2.0)]
    for one, again in zip(measure_distances(texts, "code", "x"), measure_distances(texts, "code", "x"), strict=True):
        assert one.interval.low < one.mean < one.interval.high
        assert one.interval == again.interval


def test_interval_narrows_with_more_texts():
    def width(size):
        *_, one = measure_distances([draw("a", size, 1, 2.0), draw("b", size, 2, 2.0)], "prompt", "x")
        return one.interval.high - one.interval.low

    assert width(400) < width(40) / 2


def test_shared_text_is_the_nearest_pair_and_a_near_duplicate():
    a, b = draw("a", 30, 1), draw("b", 30, 2)
    b.vectors[7] = a.vectors[4]
    *_, between = measure_distances([a, b], "prompt", "x")
    assert (between.closest[0].here, between.closest[0].there) == ("a4", "b7")
    assert between.closest[0].cosine == pytest.approx(1)
    assert between.near_duplicates >= 1


def test_text_is_not_its_own_neighbour_and_pairs_count_once():
    within, *_ = measure_distances([make("a", [(1, 0), (1, 0.01), (0, 1)])], "prompt", "x")
    assert within.near_duplicates == 1
    assert (within.closest[0].here, within.closest[0].there) == ("a0", "a1")


def test_single_text_gives_nan():
    (within,) = measure_distances([make("a", [(1, 0)])], "prompt", "x")
    assert math.isnan(within.mean)
    assert within.interval.kind == "n/a"
    assert within.closest == ()
    assert within.neighbours == ()


def test_all_near_duplicates_and_neighbours_are_listed():
    """A count of pairs is of little use if the pairs cannot be inspected."""
    same = Texts("a", tuple(f"a{n}" for n in range(8)), np.ones((8, 1), dtype=np.float32))
    (within,) = measure_distances([same], "prompt", "e")
    assert within.near_duplicates == len(within.closest) == 28
    assert [pair.here for pair in within.neighbours] == list(same.ids)
    assert all(pair.here != pair.there for pair in within.neighbours)


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 99))
def test_mean_is_the_product_of_mean_vectors(here, there, seed):
    a, b = draw("a", here, seed), draw("b", there, seed + 1)
    *_, between = measure_distances([a, b], "prompt", "x")
    assert between.mean == pytest.approx(float(a.vectors.mean(0) @ b.vectors.mean(0)), abs=1e-6)


def test_projection_covers_every_text_and_is_seeded():
    pytest.importorskip("sklearn")
    texts = [draw("a", 12, 1), draw("b", 9, 2)]
    first, second = project_to_plane(texts), project_to_plane(texts)
    assert {name: len(places) for name, places in first.items()} == {"a": 12, "b": 9}
    assert np.array_equal(first["a"], second["a"])


@pytest.mark.parametrize("sizes", [(1,), (1, 0), (1, 1), (2,)], ids=str)
def test_projection_of_few_texts_works(sizes):
    pytest.importorskip("sklearn")
    texts = [draw(f"set {place}", size, place) for place, size in enumerate(sizes)]
    found = project_to_plane(texts)
    assert {name: places.shape for name, places in found.items()} == {
        f"set {place}": (size, 2) for place, size in enumerate(sizes)
    }
    assert all(np.isfinite(places).all() for places in found.values())
