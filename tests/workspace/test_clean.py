import os
import sys
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from dlbench.errors import DLBenchError
from dlbench.workspace.doctor import KINDS, clean
from dlbench.workspace.home import home as make_home
from dlbench.workspace.home import locked, quiet


def hold(signal: Connection) -> None:
    with locked("building", quiet):
        signal.send("holds")
        time.sleep(0.3)


def fill(path: Path, size: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    return path


@pytest.fixture
def filled(home: Path) -> Path:
    make_home()
    cached = fill(home / "uv" / "torch.so", 1000)
    for name in ("one", "two"):
        (home / "environments" / name / "bin").mkdir(parents=True)
        os.link(cached, home / "environments" / name / "torch.so")
        (home / "environments" / name / "bin" / "python").symlink_to(sys.executable)
        (home / "environments" / name / ".dlbench-complete").touch()
    fill(home / "environments" / "half" / "numpy.so", 500)
    fill(home / "sources" / "net" / "tree" / "a.py", 10)
    fill(home / "sources" / ".net.building-x" / "a.py", 7)
    fill(home / "archives" / "abc" / "net.tar.gz", 100)
    return home


def test_shared_file_counts_only_with_its_last_link(filled: Path) -> None:
    assert clean({"temporary"}) > 0
    assert clean({"environments"}) == 0
    assert clean({"uv"}) == 1000


def test_all_links_gone_at_once_count_once(filled: Path) -> None:
    assert clean({"environments", "uv"}) == 1500
    assert not (filled / "uv").exists()
    assert (filled / "sources").exists()


def test_only_requested_kinds_are_removed(filled: Path) -> None:
    fill(filled / "archives" / "abc" / ".net.tar.gz.part", 30)
    assert clean({"temporary"}) == 537
    assert (filled / "environments" / "one").is_dir()
    assert (filled / "sources" / "net" / "tree" / "a.py").is_file()
    assert clean({"sources"}) == 10
    assert clean(set(KINDS)) == 1100
    assert {path.name for path in filled.iterdir()} == {"locks", "CACHEDIR.TAG"}


def test_links_out_of_the_workspace_are_not_followed(filled: Path, tmp_path: Path) -> None:
    precious = fill(tmp_path / "precious" / "file", 5)
    (filled / "sources" / "out").symlink_to(precious.parent)
    clean({"archives"})
    (filled / "archives").symlink_to(precious.parent)
    assert clean(set(KINDS)) == 1517
    assert precious.is_file()


def test_folder_with_other_content_is_not_cleaned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = fill(tmp_path / "mine" / "sources" / "thesis.tex", 5)
    monkeypatch.setenv("DLBENCH_HOME", str(tmp_path / "mine"))
    with pytest.raises(DLBenchError, match="had other content"):
        clean({"sources"})
    assert mine.is_file()


def test_unknown_kind_is_rejected_before_removal(filled: Path) -> None:
    with pytest.raises(DLBenchError, match="everything-else"):
        clean({"sources", "everything-else"})
    assert (filled / "sources").exists()


def test_cleaning_waits_for_a_running_build(filled: Path, messages: list[str]) -> None:
    fork = get_context("fork")
    here, there = fork.Pipe()
    holder = fork.Process(target=hold, args=(there,), daemon=True)
    holder.start()
    assert here.recv() == "holds"
    begin = time.monotonic()
    clean({"sources"}, messages.append)
    assert time.monotonic() - begin > 0.2
    assert len(messages) == 1
    holder.join()
