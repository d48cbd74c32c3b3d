"""A function is dated by the first release that defines it, with few downloads."""

import io
import math
import tarfile
import zipfile
from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlbench.construction.history import _names, _read, choose_files, find_origins
from dlbench.errors import DLBenchError
from dlbench.workspace.package_index import Package, Release

START = date(2024, 1, 1)


def make_release(number: int, filename: str = "", version: str = "", kind: str = "sdist") -> Release:
    version = version or f"1.{number}"
    uploaded = START + timedelta(days=number)
    return Release(version, uploaded, filename or f"p-{version}.tar.gz", f"{number:064x}", kind, "", 1)


def find(names: dict[str, set[str]], releases: list[Release]) -> tuple[dict[str, date], list[str]]:
    """`names`: the versions that have each."""
    looked: list[str] = []

    def look(release: Release) -> frozenset[str]:
        looked.append(release.version)
        return frozenset(name for name, versions in names.items() if release.version in versions)

    return find_origins(names, releases, look), looked


@given(st.lists(st.integers(0, 30), min_size=1, max_size=25), st.integers(31, 60), st.integers(1, 12))
def test_each_name_gets_the_first_release_that_defines_it(origins, count, per_line):
    releases = [make_release(number, version=f"1.{number // per_line}.{number % per_line}") for number in range(count)]
    versions = [release.version for release in releases]
    names = {f"f{place}": set(versions[origin:]) for place, origin in enumerate(origins)}
    found, looked = find(names, releases)
    assert found == {f"f{place}": START + timedelta(days=origin) for place, origin in enumerate(origins)}
    assert len(looked) == len(set(looked)), "no release is looked into twice"
    lines = math.ceil(count / per_line)
    assert len(looked) <= 2 * lines + len(set(origins)) * math.ceil(math.log2(per_line))


@given(st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=8), st.permutations(range(6)))
def test_release_lines_may_overlap_and_names_may_return(holding, order):
    """A release a line, uploaded in any order."""
    releases = [make_release(place, version=f"{line}.0") for place, line in enumerate(order)]
    names = {f"f{place}": {f"{line}.0" for line in lines} for place, lines in enumerate(holding)}
    found, _ = find(names, releases)
    dates = {release.version: release.uploaded for release in releases}
    assert found == {name: min(dates[one] for one in versions) for name, versions in names.items() if versions}


def test_name_lost_within_a_line_keeps_its_first_date():
    releases = [make_release(number, version=f"{number // 3}.0.{number % 3}") for number in range(9)]
    found, _ = find({"f": {"1.0.0", "1.0.1", "2.0.2"}}, releases)
    assert found == {"f": START + timedelta(days=3)}


def test_late_patch_of_an_old_line_hides_no_name():
    releases = [make_release(1, version="0.14.0"), make_release(2, version="0.15.0"), make_release(3, version="0.14.5")]
    found, _ = find({"f": {"0.15.0"}}, releases)
    assert found == {"f": START + timedelta(days=2)}


def test_one_small_file_per_release_up_to_the_given_one():
    wheel = make_release(1, "p-1.1-py3-none-any.whl", "1.1", "bdist_wheel")
    archive = make_release(1, "p-1.1.tar.gz", "1.1")
    trial = make_release(2, "p-1.3rc1.tar.gz", "1.3rc1")
    nightly = make_release(2, "p-1.3.dev7.tar.gz", "1.3.dev7")
    installer = make_release(2, "p-1.2.exe", "1.2")
    until = make_release(3)
    later = make_release(4)
    releases = (archive, wheel, nightly, installer, trial, until, later)
    package = Package("p", "", "", (), (), "", "", releases)
    assert choose_files(package, until) == [wheel, trial, until]


def test_release_date_is_that_of_its_first_file_and_yanked_releases_count():
    withdrawn = make_release(1, "p-1.0.tar.gz", "1.0")
    archive = make_release(2, "p-1.1.tar.gz", "1.1")
    late = make_release(9, "p-1.1-py3-none-any.whl", "1.1", "bdist_wheel")
    until = make_release(9, "p-1.2.tar.gz", "1.2")
    package = Package("p", "", "", (), (), "", "", (archive, late, until), (withdrawn,))
    assert choose_files(package, until) == [withdrawn, replace(late, uploaded=archive.uploaded), until]


def test_functions_and_methods_are_listed_without_inner_functions():
    text = "def f():\n    def g(): ...\nclass A:\n    class B:\n        def h(self): ...\nif True:\n    def k(): ...\n"
    assert sorted(_names(text.encode())) == ["A.B.h", "f", "k"]


def test_file_with_a_byte_order_mark_is_read(tmp_path):
    wheel = tmp_path / "p-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr("p/core.py", b"\xef\xbb\xbfdef f(): ...\n")
    assert [name for text in _read(wheel) for name in _names(text)] == ["f"]


def test_invalid_python_has_no_names():
    assert list(_names(b"def f(:")) == []


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
    assert list(_read(wheel)) == list(_read(archive)) == [b"one"]


def test_unreadable_archive_is_reported(tmp_path):
    broken = tmp_path / "p-1.0.tar.gz"
    broken.write_bytes(b"nothing")
    with pytest.raises(DLBenchError, match="cannot be read"):
        list(_read(broken))
