"""Where in a source tree are the packages, their modules and the tests?

A guess by the habits of Python projects: what the archive's own metadata lists, a `src` folder, folders with an
`__init__.py`. A wrong guess costs a later step a failed import, which a person sees and mends in the project's record.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

# Those that pytest does not enter, and those whose code is no part of the package.
_SKIPPED = re.compile(r"\..*|.*\.egg|.*\.egg-info|_darcs|build|CVS|dist|node_modules|venv|__pycache__")
_BESIDE = frozenset({
    "tests", "test", "testing", "docs", "doc", "examples", "example", "benchmarks", "benchmark", "scripts",
    "script", "tools", "notebooks", "tutorials", "ci", "setup", "conftest", "noxfile", "tasks", "versioneer",
    "dist", "build", "src", "requirements", "assets", "images", "data",
})  # fmt: skip
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py")
_TEST_FOLDERS = frozenset({"test", "tests"})


@dataclass(frozen=True)
class Layout:
    """All paths are relative to the tree. `tests`: files that pytest takes by their names."""

    import_root: str
    packages: tuple[str, ...]
    modules: tuple[str, ...]
    tests: tuple[str, ...]


def find_layout(tree: Path, name: str) -> Layout:
    files = list(_python_files(tree))
    inside = _find_packages(tree / "src", tree, name) if not (tree / "src" / "__init__.py").exists() else []
    beside = _find_packages(tree, tree, name)
    import_root, packages = ("src", inside) if inside and not _is_own(beside, name) else (".", beside)
    prefix = "" if import_root == "." else f"{import_root}/"
    homes = tuple(f"{prefix}{package}/" for package in packages)
    alone = {f"{prefix}{package}.py" for package in packages}
    return Layout(
        import_root=import_root,
        packages=tuple(packages),
        modules=tuple(f for f in files if (f.startswith(homes) or f in alone) and not _is_for_tests(f, len(prefix))),
        tests=tuple(file for file in files if _TEST_FILE.fullmatch(PurePosixPath(file).name)),
    )


def find_tests_root(counts: dict[str, int]) -> str:
    """The folder under which most of the tests are; `counts` says how many each file has."""
    tops: Counter[str] = Counter()
    for file, count in counts.items():
        tops[file.partition("/")[0] if "/" in file else "."] += count
    if not tops:
        return ""
    top = tops.most_common(1)[0][0]
    if top == ".":
        return "."
    return os.path.commonpath([PurePosixPath(file).parent for file in counts if file.startswith(f"{top}/")])


def _python_files(tree: Path) -> Iterator[str]:
    for here, folders, files in os.walk(tree):
        folders[:] = sorted(folder for folder in folders if not _SKIPPED.fullmatch(folder))
        for file in sorted(files):
            path = Path(here, file)
            # A link would count the same code twice.
            if file.endswith(".py") and not path.is_symlink():
                yield path.relative_to(tree).as_posix()


def _find_packages(folder: Path, tree: Path, name: str) -> list[str]:
    """The one named like the project first."""
    if not folder.is_dir():
        return []
    listed = _listed(tree)
    found = []
    for path in sorted(folder.iterdir()):
        module = path.stem if path.suffix == ".py" and path.is_file() else path.name
        if not module.isidentifier() or path.is_symlink() or _TEST_FILE.fullmatch(path.name):
            continue
        if module in _BESIDE and _normal(module) != _normal(name):
            continue
        if path.is_dir():
            spread = module in listed or _normal(name).startswith(_normal(module))
            is_package = (path / "__init__.py").exists() or (spread and any(path.rglob("*.py")))
        else:
            is_package = path.suffix == ".py"
        if is_package and (not listed or module in listed):
            found.append(module)
    return sorted(found, key=lambda module: (_normal(module) != _normal(name), module))


def _listed(tree: Path) -> frozenset[str]:
    """What the build has written down, where one has."""
    names: set[str] = set()
    for path in [*tree.glob("*.egg-info/top_level.txt"), *tree.glob("src/*.egg-info/top_level.txt")]:
        names.update(path.read_text(encoding="utf-8", errors="replace").split())
    return frozenset(names - _BESIDE)


def _is_own(packages: list[str], name: str) -> bool:
    return bool(packages) and _normal(packages[0]) == _normal(name)


def _is_for_tests(file: str, offset: int) -> bool:
    path = PurePosixPath(file[offset:])
    in_tests = not _TEST_FOLDERS.isdisjoint(path.parts[1:-1])
    return in_tests or path.name == "conftest.py" or bool(_TEST_FILE.fullmatch(path.name))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "", name).lower()
