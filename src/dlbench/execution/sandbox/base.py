"""What does one execution see: which tree, which environment, which private folder?

A cell is the plan of a sandbox, the same for every kind of confinement. The project's tree is shown with the
candidate's module in place of the project's own; the reference is not in it, neither as source nor as compiled file.

What must every kind of confinement be able to say?

One small protocol: is it to be had on this machine, how strong is it, and how is a cell turned into a command. The rest
of the engine does not know which kind it uses; the kind's name stands in every verdict.
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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import Protocol

from dlbench.execution.limits import Limits
from dlbench.workspace import Prepared, home
from dlbench.workspace.home import building, locked, quiet

_INSIDE = Path(__file__).parent.parent / "inside"
ENTRY = "inside/main.py"
"""The script that runs inside the sandbox."""


def inside() -> Path:
    """The folder that holds the package for the sandbox: a copy, open to any user, compiled once."""
    folder = home() / "inside" / f"{inside_key()}-{_key_beside()}"
    if folder.is_dir():
        return folder
    with locked("inside", quiet):
        if folder.is_dir():
            return folder
        with building(folder) as place:
            package = place / "inside"
            for name, text in (_read_inside() | _read_beside()).items():
                (package / name).parent.mkdir(parents=True, exist_ok=True)
                (package / name).write_text(text, encoding="utf-8")
                # without a look at the file's time: a copy of the workspace keeps them
                py_compile.compile(
                    str(package / name), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
                )
    return folder


@cache
def _read_inside() -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(_INSIDE.glob("*.py"))}


@cache
def _read_beside() -> dict[str, str]:
    """What stands in folders of its own: it has no say in a verdict."""
    found = sorted(_INSIDE.glob("*/*.py"))
    return {path.relative_to(_INSIDE).as_posix(): path.read_text(encoding="utf-8") for path in found}


@cache
def _key_beside() -> str:
    return hashlib.sha256(repr(_read_beside()).encode()).hexdigest()[:8]


@cache
def inside_key() -> str:
    """Changes whenever what has a say in a verdict does; what stands in folders of its own has none."""
    return f"{hashlib.sha256(repr(_read_inside()).encode()).hexdigest()[:16]}-{sys.implementation.cache_tag}"


@dataclass(frozen=True)
class Cell:
    prepared: Prepared
    path: str | None
    """The file of the tree that the candidate's module replaces; None shows the tree as it is."""
    folder: Path
    """Private to this execution: the spliced file, the temporary folder, a copy of the tree where one is needed."""
    limits: Limits
    user: int
    """A user id of this execution's own, for when we are root: limits and signals count per user."""

    @property
    def spliced(self) -> Path:
        return self.folder / "spliced.py"

    @property
    def nothing(self) -> Path:
        """An empty file, to stand where something must not be seen."""
        return self.folder / "nothing"

    @property
    def interpreter_root(self) -> Path:
        """Where the environment's interpreter really lives, outside the environment."""
        return self.prepared.python.resolve().parent.parent

    def compiled(self) -> list[Path]:
        """Compiled files of the replaced module, relative to the tree, that would show the reference."""
        if self.path is None:
            return []
        folder = (self.prepared.tree / cache_from_source(self.path)).parent
        found = folder.glob(f"{Path(self.path).stem}.*.pyc")
        return [path.relative_to(self.prepared.tree) for path in found]


@contextmanager
def open_cell(prepared: Prepared, path: str | None, source: str | None, limits: Limits) -> Iterator[Cell]:
    """A cell that is gone afterwards, whatever the candidate left in it."""
    cells = home() / "cells"
    cells.mkdir(parents=True, exist_ok=True)
    folder = cells / f"{os.getpid()}-{secrets.token_hex(8)}"
    folder.mkdir(mode=0o755)
    cell = Cell(prepared, path, folder, limits, 1_000_000_000 + secrets.randbelow(1_000_000_000))
    held = _hold(folder)
    try:
        cell.nothing.touch(mode=0o644)
        if source is not None:
            cell.spliced.write_text(source, encoding="utf-8")
            cell.spliced.chmod(0o644)
        yield cell
    finally:
        remove_tree(folder)
        os.close(held)


def _hold(folder: Path) -> int:
    """Says, for as long as the descriptor is open, that somebody lives here; seen from other containers, too."""
    held = os.open(folder / ".held", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(held, fcntl.LOCK_SH)
    return held


def remove_leftovers() -> None:
    """Cells of processes that were killed before they could clean up."""
    for folder in (home() / "cells").glob("*-*"):
        with contextlib.suppress(OSError):
            held = os.open(folder / ".held", os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(folder)
            finally:
                os.close(held)


def remove_tree(folder: Path) -> None:
    """However deep it is: a candidate may have made a folder in a folder, thousands of times."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:
        subprocess.run(["rm", "-rf", "--", str(folder)], check=False, capture_output=True)


def lay_out_tree(cell: Cell, *, shared: bool) -> Path:
    """A tree with the candidate's module in it, for kinds of confinement that cannot mount: hard links, or copies."""
    source, target = cell.prepared.tree, cell.folder / "tree"
    hidden = {source / path for path in cell.compiled()}
    if cell.path is not None:
        hidden.add(source / cell.path)
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
    """The one place where a candidate may write, for kinds of confinement without a memory file system."""
    folder = cell.folder / "tmp"
    (folder / "home").mkdir(parents=True)
    if os.geteuid() == 0:
        for path in (folder, folder / "home"):
            os.chown(path, cell.user, cell.user)
    return folder


@dataclass(frozen=True)
class Launch:
    """A command that runs the runner inside the cell, and what the runner must be told."""

    command: list[str]
    tree: Path
    temporary: Path
    writable: tuple[str, ...]
    user: int | None = None
    """The user to become once inside; None where the kind sees to it itself."""
    seccomp: bytes = b""
    readable: tuple[str, ...] = ()
    """Places that are readable inside folders which may not be listed."""


class Sandbox(Protocol):
    name: str
    confines: bool
    """Whether it holds off the network; the runner tries, and a kind that promised and failed is not used."""
    warning: str
    """What a user should know of its weakness; empty where there is nothing to warn of."""

    def find_obstacle(self) -> str:
        """Why it cannot be used on this machine; empty where it can."""
        ...

    def launch(self, cell: Cell, channel: int) -> Launch: ...
