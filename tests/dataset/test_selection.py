"""A choice of instances is what its name and filters say, or an error that says what there is."""

from dataclasses import replace
from datetime import date

import pytest

from dlbench.dataset import Selection, Stage, has_split, select
from dlbench.errors import DLBenchError


@pytest.fixture
def grown(toy):
    """The toy benchmark, with one function of the last day of 2025 and one of the first of 2026."""
    days = (date(2025, 12, 31), date(2026, 1, 1))
    dated = [one.model_copy(update={"introduced": day}) for one, day in zip(toy.instances.values(), days, strict=True)]
    return replace(toy, instances={one.id: one for one in dated})


def test_selection_filters_and_refuses_unknown_names(toy):
    def chosen(**filters):
        return [instance.qualname for instance in select(toy, Selection(**filters))]

    assert chosen() == ["Counter.step", "scale"]
    assert chosen(split="demo") == ["scale"]
    assert chosen(stages=(Stage.TRAINING,)) == []
    assert chosen(instances=("toy/toy.core.scale",)) == ["scale"]
    for filters in ({"split": "dmeo"}, {"projects": ("toi",)}, {"instances": ("toy/toy.core.scael",)}):
        with pytest.raises(DLBenchError, match="did you mean"):
            chosen(**filters)


def test_dates_bound_a_selection_on_both_sides(toy):
    day = toy.instances["toy/toy.core.scale"].introduced
    assert len(select(toy, Selection(since=day, until=day))) == 2
    assert select(toy, Selection(since=day.replace(day=day.day + 1))) == []
    assert select(toy, Selection(until=day.replace(day=day.day - 1))) == []


def test_the_split_of_a_month_is_all_that_appeared_in_it_or_later(grown):
    def chosen(month):
        return [instance.qualname for instance in select(grown, Selection(split=f"live-{month}"))]

    assert chosen("2025-12") == ["Counter.step", "scale"]
    assert chosen("2026-01") == ["scale"]
    assert has_split(grown, "live-2026-01")


@pytest.mark.parametrize("split", ["live", "live-", "live-2026", "live-2026-13", "live-2026-1", "live-soon"])
def test_a_live_split_without_a_month_is_told_how_it_is_written(grown, split):
    with pytest.raises(DLBenchError, match=r"(?s)names no month.*live-YYYY-MM"):
        select(grown, Selection(split=split))
    assert not has_split(grown, split)


def test_a_month_after_which_nothing_came_is_an_error_that_names_the_newest(grown):
    with pytest.raises(DLBenchError, match=r"(?s)is empty.*2026-01-01: use live-2026-01"):
        select(grown, Selection(split="live-2026-02"))
    assert not has_split(grown, "live-2026-02")


def test_a_split_of_the_benchmark_s_own_goes_before_a_month_of_its_name(grown):
    own = replace(grown, splits={"live-2026-01": ("toy/toy.core.Counter.step",)})
    assert [one.qualname for one in select(own, Selection(split="live-2026-01"))] == ["Counter.step"]
