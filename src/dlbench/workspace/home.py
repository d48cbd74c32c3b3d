"""Locate the workspace folder, lock parts of it, and publish built folders atomically.

Work on one thing happens under its lock, so that two processes never build the same folder at once; a folder gets its
final name only when it is complete, so that a kill leaves nothing that looks finished.
"""

import errno
import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import platformdirs

from dlbench.errors import DiskFull, DLBenchError, is_full_disk

Log = Callable[[str], None]

# The standard cache tag: backup tools skip tagged folders.
_TAG = "CACHEDIR.TAG"
_TAG_TEXT = "Signature: 8a477f597d28d172789f06886806bc55\n# The workspace of dlbench: all of it can be rebuilt.\n"
_EVERYTHING = "everything"
TRAINING = "training"
"""The folder of the training set: its facts in the repository, and the built sets in the workspace."""


def quiet(_: str) -> None:
    """A `Log` that discards messages."""


def home() -> Path:
    chosen = os.environ.get("DLBENCH_HOME")
    folder = Path(chosen).expanduser().absolute() if chosen else platformdirs.user_cache_path("dlbench")
    try:
        make_folder(folder)
        if not is_ours(folder) and not any(folder.iterdir()):
            (folder / _TAG).write_text(_TAG_TEXT)
    except OSError as error:
        raise _unusable(folder, error.strerror or str(error)) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unusable(folder, "it is not writable")
    return folder


def place_training_set(facts: Path | None = None) -> Path:
    """Where the training set of these facts, or of our own, is built; facts of another version are another set."""
    from dlbench.dataset.loading import find_own

    return home() / TRAINING / ((facts or find_own(TRAINING)) / "VERSION").read_text(encoding="utf-8").strip()


def is_ours(folder: Path) -> bool:
    """Whether the folder was empty when it became the workspace; DLBENCH_HOME may name a folder with other content."""
    return (folder / _TAG).exists()


def make_folder(folder: Path) -> None:
    """Create the folder and its parents, readable by all, since tests run as an unprivileged user."""
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)


def _unusable(folder: Path, why: str) -> DLBenchError:
    fix = "set DLBENCH_HOME to a folder that you can write to, on a disk with free space"
    return DLBenchError(f"the workspace folder cannot be used: {why}", where=str(folder), fix=fix)


@contextmanager
def disk_errors(where: Path) -> Iterator[None]:
    """Turn a full disk or a denied write, which the user can fix, into a DLBenchError."""
    try:
        yield
    except OSError as error:
        if is_full_disk(error):
            fix = "free disk space (`dlbench clean` helps), or set DLBENCH_HOME to a larger disk"
            raise DiskFull("the disk is full", where=str(error.filename or where), fix=fix) from None
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        what, fix = f"cannot be read or written: {error.strerror}", "set DLBENCH_HOME to a folder that you can write to"
        raise DLBenchError(what, where=str(error.filename or where), fix=fix) from None


def run_program(command: Sequence[str], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        errors="replace", umask=0o022,
    )  # fmt: skip


@contextmanager
def locked(name: str, log: Log) -> Iterator[None]:
    """Hold the lock `name`, exclusive over all threads and processes; not re-entrant."""
    with _flock(_EVERYTHING, fcntl.LOCK_SH, log), _flock(name, fcntl.LOCK_EX, log):
        yield


def exclusive(log: Log) -> AbstractContextManager[None]:
    """Wait until nobody holds any `locked` name and keep it so: for removing folders."""
    return _flock(_EVERYTHING, fcntl.LOCK_EX, log)


@contextmanager
def _flock(name: str, kind: int, log: Log) -> Iterator[None]:
    folder = home() / "locks"
    # Lock files are never removed: a process waiting on a removed file would hold a lock that nobody else sees.
    path = folder / (re.sub(r"[^A-Za-z0-9._-]", "_", name) + ".lock")
    with disk_errors(path):
        make_folder(folder)
        file = path.open("a")
    with file:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            log(f"waiting for another process ({name})")
            fcntl.flock(file, kind)
        yield


@contextmanager
def building(target: Path) -> Iterator[Path]:
    """A folder to build in, renamed to `target` when the block succeeds. Call it under a lock."""
    prefix = f".{target.name}.building-"
    with disk_errors(target):
        make_folder(target.parent)
        for left in target.parent.iterdir():
            if left.name.startswith(prefix):
                shutil.rmtree(left)
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
        try:
            folder.chmod(0o755)
            yield folder
            if target.exists():
                shutil.rmtree(target)
            folder.rename(target)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
