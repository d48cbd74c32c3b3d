"""Plan what one execution sees (a cell), and define the protocol and the registry of sandboxes.

A cell shows the project's tree with the candidate's module; the reference is not in it, neither as source nor compiled.
A sandbox turns a cell into a command.
"""

import contextlib
import fcntl
import hashlib
import os
import py_compile
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Protocol

from dlbench.execution.limits import Limits
from dlbench.registry import Registry
from dlbench.workspace import Prepared, home
from dlbench.workspace.home import building, locked, quiet

_INSIDE = Path(__file__).parent.parent / "inside"
ENTRY = "inside/main.py"
"""The script that runs inside the sandbox."""


def inside() -> Path:
    """The folder with the package `inside`: a copy that any user can read, compiled once."""
    extra_key = hashlib.sha256(repr(_read_inside("*/*.py")).encode()).hexdigest()[:8]
    folder = home() / "inside" / f"{inside_key()}-{extra_key}"
    if folder.is_dir():
        return folder
    with locked("inside", quiet):
        if not folder.is_dir():
            with building(folder) as place:
                _write_inside(place / "inside")
    return folder


def _write_inside(package: Path) -> None:
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH  # a copy of the workspace may change the times of files
    for name, text in (_read_inside("*.py") | _read_inside("*/*.py")).items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text, encoding="utf-8")
        py_compile.compile(str(package / name), doraise=True, invalidation_mode=unchecked)


@cache
def _read_inside(pattern: str) -> dict[str, str]:
    paths = sorted(_INSIDE.glob(pattern))
    return {path.relative_to(_INSIDE).as_posix(): path.read_text(encoding="utf-8") for path in paths}


@cache
def inside_key() -> str:
    """A key of the code that decides verdicts; the folders below `inside` hold code that decides none."""
    return f"{hashlib.sha256(repr(_read_inside('*.py')).encode()).hexdigest()[:16]}-{sys.implementation.cache_tag}"


@dataclass(frozen=True)
class Cell:
    prepared: Prepared
    path: str | None
    """The file of the tree that the candidate's module replaces; None shows the tree as it is."""
    folder: Path
    """Private to this execution: the spliced file, the temporary folder, a copy of the tree if one is needed."""
    limits: Limits
    user: int
    """A user id for this execution alone, used by root: limits and signals apply per user."""

    @property
    def spliced(self) -> Path:
        return self.folder / "spliced.py"

    @property
    def empty_file(self) -> Path:
        """Mounted over files that must not be seen."""
        return self.folder / "empty"

    @property
    def interpreter_root(self) -> Path:
        """The installation of the environment's interpreter, outside the environment."""
        return self.prepared.python.resolve().parent.parent


def list_compiled(tree: Path, path: str) -> list[Path]:
    """Compiled files of a module, relative to the tree, which would show the reference."""
    found = (tree / path).parent.glob(f"__pycache__/{Path(path).stem}.*.pyc")
    return [file.relative_to(tree) for file in found]


@contextmanager
def open_cell(prepared: Prepared, path: str | None, source: str | None, limits: Limits) -> Iterator[Cell]:
    """A cell that is removed afterwards, with everything that the candidate left in it."""
    folder = home() / "cells" / f"{os.getpid()}-{secrets.token_hex(8)}"
    folder.mkdir(mode=0o755, parents=True)
    cell = Cell(prepared, path, folder, limits, 1_000_000_000 + secrets.randbelow(1_000_000_000))
    # the lock marks the cell as in use, also for other containers
    lock = os.open(folder / ".held", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_SH)
    try:
        cell.empty_file.touch(mode=0o644)
        if source is not None:
            cell.spliced.write_text(source, encoding="utf-8")
            cell.spliced.chmod(0o644)
        yield cell
    finally:
        _remove_tree(folder)
        os.close(lock)


def remove_leftovers() -> None:
    """Remove the cells of processes that were killed before they could clean up."""
    for folder in (home() / "cells").glob("*-*"):
        with contextlib.suppress(OSError):
            lock = os.open(folder / ".held", os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove_tree(folder)
            finally:
                os.close(lock)


def _remove_tree(folder: Path) -> None:
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:  # a candidate may nest thousands of folders
        subprocess.run(["rm", "-rf", "--", str(folder)], check=False, capture_output=True)


def build_tree(cell: Cell, *, shared: bool) -> Path:
    """Build a tree with the candidate's module for a sandbox that cannot mount: hard links if `shared`, or copies."""
    source, target = cell.prepared.tree, cell.folder / "tree"
    hidden = {source / file for file in [Path(cell.path), *list_compiled(source, cell.path)]} if cell.path else set()
    for folder, _, files in os.walk(source):
        there = target / Path(folder).relative_to(source)
        there.mkdir(mode=0o755)
        for name in files:
            file = Path(folder) / name
            if file.is_symlink():
                (there / name).symlink_to(file.readlink())
            elif file not in hidden:
                (os.link if shared else shutil.copy2)(file, there / name)
    if cell.path is not None:
        shutil.copy(cell.spliced, target / cell.path)
    return target


def make_private_folder(cell: Cell) -> Path:
    """Make the one folder where a candidate may write, for sandboxes without a file system in memory."""
    folder = cell.folder / "tmp"
    (folder / "home").mkdir(parents=True)
    if os.geteuid() == 0:
        for path in (folder, folder / "home"):
            os.chown(path, cell.user, cell.user)
    return folder


@dataclass(frozen=True)
class Launch:
    """The command that starts the harness inside the cell, and what the harness needs to know."""

    command: list[str]
    tree: Path
    temporary: Path
    writable: tuple[str, ...]
    user: int | None = None
    """The user to become inside; None if the sandbox changes the user itself."""
    seccomp: bytes = b""
    readable: tuple[str, ...] = ()
    """Readable places inside folders that may not be listed."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that only this sandbox needs."""


class Sandbox(Protocol):
    name: str
    confines: bool
    """Whether it blocks the network. The harness verifies this and refuses a sandbox whose claim is false."""
    warning: str
    """What a user should know of its weakness; empty if there is none."""

    def find_obstacle(self) -> str:
        """Why it cannot be used on this machine; empty if it can."""
        ...

    def launch(self, cell: Cell, channel: int) -> Launch:
        """The command that runs `inside/main.py` with the descriptor `channel`, confined to the cell."""
        ...


SANDBOXES: Registry[Sandbox] = Registry("sandbox", __package__)
"""Sandboxes by name. `order` sorts them by strength: the first that works here is used."""
