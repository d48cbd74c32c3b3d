"""Unpack untrusted archives safely; hash and copy source trees.

An archive may name files outside its folder, link there, or expand until the disk is full. Such an archive is rejected
as a whole and leaves nothing on the disk. Hash and copy skip what is not source, so that running the tests does not
change the hash and a project is not copied together with its own torch.
"""

import hashlib
import os
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from lzma import LZMAError
from pathlib import Path, PurePosixPath

from dlbench.errors import DLBenchError
from dlbench.workspace.home import disk_errors

MAX_FILES = 200_000
MAX_BYTES = 4 << 30


def unpack(archive: Path, target: Path) -> None:
    """Unpack into `target`, which must be new or empty. A source archive's single top folder becomes `target`."""
    staging = target.with_name(f".{target.name}.unpacking")
    with disk_errors(target):
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        try:
            _extract(archive, staging)
            tree = staging if archive.suffix == ".whl" else _top(staging)
            check_links(tree, archive.name)
            tree.rename(target)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def check_links(tree: Path, where: str) -> None:
    """Reject a tree with a link that leads out of it: access through it would touch this machine's files."""
    root = tree.resolve()
    for path in tree.rglob("*"):
        # realpath, unlike Path.resolve, accepts a loop of links, which stays inside the tree.
        end = Path(os.path.realpath(path))
        if path.is_symlink() and (path.readlink().is_absolute() or not end.is_relative_to(root)):
            raise _escapes(where, path.relative_to(tree).as_posix())


def _extract(archive: Path, staging: Path) -> None:
    try:
        if archive.suffix in (".zip", ".whl"):
            _extract_zip(archive, staging)
        elif archive.name.endswith((".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar")):
            _extract_tar(archive, staging)
        else:
            kinds = "use a .tar.gz, .tgz, .tar.bz2, .zip or .whl file of the release"
            raise DLBenchError("unknown archive format", where=archive.name, fix=kinds)
    except tarfile.FilterError as error:
        raise _escapes(archive.name, error.tarinfo.name) from None
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, LZMAError, RuntimeError, OSError) as error:
        if getattr(error, "errno", None) is not None:  # a disk error; gzip and bz2 report a malformed file without one
            raise
        what, fix = f"the archive cannot be unpacked: {error}", "remove it and fetch it again"
        raise DLBenchError(what, where=archive.name, fix=fix) from None


def _extract_tar(archive: Path, staging: Path) -> None:
    with tarfile.open(archive) as file:
        total = 0
        for count, member in enumerate(file, 1):
            total += member.size
            _check_limits(archive, count, total)
            _check_name(archive, member.name)
        file.extractall(staging, filter="data")


def _extract_zip(archive: Path, staging: Path) -> None:
    with zipfile.ZipFile(archive) as file:
        members = file.infolist()
        _check_limits(archive, len(members), sum(member.file_size for member in members))
        links = []
        for member in members:
            _check_name(archive, member.filename)
            mode = member.external_attr >> 16
            if stat.S_ISLNK(mode):
                links.append(member)
                continue
            path = Path(file.extract(member, staging))
            if mode & 0o100 and not member.is_dir():
                path.chmod(0o755)
        # Links come last, so that no file is written through one.
        for member in links:
            path = staging / member.filename
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(file.read(member).decode())


def _check_name(archive: Path, name: str) -> None:
    """Reject absolute names too, which the tar filter and zipfile would silently make relative."""
    if name.startswith("/") or ".." in PurePosixPath(name).parts or "\0" in name:
        raise _escapes(archive.name, name)


def _check_limits(archive: Path, count: int, total: int) -> None:
    if count > MAX_FILES or total > MAX_BYTES:
        what = f"the archive is too large: more than {MAX_FILES} files or {MAX_BYTES >> 20} MiB"
        raise DLBenchError(what, where=archive.name, fix="source releases are smaller: check which file this is")


def _top(staging: Path) -> Path:
    entries = list(staging.iterdir())
    alone = len(entries) == 1 and entries[0].is_dir() and not entries[0].is_symlink()
    return entries[0] if alone else staging


def _escapes(where: str, name: str) -> DLBenchError:
    what, fix = f"the archive tries to write outside its folder: {name!r}", "do not use it; report it to its index"
    return DLBenchError(what, where=where, fix=fix)


def file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tree_hash(folder: Path) -> str:
    """sha256 over the sorted relative paths and contents; for a link, its destination."""
    total = hashlib.sha256()
    for path in sorted(_files(folder), key=lambda path: path.relative_to(folder).as_posix()):
        if path.is_symlink():
            digest = hashlib.sha256(b"link " + os.fsencode(path.readlink())).hexdigest()
        else:
            digest = file_hash(path)
        total.update(f"{path.relative_to(folder).as_posix()}\0{digest}\n".encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def copy_tree(folder: Path, target: Path) -> None:
    for path in _files(folder):
        copy = target / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy, follow_symlinks=False)


def remove_bytecode(tree: Path) -> None:
    for folder in list(tree.rglob("__pycache__")):
        shutil.rmtree(folder)


def plain_modes(tree: Path) -> None:
    """Make everything readable by all, whatever the source or the umask says: tests run as another user."""
    tree.chmod(0o755)
    for path in tree.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


_CACHES = (".git", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis")


def _files(folder: Path) -> Iterator[Path]:
    for top, folders, files in os.walk(folder):
        here = Path(top)
        # os.walk lists a link to a folder as a folder; it is one entry and is not entered.
        links = [name for name in folders if (here / name).is_symlink()]
        skipped = {*links, *_CACHES, *(path.parent.name for path in here.glob("*/pyvenv.cfg"))}
        folders[:] = [name for name in folders if name not in skipped]
        for name in files + links:
            if (here / name).is_symlink() or (here / name).is_file():
                yield here / name
