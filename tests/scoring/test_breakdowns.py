"""Every instance is in the right group of every axis, and labels are in table order."""

from datetime import date

import pytest

from dlbench.scoring.breakdowns import BREAKDOWNS, group, size_of
from dlbench.scoring.summary import summarise
from tests.scoring.made import ids_of, make_benchmark, verdicts


def labels_of(groups, axis):
    return [label for found, label in groups if found == axis]


def test_each_axis_but_live_has_every_instance_once():
    benchmark = make_benchmark(15, 3)
    groups = group(ids_of(benchmark), benchmark, BREAKDOWNS)
    for axis in {*BREAKDOWNS, "all"} - {"live"}:
        members = [one for (found, _), ids in groups.items() if found == axis for one in ids]
        assert sorted(members) == sorted(benchmark.instances), axis


def test_labels_are_in_table_order():
    benchmark = make_benchmark(15, 3)
    groups = group(ids_of(benchmark), benchmark, BREAKDOWNS)
    assert next(iter(groups)) == ("all", "all")
    assert labels_of(groups, "stage") == ["training", "inference"]
    assert labels_of(groups, "framework") == ["torch", "jax"]
    assert labels_of(groups, "year") == [str(year) for year in range(2020, 2027)]
    assert labels_of(groups, "crossed") == ["inference / general / others", "training / general / others"]
    sizes = ["1 to 5 lines", "11 to 20 lines", "21 to 40 lines", "41 to 80 lines", "81 lines or more", "unknown"]
    assert labels_of(groups, "size") == sizes


@pytest.mark.parametrize(("number", "label"), [(0, "1 to 5 lines"), (2, "21 to 40 lines"), (8, "81 lines or more")])
def test_bins_include_their_lower_end(number, label):
    # instance number n has 10 n + 1 lines: 1, 21 and 81 each begin a bin
    assert size_of(list(make_benchmark(12).instances.values())[number]) == label


def test_live_rows_exclude_the_cut_off_date():
    benchmark = make_benchmark(7, 1)  # 2020-01-02 to 2026-01-02
    cutoffs = [date(2022, 1, 1), date(2022, 1, 2), date(2026, 1, 2)]
    groups = group(ids_of(benchmark), benchmark, ["live"], cutoffs)
    sizes = {label: len(ids) for (axis, label), ids in groups.items() if axis == "live"}
    after = {"after 2022-01-01": 5, "after 2022-01-02": 4}
    assert sizes == after | {"until 2022-01-01": 2, "until 2022-01-02": 3, "until 2026-01-02": 7}


def test_rows_are_scored_from_their_own_instances():
    benchmark = make_benchmark(6, 2)
    scores = {
        (one.axis, one.label): one for one in summarise(verdicts(benchmark, "101010"), benchmark, BREAKDOWNS).scores
    }
    assert scores["all", "all"].pass_at_1 == 0.5
    assert scores["project", "p0"].pass_at_1 == 1
    assert scores["framework", "jax"].pass_at_1 == 0
    assert scores["year", "2024"].pass_at_1 == 1
    assert scores["stage", "inference"].instances == 3
    assert scores["live", "after 2023-10-01"].instances == 2
