"""The mean of log2 speed-ups counts a failure and a slowdown as no gain."""

import math

import pytest

from dlbench.scoring.speed import compare_gains, find_gains, summarise_speed


def verdict(instance, speedup=None, *, status="pass", **more):
    cost = {"cost": "measured", "speedup": speedup} if speedup is not None else {}
    return {"instance": instance, "sample": 0, "status": status, "tests": {}, **cost, **more}


def test_failing_and_slower_answers_gain_nothing():
    records = [
        verdict("a", 4.0),
        verdict("b", 0.5),
        verdict("c", 8.0, status="fail"),
        verdict("d", 8.0, plus="failed"),
        verdict("e", 0.0, cost="wrong"),
        verdict("f"),
    ]
    assert find_gains(records) == {"a": 2.0, "b": 0.0, "c": 0.0, "d": 0.0, "e": 0.0, "f": 0.0}


def test_the_summary_counts_tasks_and_not_samples():
    found = summarise_speed([verdict("a", 4.0), verdict("a", 1.0), verdict("b", 1.3, memory_ratio=0.5)])
    assert found.tasks == 2
    assert found.mean == pytest.approx((1.0 + math.log2(1.3)) / 2)
    assert (found.faster, found.much_faster, found.leaner) == (0.75, 0.25, 0.5)
    assert math.isnan(found.interval.low)


def test_an_interval_needs_five_tasks_and_holds_the_mean():
    found = summarise_speed([verdict(str(place), 2.0**place) for place in range(5)])
    assert found.interval.low < found.mean < found.interval.high


def test_runs_are_compared_on_common_tasks():
    tasks, difference, _ = compare_gains({"a": 2.0, "b": 1.0}, {"a": 1.0, "c": 5.0})
    assert (tasks, difference) == (1, 1.0)
