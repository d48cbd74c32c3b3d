"""How does a package's name become a project whose tests can run here?

Its newest release with a source archive is fetched; where the package lies in it, where its tests lie and what it is
built on are read from it; what it requires is locked and installed, with what its tests turn out to need beside. What
was found becomes a project's record in a benchmark's folder, so that every later step works as it does on ours.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from dlbench.dataset import Project
from dlbench.dataset.labels import Framework
from dlbench.dataset.records import TestSetup
from dlbench.errors import DLBenchError
from dlbench.journal import write_whole
from dlbench.workspace import Prepared, prepare
from dlbench.workspace.environment import compile_lock
from dlbench.workspace.releases import Package, Release, look_up
from dlbench.workspace.source import fetch

PYTHON = "3.11"
_NO_PACKAGES = {"test", "tests", "testing", "doc", "docs", "example", "examples", "benchmark", "benchmarks", "scripts"}
_NO_PACKAGES |= {"tools", "build", "dist", "notebooks", "tutorials", "asv_bench", "ci", "demo", "demos"}


@dataclass(frozen=True)
class Wish:
    """What is known beforehand of a project; all but its name can be found out."""

    name: str
    version: str = ""
    before: date | None = None
    requirements: tuple[str, ...] = ()
    only_these: bool = False
    """Whether the release's own requirements are left out."""
    env: dict[str, str] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    """Folders or files with tests; all that there are where none is named."""
    skip: tuple[str, ...] = ()
    """Parts of paths of tests that are passed over."""
    framework: str = ""
    files: dict[str, str] = field(default_factory=dict)


def choose_release(package: Package, wish: Wish) -> Release:
    """The newest source archive that fits, or the one of the version that is asked for."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    def fits(release: Release) -> bool:
        try:
            is_final = bool(wish.version) or not Version(release.version).is_prerelease
            return is_final and SpecifierSet(release.requires_python).contains(f"{PYTHON}.9")
        except (InvalidSpecifier, InvalidVersion):
            return False

    archives = [release for release in package.releases if release.kind == "sdist" and fits(release)]
    if wish.version:
        archives = [release for release in archives if release.version == wish.version]
    if wish.before:
        archives = [release for release in archives if release.uploaded < wish.before]
    if not archives:
        what = f"there is no source archive{f' of version {wish.version}' if wish.version else ''} for Python {PYTHON}"
        raise DLBenchError(what, where=wish.name, mend="choose another version or another project")
    return max(archives, key=lambda release: Version(release.version))


def propose(wish: Wish, root: Path, say: Callable[[str], None]) -> Project:
    """A record for the project, found out from its newest release and nothing else."""
    package = look_up(wish.name)
    release = choose_release(package, wish)
    record = Project(
        name=package.name,
        version=release.version,
        released=release.uploaded,
        archive=release.filename,
        sha256=release.sha256,
        license=read_license(package),
        environment=package.name,
        framework=Framework.NUMPY,
        tests=TestSetup(env=wish.env, args=wish.args, files=wish.files),
    )
    tree = fetch(record, root, say)
    import_root, packages = find_packages(tree, package.name)
    framework = Framework(wish.framework) if wish.framework else guess_framework(tree / import_root, packages)
    tests = TestSetup(root=_common(find_tests(tree, wish)), env=wish.env, args=wish.args, files=wish.files)
    return record.model_copy(update={"import_root": import_root, "framework": framework, "tests": tests})


def read_license(package: Package) -> str:
    """An expression or a classifier where there is one; licence texts are not names."""
    named = package.license.strip().splitlines()
    if named and len(named[0]) <= 60 and len(named) == 1:
        return named[0]
    classifiers = [one.rpartition("::")[2].strip() for one in package.classifiers if one.startswith("License ::")]
    return classifiers[-1] if classifiers else "unknown"


def find_packages(tree: Path, name: str) -> tuple[str, list[str]]:
    """The folder that is put on the import path, and the packages in it; raises where there is none."""
    for root in (".", "src", "python", "lib"):
        folder = tree / root
        if not folder.is_dir():
            continue
        found = [
            path.parent.name
            for path in sorted(folder.glob("*/__init__.py"))
            if path.parent.name.lower() not in _NO_PACKAGES and not path.parent.name.startswith((".", "_"))
        ]
        plain = re.sub(r"[-_.]+", "", name).lower()
        named = [one for one in found if re.sub(r"[-_.]+", "", one).lower() in (plain, f"py{plain}")]
        if named or found:
            return root, named or found
    raise DLBenchError("there is no package in the archive", where=name, mend="give the project's record by hand")


def guess_framework(root: Path, packages: list[str]) -> Framework:
    """What most of its modules import."""
    counts: Counter[str] = Counter()
    pattern = re.compile(r"^\s*(?:import|from)\s+(torch|jax|tensorflow|keras|flax)\b", re.MULTILINE)
    for package in packages:
        for path in (root / package).rglob("*.py"):
            counts.update(set(pattern.findall(path.read_text(encoding="utf-8", errors="replace"))))
    counts["jax"] += counts.pop("flax", 0)
    if packages[:1] == ["keras"]:
        return Framework.KERAS
    best = counts.most_common(1)
    return Framework(best[0][0]) if best and best[0][1] else Framework.NUMPY


def find_tests(tree: Path, wish: Wish) -> list[str]:
    """Every file that pytest would take for tests, as paths in the tree."""
    roots = [tree / one for one in wish.tests] or [tree]
    found: set[str] = set()
    for root in roots:
        paths = [root] if root.is_file() else root.rglob("*.py")
        for path in paths:
            inner = path.relative_to(tree).as_posix()
            is_test = path.name.startswith("test_") or path.stem.endswith("_test")
            if is_test and not any(part in inner for part in wish.skip):
                found.add(inner)
    return sorted(found)


def _common(paths: list[str]) -> str:
    """The deepest folder that holds all of them."""
    folders = [path.split("/")[:-1] for path in paths]
    shared: list[str] = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "/".join(shared) or "."


def set_up(
    project: Project, requirements: list[str], root: Path, say: Callable[[str], None]
) -> tuple[Prepared, list[str]]:
    """Writes the record and its lock and builds it; where the tests' own wishes cannot be met, without them."""
    attempts = [requirements]
    plain = [line for line in requirements if not line.startswith("pytest-")]
    if plain != requirements:
        attempts.append(plain)
    write_record(project, root)
    for place, attempt in enumerate(attempts):
        try:
            say(f"locking what {project.name} {project.version} needs")
            wanted = root / "locks" / f"{project.environment}.in"
            wanted.parent.mkdir(parents=True, exist_ok=True)
            write_whole(wanted, "".join(f"{line}\n" for line in attempt))
            compile_lock(wanted, wanted.with_suffix(".txt"), PYTHON)
            return prepare(project, root, say), attempt
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
    import json

    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
