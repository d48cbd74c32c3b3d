"""Pinned releases of the official projects are fetched as source trees."""

import os
import re
from pathlib import Path

import pytest

from dlbench.analysis.official import Release, fetch_trees, read_releases
from dlbench.errors import DLBenchError
from tests.workspace.parts import Index, make_sdist, make_wheel, sha256


@pytest.fixture
def served(tmp_path, monkeypatch):
    """An index with a source archive and a wheel, and their releases."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    with Index(tmp_path / "served") as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        hashed = make_sdist(index.files / "tiny_net-1.0.tar.gz")
        wheel = make_wheel(index.files)
        index.list()
        index.list("tiny-dep")
        yield (
            index,
            [
                Release("TinyNet", "tiny-net", "tiny_net-1.0.tar.gz", hashed),
                Release("dep", "tiny-dep", wheel.name, sha256(wheel)),
            ],
        )


def test_archives_and_wheels_become_trees_named_after_projects(served, tmp_path):
    _, releases = served
    fetch_trees(releases, tmp_path / "trees", print)
    assert sorted(path.name for path in (tmp_path / "trees").iterdir()) == ["TinyNet", "dep"]
    assert (tmp_path / "trees" / "TinyNet" / "tiny_net" / "__init__.py").is_file()
    assert (tmp_path / "trees" / "dep" / "tiny_dep" / "__init__.py").is_file()


def test_existing_tree_is_not_fetched_again(served, tmp_path):
    index, releases = served
    fetch_trees(releases[:1], tmp_path / "trees", print)
    before = len(index.requests)
    fetch_trees(releases[:1], tmp_path / "trees", print)
    assert len(index.requests) == before


def test_wrong_hash_leaves_nothing(served, tmp_path):
    _, (release, _) = served
    changed = Release(release.project, release.package, release.file, "0" * 64)
    with pytest.raises(DLBenchError, match="0000"):
        fetch_trees([changed], tmp_path / "trees", print)
    assert list((tmp_path / "trees").iterdir()) == []


def test_every_release_is_pinned_once():
    releases = read_releases()
    assert len({release.project for release in releases}) == len(releases) == 34
    assert all(re.fullmatch("[0-9a-f]{64}", release.sha256) for release in releases)
    assert all(Path(release.file).suffix in (".gz", ".whl") for release in releases)
