"""Read projects that are not on the package index: a folder, a wheel or source archive, or a git repository.

A name alone would be looked up on the index, where anybody may have uploaded a package of that name. The metadata is
read from the files and no build runs, so a project that computes its requirements needs them in a list of projects.
"""

import ast
import configparser
import os
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename

from dlbench.dataset import Project
from dlbench.dataset.labels import Framework
from dlbench.dataset.records import GitSource
from dlbench.errors import DLBenchError
from dlbench.parsing import parse
from dlbench.workspace.pip_config import redacted
from dlbench.workspace.source import resolve_revision

_ARCHIVES = (".whl", ".tar.gz", ".tgz", ".tar.bz2", ".zip")


def is_location(text: str) -> bool:
    """Whether a command's argument names a folder, file or repository; a bare name is a package on the index."""
    return "/" in text or text.startswith((".", "~")) or text.endswith((*_ARCHIVES, ".git"))


def locate(text: str) -> tuple[str, str, str]:
    """The name of a project with its path or its repository; the other of the two is empty."""
    if text.startswith("git+") or text.endswith(".git"):
        url = text.removeprefix("git+")
        if (place := Path(_split_revision(url)[0]).expanduser()).exists():  # git runs in another folder
            url = url.replace(_split_revision(url)[0], str(place.resolve()), 1)
        return _slug(PurePosixPath(_split_revision(url)[0]).name.removesuffix(".git")), "", url
    path = Path(text).expanduser().resolve()
    if not path.exists():
        fix = "check the path; write git+URL for a repository, and a name without a slash for a package on the index"
        raise DLBenchError("there is no such folder or file", where=text, fix=fix)
    if path.is_dir() and not any(path.rglob("*.py")):
        raise DLBenchError("the folder has no Python file", where=text, fix="give the folder that has pyproject.toml")
    return _slug(_name_and_version(path)[0]), str(path), ""


def propose_private(name: str, path: str, git: str, root: Path) -> Project:
    """A record that names the source; what the source itself says is not known yet."""
    if git:
        found = find_revision(git)
        source: dict[str, Any] = {"git": found, "version": f"0+g{found.rev[:12]}"}
    else:
        source = {"path": os.path.relpath(path, root.resolve()), "version": _name_and_version(Path(path))[1] or "0"}
    facts: dict[str, Any] = {"license": "unknown", "environment": name, "framework": Framework.NUMPY}
    return Project(name=name, released=date.today(), **source, **facts)


def is_other_revision(git: str, known: GitSource) -> bool:
    """Whether the text names another repository, or another revision of it."""
    url, name = _split_revision(git)
    return url != known.url or (bool(name) and find_revision(git) != known)


def find_revision(git: str) -> GitSource:
    """The repository at the revision that the text names, or at its newest."""
    url, name = _split_revision(git)
    if urlsplit(url).password or (urlsplit(url).scheme in {"http", "https"} and urlsplit(url).username):
        fix = "remove it from the URL; let git ask a credential helper, or use ssh"
        raise DLBenchError("a URL with credentials would be written into the benchmark", where=redacted(url), fix=fix)
    return GitSource(url=url, rev=resolve_revision(url, name or "HEAD"))


def _name_and_version(path: Path) -> tuple[str, str]:
    try:
        if path.is_dir():
            own = read_metadata(path)
            return own.name or path.name, own.version
        split = parse_wheel_filename if path.suffix == ".whl" else parse_sdist_filename
        name, version = split(path.name)[:2]
    except (InvalidWheelFilename, InvalidSdistFilename) as error:
        fix = "give a wheel or source archive under its original name, or a folder"
        raise DLBenchError(f"not a file of a release: {error}", where=str(path), fix=fix) from None
    return name, str(version)


def _split_revision(url: str) -> tuple[str, str]:
    """The URL without the revision after its last @; one before the first slash of the path belongs to the host."""
    begin = url.find("/", url.find("://") + 3 if "://" in url else 0)
    at = url.rfind("@", begin) if begin >= 0 else -1
    return (url[:at], url[at + 1 :]) if at >= 0 else (url, "")


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._") or "project"


