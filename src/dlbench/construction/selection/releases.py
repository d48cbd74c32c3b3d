"""Choose the release of a package, open its source archive, and decide whether its license is permissive.

Wheels omit the tests, and a release for another Python would fail for reasons unrelated to the code. Metadata,
classifiers and license file must agree: a project with MIT in its metadata and an AGPL file is rejected.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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


PERMISSIVE = frozenset({
    "MIT", "MIT-0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "BSD-3-Clause-Clear", "0BSD", "Apache-2.0", "ISC", "PSF-2.0",
    "Python-2.0", "Unlicense", "Zlib", "BSL-1.0", "CC0-1.0", "HPND", "WTFPL", "NCSA", "AFL-3.0", "PostgreSQL",
})  # fmt: skip

# By name: a pattern for a short field or classifier, of which the first match counts, so narrower ones come first; and
# a phrase that identifies the text of the license. Empty if there is none.
_KNOWN = {
    "Commons-Clause": ("", r"commons clause"),
    "non-commercial": (r"\bNC\b|non.?commercial", r"non-?commercial"),
    "proprietary": (r"proprietary|all rights reserved|\bcommercial|but restricted", r"proprietary"),
    "AGPL": (r"AGPL|affero", r"gnu affero general public licen[cs]e"),
    "LGPL": (r"LGPL|lesser general|library general", r"gnu (lesser|library) general public licen[cs]e"),
    "GPL": (r"GPL|general public", r"gnu general public licen[cs]e"),
    "MPL-2.0": (r"\bMPL|mozilla", r"mozilla public licen[cs]e"),
    "EPL-2.0": (r"\bEPL|eclipse", r"eclipse public licen[cs]e"),
    "EUPL-1.2": (r"\bEUPL|european union public", r"european union public licen[cs]e"),
    "BUSL-1.1": (r"business source|\bBUSL|\bBSL.?1\.1", r"business source licen[cs]e"),
    "SSPL-1.0": (r"\bSSPL|server side public", r"server side public licen[cs]e"),
    "RAIL": (r"\bRAIL|openrail", r"\b\w*rail licen[cs]e"),
    "CC-BY-SA": (r"\bCC.?BY.?SA|sharealike", r"attribution-sharealike"),
    "CC-BY-4.0": (r"\bCC.?BY\b", r"creative commons attribution 4|attribution 4\.0 international"),
    "MIT-0": (r"\bMIT.?0|no attribution", ""),
    "MIT": (r"\bMIT\b|expat", r"permission is hereby granted, free of charge, to any person"),
    "Apache-2.0": (r"apache", r"apache licen[cs]e,? ?\(?version 2\.0"),
    "0BSD": (r"\b0BSD|zero.clause", ""),
    "BSD-2-Clause": (r"BSD.?2|2.clause|simplified BSD|freebsd", ""),
    "BSD-3-Clause": (r"BSD.?3|3.clause|new BSD|modified BSD|revised BSD", ""),
    "BSD": (r"\bBSD", r"redistribution and use in source and binary forms"),
    "ISC": (r"\bISC\b", r"permission to use, copy, modify,? and(/or)? distribute this software for any purpose"),
    "PSF-2.0": (r"\bPSF|python software foundation", r"python software foundation licen[cs]e"),
    "Unlicense": (r"unlicense", r"free and unencumbered software"),
    "Zlib": (r"zlib", r"altered source versions must be plainly marked"),
    "BSL-1.0": (r"boost|\bBSL", r"boost software licen[cs]e"),
    "CC0-1.0": (r"\bCC0|public domain", r"cc0 1\.0 universal"),
}
_FILE = re.compile(
    r"(un)?licen[cs]e([-._](md|rst|txt|mit|bsd|apache|apache2|apache-2\.0|a?gpl|lgpl))*|copying([-._]\w+)*", re.I
)
_SHORT = 200


@dataclass(frozen=True)
class License:
    """`problem`: why the license is not acceptable; empty if it is."""

    name: str
    problem: str


def find_license(package: Package, tree: Path) -> License:
    field = " ".join(package.license.split())
    if re.search(r"\bOR\b", field) and (choice := _choose(field)):
        return License(choice, "")
    parts = [part for part in re.split(r"\bAND\b", field) if part.strip()]
    stated = [("the metadata", name) for name in ([recognize(field)] if len(field) > _SHORT else map(_by_name, parts))]
    for text in package.classifiers:
        if text.startswith("License ::") and not text.endswith("OSI Approved"):
            stated.append((f"the classifier {text!r}", _by_name(text.rpartition("::")[2])))
    for path in list_license_files(tree):
        text = path.read_text(encoding="utf-8", errors="replace")
        stated.append((f"the file {path.name}", recognize(text)))
    known = [(where, name) for where, name in stated if name]
    for where, name in known:
        if name not in PERMISSIVE:
            return License(name, f"{name} is not permissive ({where})")
    if not known:
        metadata = f"the metadata says {field[:60]!r}" if field else "the metadata says nothing"
        others = ", ".join(where for where, _ in stated if where != "the metadata")
        found = f", {others} not recognized" if others else ", and there is no classifier or license file"
        return License("", f"unknown: {metadata}{found}")
    # "BSD" alone does not name the variant; another source may.
    exact = [name for _, name in known if name != "BSD"]
    return License((exact or ["BSD"])[0], "")


def list_license_files(tree: Path) -> list[Path]:
    found = (path for path in sorted(tree.iterdir()) if _FILE.fullmatch(path.name))
    return [path for path in found if path.is_file() and not path.is_symlink()]


def recognize(text: str) -> str:
    """The license of this text, which is the first it names: the rest are of included parts. Empty if unknown."""
    flat = " ".join(text.lower().replace("*", " ").replace("#", " ").split())
    matches = {name: re.search(phrase, flat) for name, (_, phrase) in _KNOWN.items() if phrase}
    found = [(match.start(), name) for name, match in matches.items() if match]
    first = min(found, default=(0, ""))[1]
    restricted = {name for _, name in found} & {"Commons-Clause", "non-commercial"}
    if first in PERMISSIVE and restricted:
        return min(restricted)
    if first == "BSD":
        return "BSD-3-Clause" if "neither the name" in flat else "BSD-2-Clause"
    return first


def _choose(expression: str) -> str:
    """The first permissive alternative of an SPDX expression."""
    for part in re.split(r"\bOR\b", expression.strip("() ")):
        names = [_by_name(name) for name in re.split(r"\bAND\b", part)]
        if "(" not in part and ")" not in part and all(name in PERMISSIVE for name in names):
            return " AND ".join(names)
    return ""


def _by_name(text: str) -> str:
    bare = text.partition(" WITH ")[0].strip("() ").lower()
    if exact := next((name for name in PERMISSIVE if name.lower() == bare), ""):
        return exact
    patterns = ((name, pattern) for name, (pattern, _) in _KNOWN.items() if pattern)
    return next((name for name, pattern in patterns if re.search(pattern, text, re.IGNORECASE)), "")
