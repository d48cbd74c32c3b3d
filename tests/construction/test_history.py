"""A function is dated by the first release that has it, and few releases are looked into for that."""

import io
import math
import tarfile
import zipfile
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.construction.history import _names, _read, choose_files, find_origins
from dlbench.errors import DLBenchError
from dlbench.workspace.releases import Package, Release

START = date(2024, 1, 1)


def make_release(number: int, filename: str = "", version: str = "", kind: str = "sdist") -> Release:
    version = version or f"1.{number}"
    uploaded = START + timedelta(days=number)
    return Release(version, uploaded, filename or f"p-{version}.tar.gz", f"{number:064x}", kind, "", 1, "")


@given(st.lists(st.integers(0, 30), min_size=1, max_size=25), st.integers(31, 60))
def test_each_name_gets_the_first_release_that_has_it(origins, count):
    releases = [make_release(number) for number in range(count)]
    names = {f"f{place}": origin for place, origin in enumerate(origins)}
    looked: list[int] = []

    def look(release: Release) -> frozenset[str]:
        number = (release.uploaded - START).days
        looked.append(number)
        return frozenset(name for name, origin in names.items() if origin <= number)

    found = find_origins(names, releases, look)
    assert found == {name: START + timedelta(days=origin) for name, origin in names.items()}
    assert len(looked) == len(set(looked)), "no release is looked into twice"
    assert len(looked) <= len(set(origins)) * math.ceil(math.log2(count)) + 1


def test_a_small_file_is_taken_for_each_release_and_none_after_the_one_in_question():
    wheel = make_release(1, "p-1.1-py3-none-any.whl", "1.1", "bdist_wheel")
    archive = make_release(1, "p-1.1.tar.gz", "1.1")
    trial = make_release(2, "p-1.2rc1.tar.gz", "1.2rc1")
    until = make_release(3)
    later = make_release(4)
    releases = (archive, wheel, trial, until, later)
    package = Package("p", "", "", (), (), "", "", releases)
    assert choose_files(package, until) == [wheel, until]


def test_functions_and_methods_are_named_but_not_what_is_inside_them():
    text = "def f():\n    def g(): ...\nclass A:\n    class B:\n        def h(self): ...\nif True:\n    def k(): ...\n"
    assert sorted(_names(text)) == ["A.B.h", "f", "k"]


def test_what_is_no_python_has_no_names():
    assert list(_names("def f(:")) == []


def test_tests_in_an_archive_are_not_read(tmp_path):
    wheel = tmp_path / "p-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("p/core.py", "one")
        packed.writestr("p/tests/test_core.py", "two")
    archive = tmp_path / "p-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for name, text in (("p-1.0/p/core.py", b"one"), ("p-1.0/tests/test_core.py", b"two")):
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    assert list(_read(wheel)) == list(_read(archive)) == ["one"]


def test_an_archive_that_cannot_be_read_is_named(tmp_path):
    broken = tmp_path / "p-1.0.tar.gz"
    broken.write_bytes(b"nothing")
    with pytest.raises(DLBenchError, match="cannot be read"):
        list(_read(broken))