@dataclass(frozen=True)
class Metadata:
    name: str = ""
    version: str = ""
    license: str = ""
    requires: tuple[str, ...] = ()
    """Requirements; those of an extra or a group have a marker that names it."""


def read_metadata(tree: Path) -> Metadata:
    """What the files of the tree say about the project. A built archive's own metadata is complete; elsewhere each fact
    comes from the first file that has it."""
    readers = {
        "pyproject.toml": _read_pyproject,
        "setup.cfg": _read_setup_cfg,
        "setup.py": _read_setup_py,
        "*.dist-info/METADATA": _read_headers,
    }
    if (tree / "PKG-INFO").is_file():
        readers = {"PKG-INFO": _read_headers}
    found = Metadata()
    for pattern, read in readers.items():
        for path in sorted(tree.glob(pattern)):
            new = read(path.read_text(encoding="utf-8", errors="replace"))
            found = Metadata(*(old or more for old, more in zip(vars(found).values(), vars(new).values(), strict=True)))
    listed = tree / "requirements.txt"
    if len(readers) == 1 or not listed.is_file() or any("extra ==" not in line for line in found.requires):
        return found
    lines = listed.read_text(encoding="utf-8", errors="replace").splitlines()
    plain = filter(None, (line.partition("#")[0].strip() for line in lines))
    return replace(found, requires=(*plain, *found.requires))


def _read_headers(text: str) -> Metadata:
    headers = HeaderParser().parsestr(text)
    license = headers.get("License-Expression") or headers.get("License") or ""
    requires = tuple(headers.get_all("Requires-Dist") or ())
    return Metadata(headers.get("Name") or "", headers.get("Version") or "", license, requires)


def _read_pyproject(text: str) -> Metadata:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return Metadata()
    project = content.get("project", {})
    extras = project.get("optional-dependencies", {}) | content.get("dependency-groups", {})
    return _make_metadata(project | {"requires": project.get("dependencies", ()), "extras": extras})


def _read_setup_cfg(text: str) -> Metadata:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error:
        return Metadata()
    sections = {name: dict(parser.items(name)) for name in parser.sections()}
    extras = {name: value.splitlines() for name, value in sections.get("options.extras_require", {}).items()}
    requires = sections.get("options", {}).get("install_requires", "").splitlines()
    return _make_metadata(sections.get("metadata", {}) | {"requires": requires, "extras": extras})


def _read_setup_py(text: str) -> Metadata:
    """The arguments of `setup` that are written as literals."""
    given: dict[str, Any] = {}
    try:
        calls = [node for node in ast.walk(parse(text)) if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError):
        return Metadata()
    for call in calls:
        if ast.unparse(call.func).rpartition(".")[2] == "setup":
            for keyword in call.keywords:
                try:
                    given[keyword.arg or ""] = ast.literal_eval(keyword.value)
                except (ValueError, TypeError):
                    continue
    return _make_metadata(given | {"requires": given.get("install_requires"), "extras": given.get("extras_require")})


def _make_metadata(given: dict[str, Any]) -> Metadata:
    """Take what has the expected type; anything else is computed at build time or wrong."""
    lines = _strings(given.get("requires"))
    extras = given.get("extras") if isinstance(given.get("extras"), dict) else {}
    for extra, listed in (extras or {}).items():
        for line in _strings(listed):
            requirement, _, marker = line.partition(";")
            both = f"({marker.strip()}) and " if marker.strip() else ""
            lines.append(f'{requirement.strip()} ; {both}extra == "{extra}"')
    texts = (value if isinstance(value := given.get(key), str) else "" for key in ("name", "version", "license"))
    name, version, license = texts
    return Metadata(name, "" if version.startswith(("attr:", "file:")) else version, license, tuple(lines))


def _strings(values: object) -> list[str]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        return []
    return [value.strip() for value in values if isinstance(value, str) and value.strip()]
