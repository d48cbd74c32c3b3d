"""Results match an independent computation: numpy, or a plain loop over the definition."""

import math
from array import array
from itertools import combinations, permutations
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlbench.scoring import summarise
from dlbench.scoring.intervals import RESAMPLES, Clusters, bound, resample_columns
from dlbench.scoring.significance import cohen_d, fisher_ratio, rank, spearman, spearman_p
from dlbench.scoring.summary import spread
from tests.scoring.made import make_benchmark, verdicts

NUMBERS = st.lists(st.floats(-100, 100, allow_nan=False), min_size=2, max_size=50)


@settings(max_examples=40)
@given(NUMBERS)
def test_percentiles_match_numpy(values):
    found = bound(values, "bootstrap")
    assert (found.low, found.high) == pytest.approx(tuple(np.percentile(values, [2.5, 97.5])), abs=1e-9)


@settings(max_examples=40)
@given(NUMBERS)
def test_variance_and_deviation_match_numpy(values):
    found = spread(values)
    assert found.variance == pytest.approx(np.var(values, ddof=1), rel=1e-6, abs=1e-9)
    assert found.deviation == pytest.approx(np.std(values, ddof=1), rel=1e-6, abs=1e-6)


def test_resampled_means_match_numpy_bootstrap():
    values = np.array([Random(5).choice([0, 0.3, 0.5, 1]) for _ in range(150)])
    drawn = np.random.default_rng(1).integers(0, len(values), (4 * RESAMPLES, len(values)))
    theirs = values[drawn].mean(axis=1)
    ours = resample_columns([list(values)])[0]
    for share in (2.5, 25, 50, 75, 97.5):
        assert np.percentile(ours, share) == pytest.approx(np.percentile(theirs, share), abs=0.3 * theirs.std())


def test_resampled_projects_match_numpy_bootstrap():
    random = Random(6)
    clusters = [
        [float(random.random() < chance) for _ in range(random.randint(1, 20))] for chance in np.linspace(0, 1, 12)
    ]
    sums, sizes = np.array([sum(each) for each in clusters]), np.array([len(each) for each in clusters])
    drawn = np.random.default_rng(2).integers(0, len(clusters), (4 * RESAMPLES, len(clusters)))
    theirs = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    names = [str(number) for number, each in enumerate(clusters) for _ in each]
    ours = Clusters(names).resample_columns([[value for each in clusters for value in each]])[0]
    for share in (2.5, 25, 50, 75, 97.5):
        assert np.percentile(ours, share) == pytest.approx(np.percentile(theirs, share), abs=0.3 * theirs.std())


def test_pass_at_k_interval_matches_a_plain_bootstrap():
    """The same draws from Python's own generator, every estimate by counting all pairs and triples of samples."""
    benchmark, random = make_benchmark(40, 5), Random(9)
    chances = [random.random() for _ in range(40)]
    marks = ["".join("01"[random.random() < chance] for chance in chances) for _ in range(5)]
    overall = summarise(verdicts(benchmark, *marks), benchmark, ks=(1, 2, 3, 9)).overall
    drawn = Random(0)
    places = [[n * 40 >> 32 for n in array("I", drawn.randbytes(160))] for _ in range(RESAMPLES)]
    for k in (1, 2, 3):
        chosen = list(combinations(range(5), k))
        estimates = [np.mean([any(marks[s][i] == "1" for s in each) for each in chosen]) for i in range(40)]
        means = [np.mean([estimates[place] for place in each]) for each in places]
        found = overall.pass_at_interval[k]
        assert overall.pass_at[k] == pytest.approx(np.mean(estimates))
        assert (found.low, found.high) == pytest.approx(tuple(np.percentile(means, [2.5, 97.5])), abs=2e-5)
        assert found.kind == "bootstrap"
    assert math.isnan(overall.pass_at_interval[9].low)


LISTS = st.integers(3, 5).flatmap(lambda n: st.tuples(*[st.lists(st.integers(0, 9), min_size=n, max_size=n)] * 2))


@settings(max_examples=25)
@given(LISTS)
def test_benchmark_comparison_matches_numpy(lists):
    here, there = lists
    if len(set(here)) > 1 and len(set(there)) > 1:
        ranks = [
            [np.mean([sorted(values).index(v) + 1, len(values) - sorted(values)[::-1].index(v)]) for v in values]
            for values in lists
        ]
        assert [rank(values) for values in lists] == ranks
        rho = np.corrcoef(*ranks)[0, 1]
        assert spearman(here, there) == pytest.approx(rho)
        orders = [abs(np.corrcoef(ranks[0], order)[0, 1]) >= abs(rho) - 1e-9 for order in permutations(ranks[1])]
        assert spearman_p(here, there) == pytest.approx(np.mean(orders))
        within = np.var(here, ddof=1) + np.var(there, ddof=1)
        apart = np.mean(here) - np.mean(there)
        assert fisher_ratio(here, there) == pytest.approx(apart**2 / within)
        assert cohen_d(here, there) == pytest.approx(apart / math.sqrt(within / 2))
