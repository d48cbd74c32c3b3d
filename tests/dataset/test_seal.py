"""A version names one state of the records: changing a record requires a new version."""

import pytest

from dlbench.dataset.loading import default_root
from dlbench.dataset.validation import CHANGED, UNSEALED, check_records, check_seal, seal


def test_our_seal_matches_the_records():
    fault = check_seal(default_root())
    assert not fault, fault


@pytest.mark.parametrize(
    "name", ["projects/toy.toml", "instances/toy/scale.toml", "locks/toy.txt", "splits/demo.txt", "splits/new.txt"]
)
def test_changed_records_need_a_raised_version(toy_root, name):
    assert check_seal(toy_root) == UNSEALED
    seal(toy_root)
    assert check_seal(toy_root) == ""
    assert check_records(toy_root)[1] == []
    with (toy_root / name).open("a") as file:
        file.write("# changed\n")
    assert check_seal(toy_root) == CHANGED
    with pytest.raises(SystemExit, match="raise its second number"):
        seal(toy_root)
    (toy_root / "VERSION").write_text("1.1\n")
    assert check_seal(toy_root) == UNSEALED
    seal(toy_root)
    assert check_seal(toy_root) == ""
