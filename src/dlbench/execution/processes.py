"""What does a family of processes use, seen from outside?

Can the kernel itself count the memory and processes of a whole family?

With a control group it can, and no child that forks dodges it. Version 2 where its memory controller may be used,
version 1 where it is mounted, else none: then each process has its own limit and the family is counted from outside.
Groups are kept and used again, since a group that was removed lingers in the kernel.
"""

import atexit
import contextlib
import os
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path


def find_descendants(root: int) -> list[int]:
    """The process and everything that came of it."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(path.name))
    found, pending = [root], [root]
    while pending:
        for child in children.get(pending.pop(), []):
            found.append(child)
            pending.append(child)
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False


def waited_seconds(pid: int) -> float:
    """How long its first thread was ready to run while others had the processor."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


def memory_mb(processes: list[int], limit: float) -> float:
    """Resident memory together; shared pages count once where it would otherwise be over the limit."""
    resident = sum(map(_resident_mb, processes))
    return sum(map(_proportional_mb, processes)) if resident > limit else resident


def _resident_mb(pid: int) -> float:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    return 0.0


def _proportional_mb(pid: int) -> float:
    """Where the kernel does not tell, as of a process that made itself opaque, the whole counts."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return _resident_mb(pid)


_ROOT = Path("/sys/fs/cgroup")
_FILES = {
    1: ("memory.limit_in_bytes", "memory.oom_control", "memory.usage_in_bytes"),
    2: ("memory.max", "memory.events", "memory.current"),
}


@dataclass(frozen=True)
class Group:
    version: int
    folders: tuple[Path, ...]
    """One in version 2; in version 1 one for memory and, where it can be had, one for processes."""

    def limit(self, memory_mb: int, processes: int) -> None:
        """So much more than is used now, by servers that wait for a candidate."""
        used = int((self.folders[0] / _FILES[self.version][2]).read_text())
        for folder in self.folders:
            _write(folder / _FILES[self.version][0], used + (memory_mb << 20))
            _write(folder / "memory.swap.max", 0)
            _write(folder / "pids.max", processes)

    def add(self, process: int) -> None:
        for folder in self.folders:
            _write(folder / "cgroup.procs", process)

    def count_kills(self) -> int:
        """How often the kernel ended a process here for want of memory."""
        for line in (self.folders[0] / _FILES[self.version][1]).read_text().splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill":
                return int(value)
        return 0


_free: list[Group] = []
_lock = threading.Lock()


@contextmanager
def borrow_group() -> Iterator[Group | None]:
    """A group that nobody else uses meanwhile; None where there is none to be had."""
    with _lock:
        group = _free.pop() if _free else _make()
    try:
        yield group
    finally:
        if group is not None:
            with _lock:
                _free.append(group)


def remove_groups() -> None:
    """Gives back what this process made, and what processes that were killed left."""
    with _lock:
        while _free:
            for folder in _free.pop().folders:
                _remove(folder)
    found = _bases()
    for base in found[1] if found is not None else ():
        for folder in base.glob("dlbench-*-*"):
            if not Path("/proc", folder.name.split("-")[1]).exists():
                _remove(folder)


def _make() -> Group | None:
    found = _bases()
    if found is None:
        return None
    version, bases = found
    name = f"dlbench-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        for base in bases:
            (base / name).mkdir()
    except OSError:
        return None
    return Group(version, tuple(base / name for base in bases))


@cache
def _bases() -> tuple[int, tuple[Path, ...]] | None:
    """Where groups can be made here, found out by making one; asked once."""
    if os.geteuid() != 0:
        return None
    atexit.register(remove_groups)
    own = _own_paths()
    unified = [_ROOT / own.get("", "/").lstrip("/")]
    with contextlib.suppress(OSError):
        if "memory" in (unified[0] / "cgroup.controllers").read_text().split():
            _write(unified[0] / "cgroup.subtree_control", "+memory +pids")
            if _can_limit(2, unified[0]):
                return 2, tuple(unified)
    memory = _ROOT / "memory" / own.get("memory", "/").lstrip("/")
    if not _can_limit(1, memory):
        return None
    pids = _ROOT / "pids" / own.get("pids", "/").lstrip("/")
    return 1, (memory, pids) if (pids / "cgroup.procs").exists() else (memory,)


def _own_paths() -> dict[str, str]:
    found: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            found |= dict.fromkeys(names.split(","), path)
    return found


def _can_limit(version: int, base: Path) -> bool:
    trial = base / f"dlbench-{os.getpid()}-trial"
    try:
        trial.mkdir()
    except OSError:
        return False
    try:
        return _write(trial / _FILES[version][0], 1 << 30)
    finally:
        _remove(trial)


def _write(path: Path, value: object) -> bool:
    try:
        with path.open("r+") as file:
            file.write(str(value))
    except OSError:
        return False
    return True


def _remove(folder: Path) -> None:
    for _ in range(50):
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.01)  # its last process is on its way out
            continue
        return
