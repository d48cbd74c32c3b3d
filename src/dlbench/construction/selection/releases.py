"""Choose the release of a package and open its source archive.

Wheels omit the tests, and a release for another Python would fail for reasons unrelated to the code.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag, cpython_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from dlbench.dataset.records import Wheel
from dlbench.errors import DLBenchError
from dlbench.workspace.archive import unpack
from dlbench.workspace.home import Log, disk_errors, home, locked, make_folder
from dlbench.workspace.package_index import Package, Release
from dlbench.workspace.source import fetch_archive

PYTHON = "3.11"
MOST_BYTES = 200 << 20
_PATCHES = 20
_FILENAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ANY_MACHINE = ("machine",)
"""Replaces the platforms of a wheel where only its Python version matters."""


def order_of(release: Release) -> tuple[bool, Version]:
    """Sort key, newest last: invalid versions, then pre-releases, then final releases."""
    try:
        version = Version(release.version)
    except InvalidVersion:
        version = Version("0.dev0")
    return not version.is_prerelease, version


def newest(package: Package) -> Release | None:
    return max(package.releases, key=order_of, default=None)


def choose_release(package: Package, *, version: str = "") -> Release:
    """The newest suitable release, or the one of the given version. Raises DLBenchError if there is none."""
    sources = [release for release in package.releases if release.kind == "sdist"]
    archives = [release for release in sources if release.version == version] if version else sources
    if not archives:
        count = len({release.version for release in package.releases})
        which = f"version {version} has no" if version else f"none of its {count} releases has a"
        raise DLBenchError(f"{which} source archive", where=package.name)
    fitting = [release for release in archives if fits(release.requires_python)]
    if not fitting:
        last = max(archives, key=order_of)
        what = f"none of its {len(archives)} source archives is for Python {PYTHON}"
        raise DLBenchError(f"{what}: {last.version} requires {last.requires_python}", where=package.name)
    chosen = max(fitting, key=order_of)
    # Both become part of a path on this machine.
    if not (_FILENAME.fullmatch(chosen.filename) and _SHA256.fullmatch(chosen.sha256)):
        raise DLBenchError(f"the index has an invalid file name or hash: {chosen.filename!r}", where=package.name)
    if chosen.size > MOST_BYTES:
        what = f"the source archive of {chosen.version} has {chosen.size >> 20} MiB, more than {MOST_BYTES >> 20}"
        raise DLBenchError(what, where=package.name)
    return chosen


def find_wheels(package: Package, release: Release) -> tuple[Wheel, ...]:
    """The wheels of a partly compiled release for the benchmark's Python; none if one wheel fits every machine."""
    found, supported = [], {*cpython_tags(tuple(map(int, PYTHON.split("."))), platforms=_ANY_MACHINE)}
    for file in package.releases:
        if file.version != release.version or file.kind != "bdist_wheel" or file.size > MOST_BYTES:
            continue
        try:
            *_, tags = parse_wheel_filename(file.filename)
        except InvalidWheelFilename:
            continue
        if any(tag.platform == "any" for tag in tags):
            return ()
        on_any = {Tag(tag.interpreter, tag.abi, _ANY_MACHINE[0]) for tag in tags if not tag.platform.startswith("win")}
        if on_any & supported and _FILENAME.fullmatch(file.filename) and _SHA256.fullmatch(file.sha256):
            found.append(Wheel(file=file.filename, sha256=file.sha256))
    return tuple(found)


def fits(requires_python: str) -> bool:
    """Whether some patch release of the benchmark's Python fits; like pip, ignores an invalid requirement."""
    try:
        specifiers = SpecifierSet(requires_python)
    except InvalidSpecifier:
        return True
    return any(specifiers.contains(f"{PYTHON}.{patch}") for patch in range(_PATCHES))


@contextmanager
def open_release(package: Package, release: Release, log: Log) -> Iterator[Path]:
    """The unpacked release, for reading within the block."""
    archive = fetch_archive(package.name, release.filename, release.sha256, log)
    folder = home() / "sources"
    # Named like builds, so that `dlbench clean` removes what a kill leaves here.
    with locked(f"reading-{release.sha256}", log), disk_errors(folder):
        make_folder(folder)
        temporary = Path(tempfile.mkdtemp(prefix=f".{release.sha256}.building-", dir=folder))
        try:
            unpack(archive, temporary / "tree")
            yield temporary / "tree"
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
