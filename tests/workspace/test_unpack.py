import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from dlbench.errors import DLBenchError
from dlbench.workspace import archive as module
from dlbench.workspace.archive import unpack

from .parts import make_sdist, make_wheel


def make_tar(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as file:
        for member in members:
            file.addfile(member, io.BytesIO(b"x" * member.size))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, size
    return info


def everything(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_source_archives_single_top_folder_is_stripped(tmp_path: Path) -> None:
    make_sdist(tmp_path / "a.tar.gz")
    unpack(tmp_path / "a.tar.gz", tmp_path / "tree")
    assert (tmp_path / "tree" / "tiny_net" / "__init__.py").is_file()
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("top/one.py", "1")
    unpack(tmp_path / "a.zip", tmp_path / "zipped")
    assert everything(tmp_path / "zipped") == ["one.py"]


def test_wheel_has_no_top_folder_stripped(tmp_path: Path) -> None:
    unpack(make_wheel(tmp_path / "wheels"), tmp_path / "tree")
    assert (tmp_path / "tree" / "tiny_dep-1.0.dist-info" / "METADATA").is_file()


def test_links_that_stay_inside_are_kept(tmp_path: Path) -> None:
    link = member("top/in/link.py", tarfile.SYMTYPE, "../real.py")
    archive = make_tar(tmp_path / "a.tar.gz", member("top/real.py", size=3), link)
    unpack(archive, tmp_path / "tree")
    assert (tmp_path / "tree" / "in" / "link.py").read_text() == "xxx"


@pytest.mark.parametrize(
    "bad",
    [
        member("top/../../out", size=1),
        member("/out", size=1),
        member("top/link", tarfile.SYMTYPE, "/etc"),
        member("top/link", tarfile.SYMTYPE, "../../out"),
        # Inside the archive, but outside the tree once the top folder is stripped.
        member("top/link", tarfile.SYMTYPE, "../out"),
        member("top/link", tarfile.LNKTYPE, "../out"),
        member("top/pipe", tarfile.FIFOTYPE),
        member("top/device", tarfile.CHRTYPE),
    ],
    ids=lambda info: f"{info.name} -> {info.linkname}",
)
def test_tar_that_escapes_its_folder_is_rejected_as_a_whole(tmp_path: Path, bad: tarfile.TarInfo) -> None:
    folder = tmp_path / "deep" / "er"
    folder.mkdir(parents=True)
    archive = make_tar(tmp_path / "a.tar.gz", member("top/good.py", size=1), bad)
    with pytest.raises(DLBenchError, match="tries to write outside its folder"):
        unpack(archive, folder / "tree")
    assert everything(tmp_path) == ["a.tar.gz", "deep", "deep/er"]


def test_writing_through_a_link_is_rejected(tmp_path: Path) -> None:
    archive = make_tar(
        tmp_path / "a.tar.gz", member("top/x", tarfile.SYMTYPE, str(tmp_path)), member("top/x/out", size=1)
    )
    with pytest.raises(DLBenchError, match="outside its folder"):
        unpack(archive, tmp_path / "deep" / "tree")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("name", "link"), [("../out", ""), ("/out", ""), ("top/l", "/etc"), ("top/l", "../../out")])
def test_zip_that_escapes_its_folder_is_rejected(tmp_path: Path, name: str, link: str) -> None:
    info = zipfile.ZipInfo(name)
    if link:
        info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("top/good.py", "1")
        file.writestr(info, link or "x")
    with pytest.raises(DLBenchError, match="tries to write outside its folder"):
        unpack(tmp_path / "a.zip", tmp_path / "deep" / "tree")
    assert everything(tmp_path) == ["a.zip", "deep"]


def test_oversized_archive_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = make_tar(tmp_path / "a.tar.gz", member("top/a", size=100), member("top/b", size=100))
    monkeypatch.setattr(module, "MAX_BYTES", 150)
    with pytest.raises(DLBenchError, match="too large"):
        unpack(archive, tmp_path / "tree")
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    monkeypatch.setattr(module, "MAX_FILES", 1)
    with pytest.raises(DLBenchError, match="too large"):
        unpack(archive, tmp_path / "tree")


@pytest.mark.parametrize("name", ["a.tar.gz", "a.tar.bz2", "a.zip", "a.whl", "a.rar"])
def test_damaged_or_unknown_archive_is_reported(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"this is no archive at all" * 50)
    with pytest.raises(DLBenchError) as caught:
        unpack(tmp_path / name, tmp_path / "tree")
    assert caught.value.where == name


def test_truncated_archive_is_reported(tmp_path: Path) -> None:
    whole = make_tar(tmp_path / "a.tar.gz", member("top/a", size=500_000))
    whole.write_bytes(whole.read_bytes()[:-30])
    with pytest.raises(DLBenchError):
        unpack(whole, tmp_path / "tree")
    assert not (tmp_path / "tree").exists()
