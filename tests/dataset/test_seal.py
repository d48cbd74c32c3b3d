"""A version names one state of the records: whoever changes a record raises it."""

import pytest

from dlbench.dataset.loading import default_root
from dlbench.dataset.validation import CHANGED, UNSEALED, check_records, find_fault, seal


def test_our_records_are_those_that_the_version_was_given_to():
    fault = find_fault(default_root())
    assert not fault, fault


@pytest.mark.parametrize(
    "name", ["projects/toy.toml", "instances/toy/scale.toml", "locks/toy.txt", "splits/demo.txt", "splits/new.txt"]
)
def test_a_change_is_sealed_with_a_raised_version_and_not_without(toy_root, name):
    assert find_fault(toy_root) == UNSEALED
    seal(toy_root)
    assert find_fault(toy_root) == ""
    assert check_records(toy_root)[1] == []
    with (toy_root / name).open("a") as file:
        file.write("# changed\n")
    assert find_fault(toy_root) == CHANGED
    with pytest.raises(SystemExit, match="raise its second number"):
        seal(toy_root)
    (toy_root / "VERSION").write_text("1.1\n")
    assert find_fault(toy_root) == UNSEALED
    seal(toy_root)
    assert find_fault(toy_root) == ""
