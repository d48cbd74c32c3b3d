import os
import shutil
import subprocess
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.tags import cpython_tags
from pydantic import ValidationError

from dlbench.errors import DLBenchError
from dlbench.workspace import fetch, tree_hash

from .parts import FILES, Index, make_project, make_sdist, make_wheel, sha256

NAME = "tiny_net-1.0.tar.gz"


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "local" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "local"


def test_archive_becomes_a_tree_once(index: Index, tmp_path: Path, messages: list[str], home: Path) -> None:
    pinned = make_sdist(index.files / NAME)
    index.list()
    project = make_project(archive=NAME, sha256=pinned)
    tree = fetch(project, tmp_path, messages.append)
    assert tree.is_relative_to(home / "sources")
    assert (tree / "tiny_net" / "__init__.py").is_file()
    assert not (tree / "build").exists()
    assert list(tree.rglob("__pycache__")) == []
    asked = len(index.requests)
    index.close()
    assert fetch(project, tmp_path, messages.append) == tree
    assert len(index.requests) == asked


def test_rejected_archive_leaves_nothing_and_a_retry_succeeds(
    index: Index, tmp_path: Path, messages: list[str], home: Path
) -> None:
    pinned = make_sdist(index.files / NAME)
    good = (index.files / NAME).read_bytes()
    (index.files / NAME).write_bytes(good + b"more")
    index.list()
    project = make_project(archive=NAME, sha256=pinned)
    with pytest.raises(DLBenchError, match="not the one that was pinned"):
        fetch(project, tmp_path, messages.append)
    assert list((home / "sources").iterdir()) == []
    (index.files / NAME).write_bytes(good)
    assert fetch(project, tmp_path, messages.append).is_dir()


def test_corrupted_archive_is_fetched_again(index: Index, tmp_path: Path, messages: list[str], home: Path) -> None:
    pinned = make_sdist(index.files / NAME)
    index.list()
    project = make_project(archive=NAME, sha256=pinned)
    tree = fetch(project, tmp_path, messages.append)
    (kept,) = (home / "archives").rglob(NAME)
    kept.write_bytes(b"spoilt")
    shutil.rmtree(tree.parent)
    assert fetch(project, tmp_path, messages.append) == tree
    assert sha256(kept) == pinned


def test_package_finds_its_own_version(folder: Path, tmp_path: Path, messages: list[str]) -> None:
    tree = fetch(make_project(path="local"), tmp_path, messages.append)
    assert {found.metadata["Name"]: found.version for found in distributions(path=[str(tree)])} == {"tiny-net": "1.0"}
    (folder / "PKG-INFO").unlink()
    (folder / "src").mkdir()
    (folder / "src" / "one.py").touch()
    tree = fetch(make_project(path="local", version="2.0", import_root="src"), tmp_path, messages.append)
    assert [found.version for found in distributions(path=[str(tree / "src")])] == ["2.0"]


def test_existing_metadata_is_kept(folder: Path, tmp_path: Path, messages: list[str]) -> None:
    (folder / "tiny_net.egg-info").mkdir()
    (folder / "tiny_net.egg-info" / "PKG-INFO").write_text(FILES["PKG-INFO"])
    tree = fetch(make_project(path=str(folder)), tmp_path, messages.append)
    assert list(tree.glob("*.dist-info")) == []


def test_stand_in_files_are_written_and_make_another_tree(folder: Path, tmp_path: Path, messages: list[str]) -> None:
    plain = fetch(make_project(path="local"), tmp_path, messages.append)
    tests = {"files": {"tests/data/one.txt": "our words\n"}}
    tree = fetch(make_project(path="local", tests=tests), tmp_path, messages.append)
    assert tree != plain
    assert (tree / "tests" / "data" / "one.txt").read_text() == "our words\n"


def test_stand_in_file_is_never_written_through_a_link_out_of_the_tree(
    folder: Path, tmp_path: Path, messages: list[str]
) -> None:
    (folder / "out").symlink_to(tmp_path)
    with pytest.raises(DLBenchError, match="outside the tree"):
        fetch(make_project(path="local", tests={"files": {"out/file": "x"}}), tmp_path, messages.append)
    assert not (tmp_path / "file").exists()


def test_source_is_readable_despite_a_strict_umask(
    folder: Path, tmp_path: Path, messages: list[str], home: Path
) -> None:
    (folder / "tiny_net" / "__init__.py").chmod(0o700)
    before = os.umask(0o077)
    try:
        tree = fetch(make_project(path="local", tests={"files": {"new/file": "x"}}), tmp_path, messages.append)
    finally:
        os.umask(before)
    for path in (home, tree.parent.parent, tree.parent, tree, *tree.rglob("*")):
        assert path.stat().st_mode & 0o777 in (0o755, 0o644), path
    assert (tree / "tiny_net" / "__init__.py").stat().st_mode & 0o777 == 0o755


def test_pinned_folder_must_have_its_content(folder: Path, tmp_path: Path, messages: list[str]) -> None:
    pinned = tree_hash(folder)
    assert fetch(make_project(path="local", sha256=pinned), tmp_path, messages.append).is_dir()
    (folder / "tiny_net" / "__init__.py").write_text("changed\n")
    with pytest.raises(DLBenchError) as caught:
        fetch(make_project(path="local", sha256=pinned), tmp_path, messages.append)
    assert pinned in caught.value.what
    assert tree_hash(folder) in caught.value.what


