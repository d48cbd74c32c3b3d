"""Read project specifications, and turn each into a project record whose tests can run here.

A project is a release on the package index, or a folder, archive file or git repository of the user's: `private.py`.
The requirements are locked and installed, together with those of a test extra. Further packages
are known only when test collection fails to import a module; `packages.toml` maps module names to package names where
they differ. The record goes into a benchmark folder, so that later steps work as on any benchmark.
"""

import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from pydantic import ConfigDict, TypeAdapter, ValidationError

from dlbench.construction.private import is_location, locate, propose_private, read_metadata
from dlbench.construction.selection.releases import PYTHON, choose_release, find_license, find_wheels, open_release
from dlbench.construction.selection.source_layout import read_project
from dlbench.dataset import Project
from dlbench.dataset.labels import Framework
from dlbench.dataset.records import TestSetup
from dlbench.errors import DLBenchError
from dlbench.jsonl import write_whole
from dlbench.workspace import Prepared, prepare
from dlbench.workspace.home import Log
from dlbench.workspace.package_index import Package, look_up
from dlbench.workspace.source import fetch
from dlbench.workspace.uv import compile_lock, read_requirements, without_package


@dataclass(frozen=True)
class ProjectSpec:
    """What is known about a project beforehand; everything but the name can be detected."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: str
    version: str = ""
    requirements: tuple[str, ...] = ()
    only_these: bool = False
    """Whether to ignore the release's own requirements."""
    env: dict[str, str] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    """Folders or files with tests; all by default."""
    skip: tuple[str, ...] = ()
    """Test files whose path contains one of these are skipped."""
    framework: Framework | None = None
    files: dict[str, str] = field(default_factory=dict)
    path: str = ""
    """A folder, wheel or source archive to take instead of a release on the index."""
    git: str = ""
    """URL of a repository to take instead, with @ and a branch, tag or revision unless it is the newest."""


def parse_spec(text: str) -> ProjectSpec:
    """The project that an argument names. A name that may mean a folder or a package is rejected: a package of the same
    name on the index may be somebody else's."""
    if is_location(text):
        name, path, git = locate(text)
        return ProjectSpec(name, path=path, git=git)
    if not text.startswith("index:") and Path(text).is_dir():
        fix = f"write ./{text} for the folder, or index:{text} for the package on the index"
        raise DLBenchError(f"{text} is a folder here, and may also be a package on the index", fix=fix)
    return ProjectSpec(text.removeprefix("index:"))


def propose_project(spec: ProjectSpec, root: Path, log: Log) -> Project:
    """Derive a record for the project from its source: the newest release, or what the specification names."""
    if spec.path or spec.git:
        project = propose_private(spec.name, spec.path, spec.git, root)
        return _complete(project, fetch(project, root, log), spec, Package(spec.name))
    package = look_up(spec.name)
    release = choose_release(package, version=spec.version)
    project = Project(
        name=spec.name,
        version=release.version,
        released=release.uploaded,
        archive=release.filename,
        sha256=release.sha256,
        wheels=find_wheels(package, release),
        license="unknown",
        environment=spec.name,
        framework=Framework.NUMPY,
    )
    with open_release(package, release, log) as tree:
        return _complete(project, tree, spec, package)


def _complete(project: Project, tree: Path, spec: ProjectSpec, package: Package) -> Project:
    """Add what the source tree says; a private index has no metadata, so that the tree's own is used."""
    own = read_metadata(tree)
    package = package if package.requires else replace(package, requires=own.requires, license=own.license)
    layout, _, libraries = read_project(tree, package.name, package.requires)
    if not layout.packages:
        raise DLBenchError("the source contains no package", where=spec.name, fix="choose another project")
    detected = libraries.framework if libraries.framework in set(Framework) else Framework.NUMPY
    tests = find_tests(layout.tests, spec)
    if not tests:
        fix = "add test_*.py or *_test.py; a wheel seldom has tests: give a source archive, a folder or a repository"
        raise DLBenchError("the source contains no tests", where=spec.name, fix=fix)
    folder = os.path.commonpath([PurePosixPath(test).parent for test in tests])
    fields = {
        "license": find_license(package, tree).name or "unknown",
        "framework": Framework(spec.framework or detected),
        "import_root": layout.import_root,
        "tests": TestSetup(root=folder or ".", env=spec.env, args=spec.args, files=spec.files),
    }
    return project.model_copy(update=fields)


def find_tests(files: Iterable[str], spec: ProjectSpec) -> list[str]:
    """The test files that the specification selects."""
    roots = tuple(f"{root.rstrip('/')}/" for root in spec.tests)
    inside = (file for file in files if not roots or file.startswith(roots) or file in spec.tests)
    return sorted(file for file in inside if not any(part in file for part in spec.skip))


def set_up(project: Project, requirements: list[str], root: Path, log: Log) -> tuple[Prepared, list[str]]:
    """Write the record and its lock and build the environment; retry without pytest plugins if that fails."""
    write_record(project, root)
    try:
        return _lock_and_prepare(project, requirements, root, log), requirements
    except DLBenchError:
        plain = [line for line in requirements if not line.startswith("pytest-")]
        if plain == requirements:
            raise
    return _lock_and_prepare(project, plain, root, log), plain


