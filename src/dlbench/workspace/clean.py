"""Remove parts of the workspace and report the bytes freed.

Everything in the workspace can be rebuilt; nothing outside it is touched, whatever a link points to. Cleaning waits
until no build is running, since removing a folder during a build would break the build.
"""

import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from dlbench.errors import DLBenchError
from dlbench.workspace.environment import is_complete
from dlbench.workspace.home import Log, disk_errors, exclusive, home, is_ours, quiet

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
