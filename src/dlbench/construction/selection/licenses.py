"""Detect a project's license and decide whether it is permissive.

The license is stated in up to three places: metadata, classifiers, license file. They must agree: a project with MIT in
its metadata and an AGPL file is rejected. An unrecognized license is unknown, and unknown is rejected too.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from dlbench.workspace.package_index import Package

PERMISSIVE = frozenset({
    "MIT", "MIT-0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "BSD-3-Clause-Clear", "0BSD", "Apache-2.0", "ISC", "PSF-2.0",
    "Python-2.0", "Unlicense", "Zlib", "BSL-1.0", "CC0-1.0", "HPND", "WTFPL", "NCSA", "AFL-3.0", "PostgreSQL",
})  # fmt: skip

# Patterns for a short field or classifier; the first match counts, so narrower patterns come first.
_NAMES = (
    (r"\bNC\b|non.?commercial", "non-commercial"),
    (r"proprietary|all rights reserved|\bcommercial|but restricted", "proprietary"),
    (r"AGPL|affero", "AGPL"),
    (r"LGPL|lesser general|library general", "LGPL"),
    (r"GPL|general public", "GPL"),
    (r"\bMPL|mozilla", "MPL-2.0"),
    (r"\bEPL|eclipse", "EPL-2.0"),
    (r"\bEUPL|european union public", "EUPL-1.2"),
    (r"business source|\bBUSL|\bBSL.?1\.1", "BUSL-1.1"),
    (r"\bSSPL|server side public", "SSPL-1.0"),
    (r"\bRAIL|openrail", "RAIL"),
    (r"\bCC.?BY.?SA|sharealike", "CC-BY-SA"),
    (r"\bCC.?BY\b", "CC-BY-4.0"),
    (r"\bMIT.?0|no attribution", "MIT-0"),
    (r"\bMIT\b|expat", "MIT"),
    (r"apache", "Apache-2.0"),
    (r"\b0BSD|zero.clause", "0BSD"),
    (r"BSD.?2|2.clause|simplified BSD|freebsd", "BSD-2-Clause"),
    (r"BSD.?3|3.clause|new BSD|modified BSD|revised BSD", "BSD-3-Clause"),
    (r"\bBSD", "BSD"),
    (r"\bISC\b", "ISC"),
    (r"\bPSF|python software foundation", "PSF-2.0"),
    (r"unlicense", "Unlicense"),
    (r"zlib", "Zlib"),
    (r"boost|\bBSL", "BSL-1.0"),
    (r"\bCC0|public domain", "CC0-1.0"),
)

# Phrases that identify a license text. The first license in a file is the project's; the rest are of included parts.
_PHRASES = (
    (r"commons clause", "Commons-Clause"),
    (r"non-?commercial", "non-commercial"),
    (r"business source licen[cs]e", "BUSL-1.1"),
    (r"server side public licen[cs]e", "SSPL-1.0"),
    (r"\b\w*rail licen[cs]e", "RAIL"),
    (r"gnu affero general public licen[cs]e", "AGPL"),
    (r"gnu (lesser|library) general public licen[cs]e", "LGPL"),
    (r"gnu general public licen[cs]e", "GPL"),
    (r"mozilla public licen[cs]e", "MPL-2.0"),
    (r"eclipse public licen[cs]e", "EPL-2.0"),
    (r"european union public licen[cs]e", "EUPL-1.2"),
    (r"attribution-sharealike", "CC-BY-SA"),
    (r"creative commons attribution 4|attribution 4\.0 international", "CC-BY-4.0"),
    (r"proprietary", "proprietary"),
    (r"apache licen[cs]e,? ?\(?version 2\.0", "Apache-2.0"),
    (r"permission is hereby granted, free of charge, to any person", "MIT"),
    (r"redistribution and use in source and binary forms", "BSD"),
    (r"permission to use, copy, modify,? and(/or)? distribute this software for any purpose", "ISC"),
    (r"python software foundation licen[cs]e", "PSF-2.0"),
    (r"free and unencumbered software", "Unlicense"),
    (r"altered source versions must be plainly marked", "Zlib"),
    (r"boost software licen[cs]e", "BSL-1.0"),
    (r"cc0 1\.0 universal", "CC0-1.0"),
)
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
    stated = [("the metadata", name) for name in _read_field(field)]
    stated += [(f"the classifier {text!r}", _by_name(text.rpartition("::")[2])) for text in _classifiers(package)]
    for path in list_license_files(tree):
        text = path.read_text(encoding="utf-8", errors="replace")
        stated.append((f"the file {path.name}", recognize(text)))
    known = [(where, name) for where, name in stated if name]
    for where, name in known:
        if name not in PERMISSIVE:
            return License(name, f"{name} is not permissive ({where})")
    if not known:
        return License("", f"unknown: {_list_unknown(field, stated)}")
    # "BSD" alone does not name the variant; another source may.
    exact = [name for _, name in known if name != "BSD"]
    return License((exact or ["BSD"])[0], "")


def list_license_files(tree: Path) -> list[Path]:
    found = (path for path in sorted(tree.iterdir()) if _FILE.fullmatch(path.name))
    return [path for path in found if path.is_file() and not path.is_symlink()]


def recognize(text: str) -> str:
    """The license of this text; empty if it is unknown."""
    flat = " ".join(text.lower().replace("*", " ").replace("#", " ").split())
    found = [(match.start(), name) for phrase, name in _PHRASES if (match := re.search(phrase, flat))]
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


def _read_field(text: str) -> list[str]:
    if len(text) > _SHORT:
        return [recognize(text)]
    return [_by_name(part) for part in re.split(r"\bAND\b", text) if part.strip()]


def _by_name(text: str) -> str:
    bare = text.partition(" WITH ")[0].strip("() ")
    for name in PERMISSIVE:
        if bare.lower() == name.lower():
            return name
    return next((name for pattern, name in _NAMES if re.search(pattern, text, re.IGNORECASE)), "")


def _classifiers(package: Package) -> list[str]:
    """Classifiers that name a license; "OSI Approved" alone does not."""
    found = [text for text in package.classifiers if text.startswith("License ::")]
    return [text for text in found if not text.endswith("OSI Approved")]


def _list_unknown(field: str, stated: list[tuple[str, str]]) -> str:
    others = ", ".join(where for where, _ in stated if where != "the metadata")
    metadata = f"the metadata says {field[:60]!r}" if field else "the metadata says nothing"
    return (
        f"{metadata}, {others} not recognized" if others else f"{metadata}, and there is no classifier or license file"
    )
