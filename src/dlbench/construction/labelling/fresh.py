"""How does a page stay quick and still show what is in the files at this moment?

What was read is kept until one of the files is another, by inode, size and time of change. The files are looked at
before they are read, so that one which changes meanwhile is read again the next time.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Fresh(Generic[Value]):
    def __init__(self, files: Callable[[], Iterable[Path]], read: Callable[[], Value]) -> None:
        self._files = files
        self._read = read
        self._kept: tuple[list[tuple[str, int, int, int]], Value] | None = None

    def __call__(self) -> Value:
        look = [(str(path), *_look_at(path)) for path in self._files()]
        kept = self._kept
        if kept is None or kept[0] != look:
            kept = self._kept = (look, self._read())
        return kept[1]


def _look_at(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0, 0
    return found.st_ino, found.st_size, found.st_mtime_ns
