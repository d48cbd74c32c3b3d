"""Find the release in which a function first appeared, and the projects with new functions since a date.

A function counts as present if its qualified name is defined anywhere in the release, so moved functions keep their
age. A date is too late only if a name came and went within one release line (1.4.x and 1.5.x are two lines), or if old
code got a new name or came from another package.
"""

import contextlib
import json
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

from packaging.version import InvalidVersion, Version

from dlbench.construction import Row, explain
from dlbench.construction.collect import is_test_code
from dlbench.construction.extract import walk_functions
from dlbench.construction.project_spec import ProjectSpec
from dlbench.construction.selection.criteria import Candidate, judge_candidate, reason_kind
from dlbench.construction.selection.releases import choose_release
from dlbench.dataset import Project
from dlbench.errors import DLBenchError, is_full_disk
from dlbench.jsonl import write_whole
from dlbench.parsing import parse
from dlbench.workspace import home
from dlbench.workspace.home import Log
from dlbench.workspace.package_index import Package, Release, download, look_up

_READABLE = (".whl", ".zip", ".egg", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_CACHE_VERSION = 2
"""Incremented whenever names are read differently."""
ListNames = Callable[[Release], frozenset[str]]


def date_functions(project: Project, rows: Iterable[Row]) -> dict[str, date]:
    """When each function first appeared, by id; for a project that is not on an index, when it was read."""
    if not project.archive:
        return {row["id"]: project.released for row in rows}
    package = look_up(project.name)
    until = choose_release(package, version=project.version)
    names = {row["id"]: row["qualname"] for row in rows}
    releases = choose_files(package, until)
    found = find_origins(set(names.values()), releases, lambda release: list_release_functions(project.name, release))
    return {key: found.get(name, until.uploaded) for key, name in names.items()}


def find_origins(names: Iterable[str], releases: list[Release], list_names: ListNames) -> dict[str, date]:
    """The upload date of the first release that defines each name; names that none defines are omitted."""
    lines: dict[tuple[int, ...], list[Release]] = {}
    for release in sorted(releases, key=lambda one: Version(one.version)):
        version = Version(release.version)
        lines.setdefault((version.epoch, version.major, version.minor), []).append(release)
    found = dict.fromkeys(names, date.max)
    for line in sorted(lines.values(), key=_oldest):
        pending = frozenset(name for name in found if found[name] > _oldest(line))
        for name, release in _search(pending, line, list_names) if pending else ():
            found[name] = min(release.uploaded, found[name])
    return {name: origin for name, origin in found.items() if origin < date.max}


def _oldest(line: list[Release]) -> date:
    return min(release.uploaded for release in line)


def _search(names: frozenset[str], line: list[Release], list_names: ListNames) -> Iterator[tuple[str, Release]]:
    """Check the first release, which may define what later ones lost; bisect for names that only the last defines."""
    present = names & list_names(line[0])
    yield from ((name, line[0]) for name in present)
    if len(line) > 1:
        yield from _bisect((names - present) & list_names(line[-1]), line[1:], list_names)


def _bisect(names: frozenset[str], line: list[Release], list_names: ListNames) -> Iterator[tuple[str, Release]]:
    """Each name with the first release of the line that defines it; the last release defines all of them."""
    if not names:
        return
    if len(line) == 1:
        yield from ((name, line[0]) for name in names)
        return
    half = len(line) // 2
    present = names & list_names(line[half - 1])
    yield from _bisect(present, line[:half], list_names)
    yield from _bisect(names - present, line[half:], list_names)


def choose_files(package: Package, until: Release) -> list[Release]:
    """One file for each release up to `until`, by version: a pure wheel if there is one, since it is small.

    Its date is that of the release's first file, since a wheel may follow years later. Release candidates and yanked
    releases count, since anybody could read them; development builds do not."""
    by_version: dict[Version, list[Release]] = {}
    for release in (*package.releases, *package.withdrawn):
        with contextlib.suppress(InvalidVersion):
            if release.filename.endswith(_READABLE) and release.uploaded <= until.uploaded:
                by_version.setdefault(Version(release.version), []).append(release)
    own = Version(until.version)
    by_version.setdefault(own, []).append(until)
    chosen = {
        version: min(files, key=lambda file: (not file.filename.endswith("-none-any.whl"), file.kind != "sdist"))
        for version, files in by_version.items()
        if not version.is_devrelease
    } | {own: until}
    oldest = {version: min(file.uploaded for file in by_version[version]) for version in chosen}
    return [replace(chosen[version], uploaded=oldest[version]) for version in sorted(chosen)]


def list_release_functions(project: str, release: Release) -> frozenset[str]:
    """The qualified names of all functions of a release; cached, since a release does not change."""
    cached = home() / "history" / f"{release.sha256}-{_CACHE_VERSION}.json"
    if not cached.is_file():
        cached.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder, release.filename)
            download(project, release.filename, release.sha256, archive, lambda text: None)
            names = sorted({name for raw in _read(archive) for name in _names(raw)})
        write_whole(cached, json.dumps(names))
    return frozenset(json.loads(cached.read_text(encoding="utf-8")))


