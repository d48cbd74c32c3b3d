"""A selection is exactly what its split and filters say; unknown names are errors."""

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


def test_selection_filters_and_rejects_unknown_names(toy):
    def chosen(**filters):
        return [instance.qualname for instance in select(toy, Selection(**filters))]

    assert chosen() == ["Counter.step", "scale"]
    assert chosen(split="demo") == ["scale"]
    assert chosen(stages=(Stage.TRAINING,)) == []
    assert chosen(instances=("toy/toy.core.scale",)) == ["scale"]
    for filters in ({"split": "dmeo"}, {"projects": ("toi",)}, {"instances": ("toy/toy.core.scael",)}):
        with pytest.raises(DLBenchError, match="did you mean"):
            chosen(**filters)


def test_since_and_until_bound_a_selection(toy):
    day = toy.instances["toy/toy.core.scale"].introduced
    assert len(select(toy, Selection(since=day, until=day))) == 2
    assert select(toy, Selection(since=day.replace(day=day.day + 1))) == []
    assert select(toy, Selection(until=day.replace(day=day.day - 1))) == []


def test_live_split_holds_everything_from_that_month_on(grown):
    def chosen(month):
        return [instance.qualname for instance in select(grown, Selection(split=f"live-{month}"))]

    assert chosen("2025-12") == ["Counter.step", "scale"]
    assert chosen("2026-01") == ["scale"]
    assert has_split(grown, "live-2026-01")


@pytest.mark.parametrize("split", ["live", "live-", "live-2026", "live-2026-13", "live-2026-1", "live-soon"])
def test_malformed_live_split_is_an_error_with_the_format(grown, split):
    with pytest.raises(DLBenchError, match=r"(?s)names no month.*live-YYYY-MM"):
        select(grown, Selection(split=split))
    assert not has_split(grown, split)


def test_empty_live_split_is_an_error_with_the_newest_date(grown):
    with pytest.raises(DLBenchError, match=r"(?s)is empty.*2026-01-01: use live-2026-01"):
        select(grown, Selection(split="live-2026-02"))
    assert not has_split(grown, "live-2026-02")


def test_own_split_precedes_a_live_split_of_the_same_name(grown):
    own = replace(grown, splits={"live-2026-01": ("toy/toy.core.Counter.step",)})
    assert [one.qualname for one in select(own, Selection(split="live-2026-01"))] == ["Counter.step"]
