"""pass@k is unbiased, undefined values are NaN, and every instance counts once."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.scoring import pass_at_k, summarise


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_matches_enumeration_of_draws(case):
    n, c, k = case
    draws = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_pass_at_k_is_nan_with_fewer_samples():
    assert math.isnan(pass_at_k(2, 2, 3))
    assert math.isnan(pass_at_k(0, 0, 1))


def test_more_passes_than_samples_is_an_error():
    with pytest.raises(ValueError):
        pass_at_k(2, 3, 1)


def record(qualname, status, *outcomes):
    tests = {str(number): outcome for number, outcome in enumerate(outcomes)}
    return {"instance": f"toy/toy.core.{qualname}", "sample": 0, "status": status, "tests": tests}


def test_instances_count_equally_with_any_number_of_samples(toy):
    records = [record("scale", "pass", "passed")] * 3 + [record("scale", "fail", "failed")]
    summary = summarise([*records, record("Counter.step", "fail", "passed", "failed")], toy)
    assert summary.overall.pass_at_1 == pytest.approx((0.75 + 0) / 2)
    assert summary.overall.passing_rate == pytest.approx((0.75 + 0.5) / 2)
    assert summary.statuses == {"pass": 3, "fail": 2}


def test_harness_errors_stay_in_the_denominator_and_tampering_scores_zero(toy):
    summary = summarise(
        [record("scale", "harness_error", "not_run"), record("Counter.step", "tampered", "passed")], toy
    )
    assert summary.overall.instances == 2
    assert summary.overall.pass_at_1 == 0
    assert summary.overall.passing_rate == 0


def test_breakdown_has_only_labels_that_occur(toy):
    rows = {(score.axis, score.label) for score in summarise([record("scale", "pass", "passed")], toy).scores}
    assert rows == {("all", "all"), ("stage", "pre_post_processing"), ("task", "general"), ("data", "structured_array")}