def _names(raw: bytes) -> list[str]:
    try:
        # Without the byte order mark, which would make the file unparsable.
        text = raw.decode("utf-8-sig", errors="replace")
        return [qualname for qualname, _, _ in walk_functions(parse(text), "")]
    except (SyntaxError, ValueError, RecursionError):
        return []


def _read(archive: Path) -> Iterator[bytes]:
    """Yield the Python files of an archive that are not tests, without unpacking to disk."""

    def is_code(name: str) -> bool:
        return name.endswith(".py") and not is_test_code(name)

    try:
        if archive.suffix in {".whl", ".zip", ".egg"}:
            with zipfile.ZipFile(archive) as packed:
                yield from map(packed.read, filter(is_code, packed.namelist()))
        else:
            with tarfile.open(archive) as tar:
                files = (tar.extractfile(member) for member in tar if member.isfile() and is_code(member.name))
                yield from (file.read() for file in files if file)
    except (tarfile.TarError, zipfile.BadZipFile, OSError, EOFError) as error:
        what, fix = f"the archive cannot be read: {error}", "fetch it again"
        raise DLBenchError(what, where=archive.name, fix=fix) from None


_SETTLED = ("code", "cases", "documents")
"""Criteria that were decided when the project was chosen, by rule or by a person."""


def find_recent_projects(specs: list[ProjectSpec], since: date, log: Log) -> tuple[list[ProjectSpec], list[Row]]:
    """Projects whose newest release was uploaded since the date and has new functions; the others with the reason."""
    recent: list[ProjectSpec] = []
    left_out: list[Row] = []
    for spec in specs:
        try:
            if spec.path or spec.git:
                raise DLBenchError("it is not on the package index, which dates functions")
            package = look_up(spec.name)
            newest = choose_release(package, version=spec.version)
            if why := _find_objection(package, newest, since, log):
                left_out.append({"project": spec.name, "why": why})
            else:
                # Pin the release that was examined: a newer one may be uploaded meanwhile.
                recent.append(replace(spec, version=newest.version))
        except Exception as error:
            if is_full_disk(error):
                raise
            left_out.append({"project": spec.name, "why": explain(error)})
    return recent, left_out


def _find_objection(package: Package, newest: Release, since: date, log: Log) -> str:
    """Why the release is left out: it is too old, has no new function, or step 2 rejects it, since a project chosen
    once may have lost its tests or its license."""
    if not newest.is_dated:
        return "the index gives no upload dates, so no function can be dated"
    if newest.uploaded < since:
        return f"its newest release is from {newest.uploaded}"
    # The last release before the date is enough, so projects without news cost little.
    before = [file for file in choose_files(package, newest) if file.uploaded < since]
    known = list_release_functions(package.name, before[-1]) if before else frozenset()
    new = list_release_functions(package.name, newest) - known
    log(f"{package.name} {newest.version} from {newest.uploaded}: {len(new)} new functions")
    if not new:
        return "its newest release has no new function"
    reasons = judge_candidate(Candidate(package.name, version=newest.version), log)["reasons"]
    return "; ".join(reason for reason in reasons if reason_kind(reason) not in _SETTLED)
