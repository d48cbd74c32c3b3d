"""In which release did a function first appear?

Earlier releases are looked into, for every function that is asked for at once: first and last of each line (1.4.x and
1.5.x are two), from the oldest on, and between them as few as halving needs. So it does not matter that lines
overlap in time, nor that a name went away with one line and came back with a later one. A function that was moved to
another file is as old as it was there: it counts as present wherever its qualified name is defined in a release. A date
here is later than the truth only where a name came and went in the middle of a line, where old code got a new name, or
where it was another package's before.

Which functions can no model have seen that was trained before a day?

Those of releases uploaded since, which no release before had. One look into the last release before the day tells
whether a project has any, so that the others cost nothing.
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

from dlbench.construction.collect import is_test_code
from dlbench.construction.extract import walk_functions
from dlbench.construction.project_spec import ProjectSpec
from dlbench.construction.selection.criteria import Candidate, judge_candidate, reason_kind
from dlbench.construction.selection.releases import choose_release
from dlbench.construction.work_folder import Row, explain
from dlbench.dataset import Project
from dlbench.errors import DLBenchError, is_full_disk
from dlbench.jsonl import write_whole
from dlbench.parsing import parse
from dlbench.workspace import home
from dlbench.workspace.home import Log
from dlbench.workspace.package_index import Package, Release, download, look_up

_READABLE = (".whl", ".zip", ".egg", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_FORM = 2
"""Of what is remembered; one more whenever names are read otherwise."""
Look = Callable[[Release], frozenset[str]]


def date_functions(project: Project, rows: Iterable[Row]) -> dict[str, date]:
    """When each function first appeared, by id."""
    package = look_up(project.name)
    until = choose_release(package, version=project.version)
    names = {row["id"]: row["qualname"] for row in rows}
    found = find_origins(
        set(names.values()), choose_files(package, until), lambda release: list_release_functions(project.name, release)
    )
    return {key: found.get(name, until.uploaded) for key, name in names.items()}


def find_origins(names: Iterable[str], releases: list[Release], look: Look) -> dict[str, date]:
    """The upload date of the first release that has each name; nothing of a name that none has."""
    lines: dict[tuple[int, ...], list[Release]] = {}
    for release in sorted(releases, key=lambda one: Version(one.version)):
        version = Version(release.version)
        lines.setdefault((version.epoch, version.major, version.minor), []).append(release)
    wanted, found = frozenset(names), dict[str, date]()
    for line in sorted(lines.values(), key=_oldest):
        open_ = frozenset(name for name in wanted if name not in found or found[name] > _oldest(line))
        if open_:
            for name, release in _search(open_, line, look):
                found[name] = min(release.uploaded, found.get(name, date.max))
    return found


def _oldest(line: list[Release]) -> date:
    return min(release.uploaded for release in line)


def _search(names: frozenset[str], line: list[Release], look: Look) -> Iterator[tuple[str, Release]]:
    """Its first has what a later one may have lost; what its last alone has came in between."""
    there = names & look(line[0])
    yield from ((name, line[0]) for name in there)
    if len(line) > 1:
        yield from _halve((names - there) & look(line[-1]), line[1:], look)


def _halve(names: frozenset[str], line: list[Release], look: Look) -> Iterator[tuple[str, Release]]:
    """Each with the first of the line that has it; the last has all of them."""
    if not names:
        return
    if len(line) == 1:
        yield from ((name, line[0]) for name in names)
        return
    half = len(line) // 2
    there = names & look(line[half - 1])
    yield from _halve(there, line[:half], look)
    yield from _halve(names - there, line[half:], look)


def choose_files(package: Package, until: Release) -> list[Release]:
    """One file for each release that was there by one, in the order of versions: a wheel for every machine where there
    is one, since it is small. It is as old as the release's first file, since a wheel may follow years later.
    Candidates of a release are releases, too, and so is what was withdrawn, since anybody could read them; builds of a
    day (`dev`) are not looked into."""
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
    """The qualified names of all functions of a release; remembered, since a release does not change."""
    memory = home() / "history" / f"{release.sha256}-{_FORM}.json"
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


def _decode(raw: bytes) -> str:
    """Without the mark that some editors put first: with it nothing of the file would parse."""
    return raw.decode("utf-8-sig", errors="replace")


def _read(archive: Path) -> Iterator[str]:
    """The Python files of an archive that are no tests, never unpacked to disk."""
    try:
        if archive.suffix in {".whl", ".zip", ".egg"}:
            with zipfile.ZipFile(archive) as packed:
                for name in packed.namelist():
                    if name.endswith(".py") and not is_test_code(name):
                        yield _decode(packed.read(name))
        else:
            with tarfile.open(archive) as tar:
                for member in tar:
                    if member.isfile() and member.name.endswith(".py") and not is_test_code(member.name):
                        file = tar.extractfile(member)
                        if file is not None:
                            yield _decode(file.read())
    except (tarfile.TarError, zipfile.BadZipFile, OSError, EOFError) as error:
        what, fix = f"the archive cannot be read: {error}", "fetch it again"
        raise DLBenchError(what, where=archive.name, fix=fix) from None


_SETTLED = ("code", "cases", "documents")
"""What was weighed when the project was chosen, by rule or by a person."""


def find_recent_projects(
    wishes: list[ProjectSpec], since: date, log: Log
) -> tuple[list[ProjectSpec], list[dict[str, str]]]:
    """The projects with a release since, and a function in it that was not there before; the others with the reason."""
    fresh: list[ProjectSpec] = []
    left_out: list[dict[str, str]] = []
    for wish in wishes:
        try:
            package = look_up(wish.name)
            newest = choose_release(package, version=wish.version)
            before = [file for file in choose_files(package, newest) if file.uploaded < since]
            if newest.uploaded < since:
                why = f"its newest release is of {newest.uploaded}"
            else:
                known = list_release_functions(package.name, before[-1]) if before else frozenset()
                new = list_release_functions(package.name, newest) - known
                log(f"{wish.name} {newest.version} of {newest.uploaded}: {len(new)} new functions")
                why = _find_objection(wish.name, newest, log) if new else "its newest release has no new function"
        except Exception as error:
            if is_full_disk(error):
                raise
            why = explain(error)
        if why:
            left_out.append({"project": wish.name, "why": why})
        else:
            # the very release that was looked at: the next may be uploaded while this one is gone through
            fresh.append(replace(wish, version=newest.version))
    return fresh, left_out


def _find_objection(name: str, release: Release, log: Log) -> str:
    """What step 2 has against a release: one that was chosen once may have lost its tests, or its licence."""
    reasons = judge_candidate(Candidate(name, version=release.version), log)["reasons"]
    return "; ".join(reason for reason in reasons if reason_kind(reason) not in _SETTLED)
