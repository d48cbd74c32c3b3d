"""In which release did a function first appear?

Earlier releases are looked into, as few as halving needs, and for every function that is asked for at once. A function
that was moved to another file is as old as it was there: it counts as present wherever its qualified name is defined in
a release. So a date here is never later than the truth but where a name went away and came back.
"""

import json
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path

from dlbench.construction.extract import walk_functions
from dlbench.construction.selection.archives import choose_release
from dlbench.construction.test_code import is_test_code
from dlbench.construction.work import Row
from dlbench.dataset import Project
from dlbench.errors import DLBenchError
from dlbench.journal import write_whole
from dlbench.parsing import parse
from dlbench.workspace import home
from dlbench.workspace.index import download
from dlbench.workspace.releases import Package, Release, look_up

Look = Callable[[Release], frozenset[str]]


def date_functions(project: Project, rows: Iterable[Row]) -> dict[str, date]:
    """When each function first appeared, by id."""
    package = look_up(project.name)
    releases = choose_files(package, choose_release(package, version=project.version))
    names = {row["id"]: row["qualname"] for row in rows}
    found = find_origins(set(names.values()), releases, lambda one: look_into(project.name, one))
    return {key: found[name] for key, name in names.items()}


def find_origins(names: Iterable[str], releases: list[Release], look: Look) -> dict[str, date]:
    """The upload date of the first release that has each name. `releases`: one file each, the oldest first."""
    found: dict[str, date] = {}

    def halve(wanted: frozenset[str], low: int, high: int) -> None:
        """All of them are in `high`, and none in anything before `low`."""
        if not wanted:
            return
        if low == high:
            found.update(dict.fromkeys(wanted, releases[low].uploaded))
            return
        middle = (low + high) // 2
        there = look(releases[middle])
        halve(wanted & there, low, middle)
        halve(wanted - there, middle + 1, high)

    halve(frozenset(names), 0, len(releases) - 1)
    return found


def choose_files(package: Package, until: Release) -> list[Release]:
    """One file for each release up to one: a wheel for every machine where there is one, since it is small."""
    from packaging.version import InvalidVersion, Version

    by_version: dict[str, list[Release]] = {}
    for release in package.releases:
        by_version.setdefault(release.version, []).append(release)
    chosen: list[Release] = []
    for version, files in by_version.items():
        try:
            is_final = not Version(version).is_prerelease
        except InvalidVersion:
            continue
        best = min(files, key=lambda file: (not file.filename.endswith("-none-any.whl"), file.kind != "sdist"))
        if version == until.version:
            chosen.append(until)
        elif is_final and best.uploaded <= until.uploaded:
            chosen.append(best)
    # what was uploaded on the same day as the release itself comes before it
    return sorted(chosen, key=lambda file: (file.uploaded, file.version == until.version, file.filename))


def look_into(project: str, release: Release) -> frozenset[str]:
    """The qualified names of all functions of a release; remembered, since a release does not change."""
    memory = home() / "history" / f"{release.sha256}.json"
    if not memory.is_file():
        memory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder, release.filename)
            download(project, release.filename, release.sha256, archive, lambda text: None)
            names = sorted({name for text in _read(archive) for name in _names(text)})
        write_whole(memory, json.dumps(names))
    return frozenset(json.loads(memory.read_text(encoding="utf-8")))


def _names(text: str) -> Iterator[str]:
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for qualname, _, _ in walk_functions(tree, ""):
        yield qualname


def _read(archive: Path) -> Iterator[str]:
    """The Python files of an archive that are no tests, never unpacked to disk."""
    try:
        if archive.suffix in {".whl", ".zip", ".egg"}:
            with zipfile.ZipFile(archive) as packed:
                for name in packed.namelist():
                    if name.endswith(".py") and not is_test_code(name):
                        yield packed.read(name).decode(errors="replace")
        else:
            with tarfile.open(archive) as tar:
                for member in tar:
                    if member.isfile() and member.name.endswith(".py") and not is_test_code(member.name):
                        file = tar.extractfile(member)
                        if file is not None:
                            yield file.read().decode(errors="replace")
    except (tarfile.TarError, zipfile.BadZipFile, OSError, EOFError) as error:
        what, mend = f"the archive cannot be read: {error}", "fetch it again"
        raise DLBenchError(what, where=archive.name, mend=mend) from None
