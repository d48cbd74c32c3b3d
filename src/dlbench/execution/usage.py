"""What does a family of processes use, seen from outside?"""

import contextlib
import os
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
