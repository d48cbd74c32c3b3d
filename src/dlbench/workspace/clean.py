"""What can be taken away again, and how much room does it give?

Everything in the workspace can be made anew, so all of it may go; nothing outside may, whatever a link there points
to. Waits until no build is under way: taking a folder from under one would leave it broken.
"""

import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from dlbench.errors import DLBenchError
from dlbench.workspace.environment import is_complete
from dlbench.workspace.home import Log, disk_errors, exclusive, home, is_ours, quiet

KINDS = frozenset(
    {
        "sources",
        "environments",
        "archives",
        "uv",
        "models",
        "collected",
        "inside",
        "rehearsals",
        "temporary",
        "vectors",
        "wordings",
    }
)


def clean(what: set[str], log: Log = quiet) -> int:
    """Removes these kinds of things and returns the number of bytes that the disk has got back."""
    if unknown := what - KINDS:
        names = ", ".join(sorted(unknown))
        raise DLBenchError(f"nothing of that name to clean: {names}", fix=f"choose of {', '.join(sorted(KINDS))}")
    folder = home()
    if not is_ours(folder):
        raise DLBenchError(
            "this folder held other things before it became the workspace, so nothing in it is removed",
            where=str(folder),
            fix="remove by hand what you do not need, or set DLBENCH_HOME to a folder of its own",
        )
    with exclusive(log), disk_errors(folder):
        doomed = [folder / kind for kind in sorted(what - {"temporary"})]
        if "temporary" in what:
            doomed += [path for path in _temporary(folder) if not any(map(path.is_relative_to, doomed))]
        freed = _bytes_freed(doomed)
        for path in doomed:
            _remove(path)
    return freed


def _temporary(folder: Path) -> list[Path]:
    """What killed builds, downloads and executions left behind."""
    return [
        *(path for path in folder.glob("cells/*") if not Path("/proc", path.name.partition("-")[0]).exists()),
        *folder.glob("sources/.*.building-*"),
        *folder.glob("archives/*/.*"),
        *(path for path in folder.glob("environments/*") if not is_complete(path)),
    ]


def _bytes_freed(paths: Iterable[Path]) -> int:
    """A file gives its room back only when the last of its hard links goes, and then once."""
    removed: Counter[tuple[int, int]] = Counter()
    links: dict[tuple[int, int], tuple[int, int]] = {}
    for path in paths:
        for file in (path, *path.rglob("*")) if not path.is_symlink() else ():
            if file.is_file() and not file.is_symlink():
                facts = file.stat()
                inode = (facts.st_dev, facts.st_ino)
                removed[inode] += 1
                links[inode] = (facts.st_nlink, facts.st_size)
    return sum(size for inode, (count, size) in links.items() if removed[inode] >= count)


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
