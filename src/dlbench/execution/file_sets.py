"""Lay an answer of several files into a copy of a release, and choose which of its files count.

Only code and data of the project's import packages count. Tests, the configuration of pytest and of builds, compiled
files, links, and files that would be imported in place of a test or a library stay as the release has them: an attempt
is reported, not punished.
"""

import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path, PurePosixPath

from dlbench.execution.limits import Limits
from dlbench.execution.sandbox import open_cell
from dlbench.execution.sandbox.base import list_compiled
from dlbench.workspace import Prepared

FileSet = Mapping[str, bytes | None]
"""Files by their path in the tree; None removes one."""
MOST_BYTES = 64 << 20
MOST_FILES = 5000

_COMPILED = frozenset({".pyc", ".pyo", ".pyd", ".so", ".dll", ".dylib", ".o", ".a", ".pth", ".egg", ".whl", ".zip"})
_CONFIGURATION = re.compile(
    r"\.?pytest\..*|pytest\.ini|tox\.ini|setup\.(cfg|py)|pyproject\.toml|noxfile\.py|conftest\.py|(site|user)customize\.py"
)
_METADATA = re.compile(r"__pycache__|.*\.(egg-info|dist-info|data)")
_TEST = re.compile(r"test_.*|.*_tests?|tests?|_?testing(_.*)?|conftest")


@dataclass
class Chosen:
    counted: dict[str, bytes | None] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)
    """Files that stay as the release has them, each with the reason."""


def choose_counted(files: FileSet, own: Collection[str], prepared: Prepared) -> Chosen:
    """`own`: the modules that the answer is asked for; they count whatever their names are."""
    chosen = Chosen()
    places = find_packages(own, prepared)
    size = 0
    for path, content in sorted(files.items()):
        size += len(content or b"")
        why = _find_objection(path, content, own, places, prepared)
        if not why and (size > MOST_BYTES or len(chosen.counted) >= MOST_FILES):
            why = f"the answer has more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB"
        if why:
            chosen.ignored[path] = why
        else:
            chosen.counted[path] = content
    for path in [path for path in chosen.counted if path not in own and _may_shadow(path, chosen.counted, prepared)]:
        del chosen.counted[path]
        chosen.ignored[path] = "it would be imported in place of a test or a library"
    return chosen


def find_packages(own: Collection[str], prepared: Prepared) -> set[str]:
    """The top folders of the import packages that hold these modules."""
    root = PurePosixPath(prepared.project.import_root)
    inner = [PurePosixPath(path).relative_to(root) for path in own]
    return {(root / path.parts[0]).as_posix() for path in inner if len(path.parts) > 1}


def _find_objection(
    path: str, content: bytes | None, own: Collection[str], packages: Collection[str], prepared: Prepared
) -> str:
    """Why a file does not count; empty if it does."""
    parts = PurePosixPath(path).parts
    if path.startswith("/") or ".." in parts or "\\" in path or "\0" in path or PurePosixPath(path).as_posix() != path:
        return "not a path inside the tree"
    if any(_METADATA.fullmatch(part) for part in parts) or PurePosixPath(path).suffix in _COMPILED:
        return "a compiled file or metadata of a package"
    if _CONFIGURATION.fullmatch(parts[-1]):
        return "configuration of pytest, Python or a build"
    if path in own:
        return ""
    if not any(path.startswith(f"{package}/") for package in packages):
        return "outside the import packages of the project"
    if looks_like_test(path) or _is_link(prepared.tree, path):
        return "a test, or a link of the release"
    if content is None and parts[-1] == "__init__.py":
        return "a package of the release stays a package"
    return ""


def looks_like_test(path: str) -> bool:
    return any(_TEST.fullmatch(part.partition(".")[0]) for part in PurePosixPath(path).parts)


def _is_link(tree: Path, path: str) -> bool:
    return any((tree / one).is_symlink() for one in (PurePosixPath(path), *PurePosixPath(path).parents))


def _may_shadow(path: str, counted: FileSet, prepared: Prepared) -> bool:
    """Pytest puts the folder of a test on the path of imports if it is no package: a file there that has the name of a
    library would be imported instead of it."""
    folder, name = PurePosixPath(path).parent, PurePosixPath(path).name.partition(".")[0]
    known = list_libraries(prepared.environment)
    for one in (folder, *folder.parents):
        init = (one / "__init__.py").as_posix()
        if counted.get(init) is None and not (prepared.tree / init).is_file() and name in known:
            return True
        name = one.name
        if one.as_posix() in (prepared.project.import_root, "."):
            break
    return False


@cache
def list_libraries(environment: Path) -> frozenset[str]:
    """Top-level names that Python and the packages of an environment provide."""
    names = {path.name.partition(".")[0] for path in environment.glob("lib/python*/site-packages/*")}
    return frozenset(names | sys.stdlib_module_names)


@contextmanager
def open_tree(prepared: Prepared, files: FileSet, limits: Limits) -> Iterator[Prepared]:
    """The release with these files in it, in a folder that is removed afterwards. Files that do not change are hard
    links; nothing compiled from a file that changes is in it."""
    hidden = {file.as_posix() for path in files for file in [Path(path), *list_compiled(prepared.tree, path)]}
    with open_cell(prepared, None, None, limits) as cell:
        tree = cell.folder / "tree"
        for folder, folders, names in os.walk(prepared.tree):
            inner = Path(folder).relative_to(prepared.tree)
            (tree / inner).mkdir(mode=0o755)
            for name in [*names, *(one for one in folders if (Path(folder) / one).is_symlink())]:
                path = inner / name
                if (prepared.tree / path).is_symlink():
                    (tree / path).symlink_to((prepared.tree / path).readlink())
                elif path.as_posix() not in hidden:
                    os.link(prepared.tree / path, tree / path)
        for file, content in files.items():
            if content is not None:
                _write(tree / file, content)
        yield replace(prepared, tree=tree, import_path=tree / prepared.project.import_root)


def _write(place: Path, content: bytes) -> None:
    """A file of the answer may stand where the release has a folder, or below what was a file: then it is left out."""
    try:
        place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        place.write_bytes(content)
        place.chmod(0o644)
    except (NotADirectoryError, IsADirectoryError, FileExistsError):
        return
