"""The factors at which a reference takes long enough are found, also where its inputs cannot be made any larger."""

import pytest

from dlbench.construction.optimise import _Proposal
from dlbench.execution.optimise.scale import TooLarge


class Cost(_Proposal):
    """A reference whose seconds are known."""

    def __init__(self, power, largest):
        self.power, self.largest, self.tried = power, largest, []

    def _time(self, factor, calls=1):
        self.tried.append(factor)
        if factor > self.largest:
            raise TooLarge("too large")
        return 1e-4 * factor**self.power


@pytest.mark.parametrize("power", [0.7, 1, 2, 3])
def test_a_factor_is_found_for_any_growth(power):
    cost = Cost(power, 1e9)
    factor, seconds, _ = cost._search(0.12, 1.0, 1e-4, 1.0)
    assert 0.08 < seconds == cost._time(factor) < 0.18


def test_a_step_that_is_too_large_is_made_smaller():
    cost = Cost(3, 12)
    assert 0.08 < cost._search(0.12, 1.0, 1e-4, 1.0)[1] < 0.18
    assert cost.tried[0] > 12


def test_inputs_that_cannot_grow_as_far_are_refused():
    with pytest.raises(TooLarge):
        Cost(1, 100)._search(0.12, 1.0, 1e-4, 1.0)