def test_files_that_are_not_source_do_not_change_the_hash(folder: Path, tmp_path: Path, messages: list[str]) -> None:
    before = tree_hash(folder)
    for name in (".git/config", "tiny_net/__pycache__/a.pyc", "env/pyvenv.cfg", "env/lib/big.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    assert tree_hash(folder) == before
    tree = fetch(make_project(path="local"), tmp_path, messages.append)
    assert not (tree / "env").exists()
    (folder / "tiny_net" / "new.py").touch()
    assert tree_hash(folder) != before


def test_missing_folder_or_import_root_is_reported(folder: Path, tmp_path: Path, messages: list[str]) -> None:
    with pytest.raises(DLBenchError, match="does not exist"):
        fetch(make_project(path="elsewhere"), tmp_path, messages.append)
    with pytest.raises(DLBenchError, match="no folder 'src'"):
        fetch(make_project(path="local", import_root="src"), tmp_path, messages.append)


def test_revision_is_checked_out_even_inside_a_git_hook(
    folder: Path, tmp_path: Path, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "one")
    rev = git(folder, "rev-parse", "HEAD")
    (folder / "tiny_net" / "__init__.py").write_text("later = True\n")
    git(folder, "commit", "--quiet", "-a", "-m", "two")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "another" / ".git"))
    tree = fetch(make_project(git={"url": str(folder), "rev": rev}), tmp_path, messages.append)
    assert (tree / "tiny_net" / "__init__.py").read_text() == FILES["tiny_net/__init__.py"]
    assert not (tree / ".git").exists()


def test_unknown_revision_and_missing_git_are_reported(
    folder: Path, tmp_path: Path, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    git(folder, "init", "--quiet")
    project = make_project(git={"url": str(folder), "rev": "0" * 40})
    with pytest.raises(DLBenchError, match="could not be fetched"):
        fetch(project, tmp_path, messages.append)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DLBenchError, match="git is not installed"):
        fetch(project, tmp_path, messages.append)


def make_compiled(index: Index, *tags: str) -> list[dict[str, str]]:
    """Wheels of the project, each with a file that the archive does not have."""
    wheels = [make_wheel(index.files, "tiny_net", tag=tag) for tag in tags]
    for wheel in wheels:
        with zipfile.ZipFile(wheel, "a") as file:
            file.writestr("tiny_net/fast.so", wheel.name)
    index.list()
    return [{"file": wheel.name, "sha256": sha256(wheel)} for wheel in wheels]


def test_only_files_missing_from_the_archive_are_taken_from_the_wheel(
    index: Index, tmp_path: Path, messages: list[str]
) -> None:
    here = next(tag for tag in cpython_tags((3, 11)) if tag.abi == "cp311")
    wheels = make_compiled(index, "cp311-cp311-win_amd64", "cp38-cp38-linux_x86_64", str(here))
    pinned = make_sdist(index.files / NAME)
    index.list()
    tree = fetch(make_project(archive=NAME, sha256=pinned, wheels=wheels), tmp_path, messages.append)
    assert (tree / "tiny_net" / "fast.so").read_text() == wheels[2]["file"]
    assert (tree / "tiny_net" / "__init__.py").read_text() == FILES["tiny_net/__init__.py"]
    assert [found.version for found in distributions(path=[str(tree)])] == ["1.0"]
    assert sorted(path.name for path in tree.parent.iterdir()) == ["tree"]
    without = fetch(make_project(archive=NAME, sha256=pinned), tmp_path, messages.append)
    assert not (without / "tiny_net" / "fast.so").exists()


def test_project_without_a_suitable_wheel_is_an_error(index: Index, tmp_path: Path, messages: list[str]) -> None:
    wheels = make_compiled(index, "cp311-cp311-win_amd64")
    project = make_project(archive=NAME, sha256=make_sdist(index.files / NAME), wheels=wheels)
    with pytest.raises(DLBenchError, match="none of its wheels can be loaded on this machine") as caught:
        fetch(project, tmp_path, messages.append)
    assert "win_amd64" in caught.value.what


def test_wheel_with_another_hash_is_rejected(index: Index, tmp_path: Path, messages: list[str]) -> None:
    here = next(tag for tag in cpython_tags((3, 11)) if tag.abi == "cp311")
    wheels = make_compiled(index, str(here))
    with zipfile.ZipFile(index.files / wheels[0]["file"], "a") as file:
        file.writestr("tiny_net/more.so", "more")
    project = make_project(archive=NAME, sha256=make_sdist(index.files / NAME), wheels=wheels)
    index.list()
    with pytest.raises(DLBenchError, match="not the one that was pinned"):
        fetch(project, tmp_path, messages.append)


@pytest.mark.parametrize("fields", [{"path": "local"}, {"git": {"url": "x", "rev": "0" * 40}}])
def test_wheels_require_an_archive(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="wheels belong to an archive"):
        make_project(wheels=[{"file": "a.whl", "sha256": "0" * 64}], **fields)


def test_invalid_wheel_name_is_rejected(index: Index, tmp_path: Path, messages: list[str]) -> None:
    project = make_project(archive=NAME, sha256="0" * 64, wheels=[{"file": "a.whl", "sha256": "0" * 64}])
    with pytest.raises(DLBenchError, match="not a wheel file name"):
        fetch(project, tmp_path, messages.append)
