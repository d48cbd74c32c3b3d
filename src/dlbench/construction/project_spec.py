"""How does a package's name become a project whose tests can run here?

Its newest release with a source archive is fetched; where the package lies in it, where its tests lie and what it is
built on are read from it; what it requires is locked and installed, with what its tests turn out to need beside. What
was found becomes a project's record in a benchmark's folder, so that every later step works as it does on ours.

Which projects shall be gone through, and what is known of each beforehand?

A TOML file with a table `project` for each; only the name must be there. What a release needs beside what it says is a
fact that somebody found out once, and belongs into a file that others can use.

Which packages does a project need, and its tests beside?

A release says what it needs, and often in an extra what its tests need; the rest is known only when tests are collected
and do not find a module. Names of modules are not names of packages: where they differ, a table of ours says so.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from email.parser import HeaderParser
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from dlbench.construction.selection.licenses import find_license
from dlbench.construction.selection.releases import PYTHON, choose_release, find_wheels, open_release
from dlbench.construction.selection.source_layout import find_layout, find_libraries, read_module
from dlbench.dataset import Project
from dlbench.dataset.labels import Framework
from dlbench.dataset.records import TestSetup
from dlbench.errors import DLBenchError
from dlbench.jsonl import write_whole
from dlbench.workspace import Prepared, prepare
from dlbench.workspace.home import Log
from dlbench.workspace.package_index import look_up
from dlbench.workspace.uv import compile_lock, read_requirements, without_package


@dataclass(frozen=True)
class ProjectSpec:
    """What is known beforehand of a project; all but its name can be found out."""

    name: str
    version: str = ""
    requirements: tuple[str, ...] = ()
    only_these: bool = False
    """Whether the release's own requirements are left out."""
    env: dict[str, str] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    """Folders or files with tests; all that there are where none is named."""
    skip: tuple[str, ...] = ()
    """Parts of paths of tests that are passed over."""
    framework: Framework | None = None
    files: dict[str, str] = field(default_factory=dict)


def propose_project(wish: ProjectSpec, root: Path, log: Log) -> Project:
    """A record for the project, found out from its newest release and nothing else."""
    package = look_up(wish.name)
    release = choose_release(package, version=wish.version)
    with open_release(package, release, log) as tree:
        layout = find_layout(tree, package.name)
        if not layout.packages:
            raise DLBenchError("there is no package in the archive", where=wish.name, fix="choose another project")
        licence = find_license(package, tree)
        modules = [module for file in layout.modules if (module := read_module(tree / file))]
        libraries = find_libraries(package.requires, layout.packages, [module.imports for module in modules])
    guessed = libraries.framework if libraries.framework in set(Framework) else Framework.NUMPY
    tests = find_tests(layout.tests, wish)
    if not tests:
        raise DLBenchError("the archive carries no tests", where=wish.name, fix="choose another project")
    return Project(
        name=wish.name,
        version=release.version,
        released=release.uploaded,
        archive=release.filename,
        sha256=release.sha256,
        wheels=find_wheels(package, release),
        license=licence.name or "unknown",
        environment=wish.name,
        framework=Framework(wish.framework or guessed),
        import_root=layout.import_root,
        tests=TestSetup(root=_common(tests), env=wish.env, args=wish.args, files=wish.files),
    )


def find_tests(files: Iterable[str], wish: ProjectSpec) -> list[str]:
    """Of the files that pytest takes for tests, those that are asked for."""
    roots = tuple(f"{root.rstrip('/')}/" for root in wish.tests)
    return sorted(
        file
        for file in files
        if (not roots or file.startswith(roots) or file in wish.tests) and not any(part in file for part in wish.skip)
    )


def _common(paths: list[str]) -> str:
    """The deepest folder that holds all of them."""
    folders = [path.split("/")[:-1] for path in paths]
    shared: list[str] = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "/".join(shared) or "."