def _lock_and_prepare(project: Project, requirements: list[str], root: Path, log: Log) -> Prepared:
    log(f"locking the requirements of {project.name} {project.version}")
    listed = root / "locks" / f"{project.environment}.in"
    listed.parent.mkdir(parents=True, exist_ok=True)
    write_whole(listed, "".join(f"{line}\n" for line in requirements))
    lock = listed.with_suffix(".txt")
    compile_lock(listed, lock, PYTHON, log)
    # Another package may require the project itself; installed, it would be a second copy of every reference.
    write_whole(lock, without_package(read_requirements(lock), project.name))
    return prepare(project, root, log)


def write_record(project: Project, root: Path) -> None:
    fields = project.model_dump(exclude_none=True, exclude_defaults=True)
    path = root / "projects" / f"{project.name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, "".join(f"{key} = {_toml(value)}\n" for key, value in fields.items()))
    version = root / "VERSION"
    if not version.exists():
        write_whole(version, "0.1\n")


def _toml(value: object) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case date():
            return value.isoformat()
    return json.dumps(value, ensure_ascii=False)


_FIX = 'write a table [[project]] for each, with name = "…" and what else is known; see docs/construction'


def read_specs(path: Path) -> list[ProjectSpec]:
    """Read all projects of a TOML file; paths are relative to it. Raises DLBenchError for the first invalid table."""
    try:
        tables = list(tomllib.loads(path.read_text(encoding="utf-8"))["project"])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise DLBenchError(f"not a list of projects: {error}", where=str(path), fix=_FIX) from None
    specs = [_read_table(table, f"{path}: project {number}") for number, table in enumerate(tables, 1)]
    return [replace(spec, path=str(path.parent / spec.path)) if spec.path else spec for spec in specs]


def _read_table(table: object, where: str) -> ProjectSpec:
    try:
        return TypeAdapter(ProjectSpec).validate_python(table)
    except ValidationError as error:
        first = error.errors()[0]
        what = f"not a list of projects: {'.'.join(map(str, first['loc'])) or 'the table'}: {first['msg']}"
        if isinstance(table, dict) and isinstance(table.get("name"), str):
            where += f" ({table['name']})"
        if first["type"] == "enum":
            raise DLBenchError(f"{what}, not {first['input']!r}", where=where, fix="use one of those listed") from None
        raise DLBenchError(what, where=where, fix=_FIX) from None


_TEST_EXTRAS = ("test", "tests", "testing", "dev", "develop", "unittest")
_MISSING = re.compile(r"No module named '([\w.]+)'")


def read_project_requirements(tree: Path, known: tuple[str, ...], *, only_these: bool) -> list[str]:
    """The release's requirements, those of its test extras, and the known ones."""
    lines = [] if only_these else list(_choose_requirements(tree))
    return list(dict.fromkeys([*lines, *known, "pytest"]))


def _choose_requirements(tree: Path) -> Iterator[str]:
    environment = {"python_version": PYTHON, "python_full_version": f"{PYTHON}.9", "sys_platform": "linux"}
    metadata = read_metadata(tree)
    listed = []
    for line in metadata.requires:
        with suppress(InvalidRequirement):
            listed.append(Requirement(line))
    extras = list(_TEST_EXTRAS)
    own = [one for one in listed if canonicalize_name(one.name) == canonicalize_name(metadata.name)]
    for extra in extras:  # it grows: `dev = ["name[test]"]` names another extra of the project, not a package
        chosen = [one for one in own if one.marker and one.marker.evaluate(environment | {"extra": extra})]
        extras += {name for one in chosen for name in one.extras} - {*extras}
    for requirement in [one for one in listed if one not in own]:
        marker = requirement.marker
        is_plain = marker is None or marker.evaluate(environment | {"extra": ""})
        is_for_tests = marker is not None and any(marker.evaluate(environment | {"extra": one}) for one in extras)
        is_tool = any(requirement.name.lower().startswith(tool) for tool in _tables()["tools"])
        if is_plain or (is_for_tests and not is_tool):
            if requirement.url:  # its build would run outside the sandbox
                fix = "publish a wheel of it on your index, and give `requirements` in a file for --projects"
                raise DLBenchError(f"{requirement.name} is required from a URL", where=str(tree), fix=fix)
            requirement.marker = None
            yield str(requirement)


def find_missing(errors: list[str]) -> list[str]:
    """Packages for the modules that tests failed to import, the most frequent first."""
    names = Counter(name for error in errors for name in set(_MISSING.findall(error)))
    modules = _tables()["modules"]
    tops = {name: name.partition(".")[0] for name, _ in names.most_common()}
    return list(dict.fromkeys(modules.get(name) or modules.get(top) or top for name, top in tops.items()))


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "packages.toml").read_text(encoding="utf-8"))
