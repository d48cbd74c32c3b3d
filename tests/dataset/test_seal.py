"""A version names one state of the records: changing a record requires a new version."""

import pytest

from dlbench.dataset.loading import default_root, load
from dlbench.dataset.validation import CHANGED, UNSEALED, check_records, check_seal, name_records, seal


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


def test_records_without_a_matching_seal_are_named_by_their_content(toy_root):
    before = name_records(load(toy_root))
    with (toy_root / "instances/toy/scale.toml").open("a") as file:
        file.write("# changed\n")
    changed = name_records(load(toy_root))
    assert before.startswith("1.0+")
    assert changed.startswith("1.0+")
    assert before != changed
    seal(toy_root)
    assert name_records(load(toy_root)) == "1.0"
