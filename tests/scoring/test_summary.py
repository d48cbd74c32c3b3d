"""A summary counts harness errors separately, bounds their effect, and has NaN for unknown values."""

import math

import pytest

from dlbench.scoring import spread, spread_of_samples, summarise, summarise_all, total_usage
from tests.scoring.made import make_benchmark, verdicts


def test_pass_at_k_is_averaged_over_instances():
    benchmark = make_benchmark(2)
    overall = summarise(verdicts(benchmark, "10", "00", "01", "00"), benchmark, ks=(1, 2, 5)).overall
    # each passes 1 of 4: pass@1 ¼, pass@2 1 - C(3,2)/C(4,2) = ½
    assert overall.pass_at[1] == pytest.approx(0.25)
    assert overall.pass_at[2] == pytest.approx(0.5)
    assert math.isnan(overall.pass_at[5])


def test_one_instance_with_too_few_samples_makes_pass_at_k_nan():
    benchmark = make_benchmark(2)
    records = verdicts(benchmark, "10", "10", "10")[:-1]
    assert math.isnan(summarise(records, benchmark).overall.pass_at[3])


def test_harness_errors_are_counted_per_row_and_bound_the_score():
    benchmark = make_benchmark(4, 2)
    summary = summarise(verdicts(benchmark, "1!00"), benchmark, ["project"])
    found = {score.label: score.harness_errors for score in summary.scores}
    assert found == {"all": 1, "p0": 0, "p1": 1}
    assert summary.overall.pass_at_1 == 0.25
    assert summary.if_faults_passed == 0.5
    assert summary.statuses == {"pass": 1, "harness_error": 1, "fail": 2}


def test_large_groups_are_resampled_and_small_ones_get_wilson():
    benchmark = make_benchmark(60, 6)
    scores = summarise(verdicts(benchmark, "110" * 20), benchmark, ["project", "stage"]).scores
    kinds = {score.label: (score.interval.kind, score.clustered.kind) for score in scores}
    assert kinds["all"] == ("bootstrap", "clustered")
    assert kinds["p0"] == ("wilson", "n/a")
    assert kinds["training"] == ("bootstrap", "n/a")  # of three projects only


def test_passing_rate_has_its_own_interval():
    benchmark = make_benchmark(40, 5)
    records = [
        record | {"tests": {"a": "passed", "b": "failed"}} for record in verdicts(benchmark, "0" * 20 + "1" * 20)
    ]
    records[0]["tests"] = {"a": "failed"}
    summary = summarise(records, benchmark)
    found, overall = summary.rate_interval, summary.overall
    assert overall.passing_rate == pytest.approx(19.5 / 40)
    assert found.low <= overall.passing_rate <= found.high
    assert found.high - found.low < overall.interval.high - overall.interval.low


def test_pass_at_k_interval_contains_the_estimate():
    benchmark = make_benchmark(4)
    overall = summarise(verdicts(benchmark, "1100", "1010", "1000"), benchmark, ks=(1, 3, 5)).overall
    assert overall.pass_at_interval[1] == overall.interval
    assert overall.pass_at_interval[3].low < overall.pass_at[3] < overall.pass_at_interval[3].high
    assert math.isnan(overall.pass_at_interval[5].low)


def test_summarise_all_equals_separate_summaries():
    benchmark = make_benchmark(40, 5)
    runs = {"a": verdicts(benchmark, "10" * 20), "b": verdicts(benchmark, "1100" * 10)[:30], "c": []}
    together = summarise_all(runs, benchmark, ["stage", "project"])
    for name, records in runs.items():
        assert repr(together[name]) == repr(summarise(records, benchmark, ["stage", "project"]))


def test_empty_run_has_nan_scores():
    overall = summarise([], make_benchmark(2)).overall
    assert math.isnan(overall.pass_at_1)
    assert math.isnan(overall.interval.low)


def test_spread_matches_hand_computation():
    # mean 5, squares 9 + 1 + 1 + 9 over n - 1 = 3
    found = spread([2, 4, 6, 8])
    assert (found.runs, found.mean, found.variance) == (4, 5, pytest.approx(20 / 3))
    assert found.deviation == pytest.approx(math.sqrt(20 / 3))


def test_spread_of_fewer_than_two_values_is_nan():
    assert spread([0.3]).mean == 0.3
    assert math.isnan(spread([0.3]).deviation)
    assert math.isnan(spread([]).mean)


def test_complete_sample_indices_act_as_runs():
    benchmark = make_benchmark(4)
    records = verdicts(benchmark, "1100", "1110", "1000")
    found = spread_of_samples([*records, verdicts(benchmark, "1111")[0] | {"sample": 3}])
    assert (found.runs, found.mean) == (3, 0.5)
    assert found.deviation == pytest.approx(0.25)


def test_usage_sums_samples_that_report_it():
    samples = [
        {"usage": {"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.25}, "seconds": 1.5},
        {"usage": {"prompt_tokens": 20, "completion_tokens": 7}, "cost": 0.5, "seconds": 2},
        {"usage": None},
        {"usage": {"prompt_tokens": "many"}, "cost": True},
    ]
    found = total_usage(samples)
    assert (found.samples, found.with_tokens, found.with_cost) == (4, 2, 2)
    assert (found.prompt_tokens, found.completion_tokens, found.cost, found.seconds) == (30, 12, 0.75, 3.5)


def test_missing_usage_is_nan_not_zero():
    found = total_usage([{"answer": "x"}])
    assert math.isnan(found.cost)
    assert math.isnan(found.completion_tokens)
