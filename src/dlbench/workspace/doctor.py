"""Check what this machine has installed and configured, and remove parts of the workspace.

The checks run before anything is fetched: a missing program should not surface after an hour of downloads. Everything
in the workspace can be rebuilt; nothing outside it is removed, whatever a link points to. Cleaning waits until no build
is running, since removing a folder during a build would break the build.
"""

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from dlbench.errors import DLBenchError
from dlbench.workspace.environment import is_complete
from dlbench.workspace.home import Log, disk_errors, exclusive, home, is_ours, quiet
from dlbench.workspace.pip_config import read_pip_config
from dlbench.workspace.uv import uv_binary

_MIN_FREE_BYTES = 10 * 10**9
_MIN_PYTHON = (3, 11, 4)  # The first 3.11 whose tarfile has extraction filters.


@dataclass(frozen=True)
class Finding:
    name: str
    ok: bool
    detail: str
    fix: str = ""


def examine() -> list[Finding]:
    uv = _program("uv", uv_binary, "pip install --force-reinstall uv")
    fix = "install git; only projects that come from a git repository need it"
    return [_python(), uv, _program("git", lambda: shutil.which("git"), fix), *_disk(), _pip()]


def _python() -> Finding:
    found = sys.version_info[:3]
    oldest = ".".join(map(str, _MIN_PYTHON))
    return Finding("python", found >= _MIN_PYTHON, ".".join(map(str, found)), f"install Python {oldest} or newer")


def _program(name: str, find: Callable[[], str | None], fix: str) -> Finding:
    try:
        program = find()
        if program is None:
            return Finding(name, False, "not found", fix)
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=True)
    except (ImportError, OSError, DLBenchError, subprocess.SubprocessError) as error:
        return Finding(name, False, str(error).splitlines()[0], fix)
    return Finding(name, True, done.stdout.strip(), fix)


def _disk() -> list[Finding]:
    try:
        folder = home()
    except DLBenchError as error:
        return [Finding("home", False, f"{error.where}: {error.what}", error.fix)]
    free = shutil.disk_usage(folder).free
    fix = "free disk space (`dlbench clean` helps), or set DLBENCH_HOME to a larger disk"
    # Inside a sandbox /tmp then holds the cache and is read-only, which breaks only tests that name /tmp.
    note = " (tests that write to /tmp by name fail; set DLBENCH_HOME to a folder outside it)"
    return [
        Finding("home", True, f"{folder}{note if folder.is_relative_to('/tmp') else ''}"),
        Finding("disk", free >= _MIN_FREE_BYTES, f"{free / 10**9:.0f} GB free", fix),
    ]


def _pip() -> Finding:
    """Report numbers only: this output ends up in bug reports, and a URL may contain a password."""
    try:
        config = read_pip_config()
    except DLBenchError as error:
        return Finding("pip configuration", False, f"{error.where}: {error.what}", error.fix)
    index = "no index" if config.no_index else "own index" if config.index_url else "default index"
    counts = f"{len(config.extra_index_urls)} extra, {len(config.find_links)} find-links"
    certificates = "own certificates" if config.cert else "default certificates"
    return Finding("pip configuration", True, f"{index}, {counts}, {certificates}")


KINDS = frozenset({
    "sources", "environments", "archives", "uv", "models", "collected", "inside", "rehearsals", "temporary", "training",
    "vectors", "wordings",
})  # fmt: skip


def clean(what: set[str], log: Log = quiet) -> int:
    """Remove these kinds of content and return the number of bytes freed."""
    if unknown := what - KINDS:
        names, kinds = ", ".join(sorted(unknown)), ", ".join(sorted(KINDS))
        raise DLBenchError(f"unknown content to clean: {names}", fix=f"choose from {kinds}")
    folder = home()
    if not is_ours(folder):
        refusal = "this folder had other content before it became the workspace, so nothing in it is removed"
        fix = "remove by hand what you do not need, or set DLBENCH_HOME to a folder of its own"
        raise DLBenchError(refusal, where=str(folder), fix=fix)
    with exclusive(log), disk_errors(folder):
        targets = [folder / kind for kind in sorted(what - {"temporary"})]
        if "temporary" in what:
            targets += [path for path in _temporary(folder) if not any(map(path.is_relative_to, targets))]
        freed = _bytes_freed(targets)
        for path in targets:
            _remove(path)
    return freed


def _temporary(folder: Path) -> list[Path]:
    """Leftovers of killed builds, downloads and executions."""
    return [
        *(path for path in folder.glob("cells/*") if not Path("/proc", path.name.partition("-")[0]).exists()),
        *folder.glob("sources/.*.building-*"),
        *folder.glob("archives/*/.*"),
        *(path for path in folder.glob("environments/*") if not is_complete(path)),
    ]


def _bytes_freed(paths: Iterable[Path]) -> int:
    """Count a file once, and only if all of its hard links are removed."""
    files = (file for path in paths if not path.is_symlink() for file in (path, *path.rglob("*")))
    statuses = [file.stat() for file in files if file.is_file() and not file.is_symlink()]
    removed = Counter((status.st_dev, status.st_ino) for status in statuses)
    by_inode = {(status.st_dev, status.st_ino): status for status in statuses}
    return sum(status.st_size for inode, status in by_inode.items() if removed[inode] >= status.st_nlink)


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
