"""A version names one state of the records: changing a record requires a new version."""

import pytest

from dlbench.dataset.loading import default_root
from dlbench.dataset.validation import CHANGED, UNSEALED, check_records, find_fault, seal


def test_our_seal_matches_the_records():
    fault = find_fault(default_root())
    assert not fault, fault


@pytest.mark.parametrize(
    "name", ["projects/toy.toml", "instances/toy/scale.toml", "locks/toy.txt", "splits/demo.txt", "splits/new.txt"]
)
def test_changed_records_need_a_raised_version(toy_root, name):
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