def set_up(project: Project, requirements: list[str], root: Path, log: Log) -> tuple[Prepared, list[str]]:
    """Writes the record and its lock and builds it; where the tests' own wishes cannot be met, without them."""
    attempts = [requirements]
    plain = [line for line in requirements if not line.startswith("pytest-")]
    if plain != requirements:
        attempts.append(plain)
    write_record(project, root)
    for place, attempt in enumerate(attempts):
        try:
            log(f"locking what {project.name} {project.version} needs")
            wanted = root / "locks" / f"{project.environment}.in"
            wanted.parent.mkdir(parents=True, exist_ok=True)
            write_whole(wanted, "".join(f"{line}\n" for line in attempt))
            lock = wanted.with_suffix(".txt")
            compile_lock(wanted, lock, PYTHON)
            # another package may need the project itself; installed, it would be a second copy of every reference
            write_whole(lock, without_package(read_requirements(lock), project.name))
            return prepare(project, root, log), attempt
        except DLBenchError:
            if place == len(attempts) - 1:
                raise
    raise AssertionError("there is always an attempt")


def write_record(project: Project, root: Path) -> None:
    lines = [
        f"{key} = {_toml(value)}"
        for key, value in project.model_dump(mode="json", exclude_none=True, exclude_defaults=True).items()
    ]
    path = root / "projects" / f"{project.name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines) + "\n"
    text = re.sub(r'^released = "(.*)"$', r"released = \1", text, flags=re.MULTILINE)
    write_whole(path, text)
    version = root / "VERSION"
    if not version.exists():
        write_whole(version, "0.1\n")


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


_FIX = 'write a table [[project]] for each, with name = "…" and what else is known; see docs/construction'


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    version: str = ""
    requirements: tuple[str, ...] = ()
    only_these: bool = False
    env: dict[str, str] = {}
    args: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    framework: Framework | None = None
    files: dict[str, str] = {}


def read_specs(path: Path) -> list[ProjectSpec]:
    """Raises DLBenchError for the first table that is wrong, before anything is done with those before it."""
    try:
        content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        tables = list(content["project"])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise DLBenchError(f"not a list of projects: {error}", where=str(path), fix=_FIX) from None
    return [_read_table(table, f"{path}: project {number}") for number, table in enumerate(tables, 1)]


def _read_table(table: object, where: str) -> ProjectSpec:
    try:
        return ProjectSpec(**_Table.model_validate(table).model_dump())
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


def read_project_requirements(tree: Path, known: tuple[str, ...], *, only_these: bool, python: str) -> list[str]:
    """What the release says it needs, what it says its tests need, and what is known beside."""
    lines = [] if only_these else list(_read_metadata(tree, python))
    return list(dict.fromkeys([*lines, *known, "pytest"]))


def _read_metadata(tree: Path, python: str) -> Iterator[str]:
    from packaging.requirements import InvalidRequirement, Requirement

    metadata = tree / "PKG-INFO"
    text = metadata.read_text(encoding="utf-8", errors="replace") if metadata.is_file() else ""
    for line in HeaderParser().parsestr(text).get_all("Requires-Dist") or []:
        try:
            wanted = Requirement(line)
        except InvalidRequirement:
            continue
        environment = {"python_version": python, "python_full_version": f"{python}.9", "sys_platform": "linux"}
        is_plain = wanted.marker is None or wanted.marker.evaluate(environment | {"extra": ""})
        extra = next(
            (
                one
                for one in _TEST_EXTRAS
                if wanted.marker is not None and wanted.marker.evaluate(environment | {"extra": one})
            ),
            None,
        )
        is_tool = any(wanted.name.lower().startswith(tool) for tool in _tables()["tools"])
        if is_plain or (extra and not is_tool):
            wanted.marker = None
            yield str(wanted)


def find_missing(errors: list[str]) -> list[str]:
    """Packages for the modules that tests did not find, the most wanted first."""
    names = Counter(name for error in errors for name in set(_MISSING.findall(error)))
    modules = _tables()["modules"]
    packages = [
        modules.get(name) or modules.get(name.partition(".")[0]) or name.partition(".")[0]
        for name, _ in names.most_common()
    ]
    return list(dict.fromkeys(packages))


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "packages.toml").read_text(encoding="utf-8"))
