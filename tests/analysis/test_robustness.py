"""Robustness uses the instances that all runs share; ties have no order."""

import math
from dataclasses import replace

import pytest

from dlbench.analysis.rankings import measure_robustness
from dlbench.scoring import tally
from tests.scoring.made import ids_of, make_benchmark, verdicts


def measure(benchmark, splits=None, **marks):
    return measure_robustness(
        {name: tally(verdicts(benchmark, each), benchmark) for name, each in marks.items()}, benchmark, splits
    )


def test_order_supported_by_every_instance_always_holds():
    found = measure(make_benchmark(40, 5), worse="0" * 40, better="1" * 40)
    assert found.order == (("better", 1.0), ("worse", 0.0))
    (pair,) = found.pairs
    assert (pair.a, pair.b, pair.difference) == ("better", "worse", 1)
    assert (pair.kept, pair.tied, pair.reversed, pair.kept_by_project) == (1, 0, 0, 1)
    for one in found.resampled:
        assert (one.mean, one.interval.low, one.same_order, one.same_best) == (1, 1, 1, 1)
    assert {part.tau for part in found.left_out if part.instances} == {1}
    assert not any(part.reversed for part in found.left_out)


def test_lead_of_one_instance_holds_as_often_as_expected():
    # Only a solves the first: it is drawn in 1 - (1 - 1/40)^40 of resamples; otherwise they tie.
    found = measure(make_benchmark(40, 5), a="1" * 20 + "0" * 20, b="0" + "1" * 19 + "0" * 20)
    (pair,) = found.pairs
    assert pair.kept == pytest.approx(1 - (1 - 1 / 40) ** 40, abs=0.05)
    assert pair.reversed == 0
    assert pair.kept + pair.tied == pytest.approx(1)


def test_deciding_project_is_named():
    # Instances alternate between two projects: a solves all of p0 and none of p1; b solves a third of both.
    found = measure(make_benchmark(12, 2), a="10" * 6, b="110000" * 2)
    parts = {(part.axis, part.label): part for part in found.left_out}
    assert found.order[0][0] == "a"
    assert parts["project", "p0"].reversed == (("a", "b"),)
    assert parts["project", "p0"].tau == -1
    assert parts["project", "p1"].reversed == ()
    assert parts["project", "p0"].instances == 6


def test_label_of_all_instances_leaves_nothing_to_rank():
    found = measure(make_benchmark(6), a="111000", b="000000")
    part = next(part for part in found.left_out if (part.axis, part.label) == ("task", "general"))
    assert part.instances == 0
    assert math.isnan(part.tau)


def test_tied_models_have_no_order():
    found = measure(make_benchmark(6), a="110000", b="000011")
    (pair,) = found.pairs
    assert pair.difference == 0
    assert all(map(math.isnan, (pair.kept, pair.tied, pair.reversed, pair.kept_by_project)))
    assert math.isnan(found.resampled[0].mean)


def test_any_of_several_tied_best_models_may_stay_best():
    # b and c alternate as best; a never is.
    found = measure(make_benchmark(40, 5), a="0" * 40, b="10" * 20, c="01" * 20)
    assert found.order[2][0] == "a"
    assert found.resampled[0].same_best == 1


def test_split_ranks_by_its_own_instances_and_counts_missing_ones():
    benchmark = make_benchmark(6)
    ids = ids_of(benchmark)
    benchmark = replace(benchmark, splits={"lite": (ids[0], ids[1]), "mini": (ids[5],)})
    found = measure(benchmark, a="001111", b="11000!")
    lite, mini = found.splits
    assert (lite.label, lite.instances, lite.of, lite.tau, lite.reversed) == ("lite", 2, 2, -1, (("a", "b"),))
    assert (mini.instances, mini.of) == (0, 1)
    assert [part.label for part in measure(benchmark, ["mini"], a="001111", b="110000").splits] == ["mini"]


def test_live_split_can_be_ranked():
    benchmark = make_benchmark(6)
    year = sorted(one.introduced.year for one in benchmark.instances.values())[4]
    (live,) = measure(benchmark, [f"live-{year}-01"], a="001111", b="110000").splits
    assert (live.instances, live.of) == (2, 2)


def test_harness_errors_and_unshared_instances_are_left_out():
    benchmark = make_benchmark(4)
    a, b = (tally(verdicts(benchmark, marks), benchmark) for marks in ("1111", "!000"))
    del b[ids_of(benchmark)[1]]
    found = measure_robustness({"a": a, "b": b}, benchmark)
    assert found.harness_errors == (ids_of(benchmark)[0],)
    assert found.not_common == (ids_of(benchmark)[1],)
    assert len(found.instances) == 2


def test_few_projects_are_not_resampled():
    found = measure(make_benchmark(40, 4), a="1" * 40, b="0" * 40)
    assert [one.drawn for one in found.resampled] == ["instances"]
    assert math.isnan(found.pairs[0].kept_by_project)


def test_order_of_runs_does_not_matter():
    benchmark = make_benchmark(30, 5)
    marks = {"a": "110" * 10, "b": "100" * 10, "c": "011" * 10}
    assert measure(benchmark, **marks) == measure(benchmark, **dict(reversed(marks.items())))
