"""Measure and end a process tree from outside, and limit it with a control group.

A control group lets the kernel count the memory and processes of the whole tree, so that no forking child escapes.
Without one, each process has its own limit and the tree is counted from outside. Groups are reused, because a removed
group lingers in the kernel.
"""

import atexit
import contextlib
import os
import secrets
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PATIENCE = 15.0


def find_descendants(root: int, most: int = 4096) -> list[int]:
    """The process and its descendants. Reads only their own entries: a scan of /proc costs too much per poll. `most`:
    stop when more are found. A fork bomb may grow as fast as it is read."""
    found = {root: None}
    pending = [root]
    while pending and len(found) <= most:
        children = [child for child in _list_children(pending.pop()) if child not in found]
        found |= dict.fromkeys(children)
        pending += children
    return list(found)


def _list_children(pid: int) -> list[int]:
    """Each thread lists the children that it forked, unless the kernel was built without that file."""
    if not _has_children_files():
        return [int(path.name) for path in Path("/proc").glob("[0-9]*") if _read_stat(path)[1:2] == [str(pid)]]
    children: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                children += map(int, (thread / "children").read_text().split())
    return children


@cache
def _has_children_files() -> bool:
    return Path(f"/proc/self/task/{threading.get_native_id()}/children").exists()


def _read_stat(process: Path) -> list[str]:
    """State, parent and all that follows; empty for a process that is gone."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def is_alive(pid: int) -> bool:
    return _read_stat(Path(f"/proc/{pid}"))[:1] not in ([], ["Z"])


def is_running(pid: int) -> bool:
    """Whether its main thread is on a core, or waits for one."""
    return _read_stat(Path(f"/proc/{pid}"))[:1] == ["R"]


def end_tree(pid: int, known: set[int], has_ended: Callable[[], bool]) -> None:
    """Kill a sandbox with all its processes and wait until they are gone.

    `known`: processes seen earlier, which may have left the tree. The sandbox gets SIGTERM first, so that its reaper
    can end its descendants.
    """
    family = set(known)
    if not has_ended():
        family |= set(find_descendants(pid))
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        _wait_until(has_ended)
        for member in family if not has_ended() else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
    # the first process of a namespace ends last, after the kernel has removed all others
    _wait_until(lambda: has_ended() and not any(map(is_alive, family)))


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.002)


def _read_field(pid: int, file: str, place: int) -> int:
    """A number in a file of the process; 0 if it is gone."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/{file}").read_text().split()[place])
    return 0


def waited_seconds(pid: int) -> float:
    """How long its first thread was runnable but waiting for a processor."""
    return _read_field(pid, "schedstat", 1) / 1e9


def memory_mb(processes: list[int], limit: float) -> float:
    """Total resident memory. Shared pages count once if the plain sum exceeds the limit."""
    resident = sum(map(_resident_mb, processes))
    return sum(map(_proportional_mb, processes)) if resident > limit else resident


def _resident_mb(pid: int) -> float:
    return _read_field(pid, "statm", 1) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def _proportional_mb(pid: int) -> float:
    """Falls back to the resident size where the kernel hides the figure, as for an undumpable process."""
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
    """One in version 2; in version 1 one for memory and, if available, one for processes."""

    def limit(self, memory_mb: int, processes: int) -> None:
        """Limits the use beyond that of the servers, which are in the group already."""
        used = int((self.folders[0] / _FILES[self.version][2]).read_text())
        for folder in self.folders:
            _write(folder / _FILES[self.version][0], used + (memory_mb << 20))
            _write(folder / "memory.swap.max", 0)
            _write(folder / "pids.max", processes)

    def add(self, process: int) -> None:
        for folder in self.folders:
            _write(folder / "cgroup.procs", process)

    def count_kills(self) -> int:
        """How often the kernel killed a process of this group for lack of memory."""
        lines = (self.folders[0] / _FILES[self.version][1]).read_text().splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


_free: list[Group] = []
_lock = threading.Lock()


@contextmanager
def borrow_group() -> Iterator[Group | None]:
    """A group for exclusive use; None where groups are not available."""
    with _lock:
        group = _free.pop() if _free else _make()
    try:
        yield group
    finally:
        if group is not None:
            with _lock:
                _free.append(group)


def remove_groups() -> None:
    """Remove the groups of this process and those that killed processes left behind."""
    with _lock:
        while _free:
            for folder in _free.pop().folders:
                _remove(folder)
    _, bases = _bases()
    for base in bases:
        for folder in base.glob("dlbench-*-*"):
            if not Path("/proc", folder.name.split("-")[1]).exists():
                _remove(folder)


_borrowed = Counter[int]()


@contextmanager
def borrow_cpus(count: int) -> Iterator[list[int]]:
    """So many processors, those that the fewest others have borrowed."""
    with _lock:
        known = sorted(os.sched_getaffinity(0), key=lambda one: (_borrowed[one], one))
        chosen = known[:count]
        _borrowed.update(chosen)
    try:
        yield chosen
    finally:
        with _lock:
            _borrowed.subtract(chosen)


def _make() -> Group | None:
    version, bases = _bases()
    name = f"dlbench-{os.getpid()}-{secrets.token_hex(4)}"
    try:
        for base in bases:
            (base / name).mkdir()
    except OSError:
        return None
    return Group(version, tuple(base / name for base in bases)) if bases else None


@cache
def _bases() -> tuple[int, tuple[Path, ...]]:
    """The version of control groups, and where groups can be made on this machine, found by making one."""
    if os.geteuid() != 0:
        return 0, ()
    atexit.register(remove_groups)
    own: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            own |= dict.fromkeys(names.split(","), path.lstrip("/"))
    unified = _ROOT / own.get("", "")
    with contextlib.suppress(OSError):
        if "memory" in (unified / "cgroup.controllers").read_text().split():
            _write(unified / "cgroup.subtree_control", "+memory +pids")
            if _can_limit(2, unified):
                return 2, (unified,)
    memory, pids = (_ROOT / name / own.get(name, "") for name in ("memory", "pids"))
    if not _can_limit(1, memory):
        return 0, ()
    return 1, (memory, pids) if (pids / "cgroup.procs").exists() else (memory,)


def _can_limit(version: int, base: Path) -> bool:
    trial = base / f"dlbench-{os.getpid()}-trial"
    with contextlib.suppress(OSError):
        trial.mkdir()
        try:
            return _write(trial / _FILES[version][0], 1 << 30)
        finally:
            _remove(trial)
    return False


def _write(path: Path, value: object) -> bool:
    try:
        with path.open("r+") as file:
            file.write(str(value))
    except OSError:
        return False
    return True


def _remove(folder: Path) -> None:
    for _ in range(50):
        with contextlib.suppress(OSError):
            folder.rmdir()
        if not folder.exists():
            return
        time.sleep(0.01)  # its last process is still ending
