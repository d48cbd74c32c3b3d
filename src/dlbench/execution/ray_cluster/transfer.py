"""Give a node the driver's source and environment of a project, byte for byte.

The names of the two folders are hashes of their content. A node uses what it has, as on a shared disk, fetches and
builds what its package index has, and receives the rest from the driver, once and under a lock.

A folder travels as an archive in pieces, since an environment with torch exceeds the memory that one would reserve.
Ray's object store spills them to disk, and neither side ever holds more than one.
"""

import io
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, cast

from dlbench.dataset import Project
from dlbench.errors import DLBenchError
from dlbench.workspace import Prepared, build_environment, fetch, home, python_of
from dlbench.workspace.environment import complete, is_complete, lock_text
from dlbench.workspace.home import Log, building, locked, quiet

_PIECE = 16 << 20


def pack(folder: Path, put: Callable[[bytes], None]) -> None:
    """Pass the folder's archive to `put`, piece by piece."""
    pieces = _Pieces(put)
    with tarfile.open(fileobj=cast(IO[bytes], pieces), mode="w|") as archive:
        archive.add(folder, arcname=".")
    pieces.flush()


def unpack(pieces: Iterator[bytes], folder: Path) -> None:
    """The archive comes from the driver, so links may leave the folder, as an environment's link to its interpreter."""
    with tarfile.open(fileobj=cast(IO[bytes], _Stream(pieces)), mode="r|") as archive:
        archive.extractall(folder, filter="tar")


class _Pieces:
    def __init__(self, put: Callable[[bytes], None]) -> None:
        self.put = put
        self.buffer = bytearray()

    def write(self, data: bytes) -> int:
        self.buffer += data
        if len(self.buffer) >= _PIECE:
            self.flush()
        return len(data)

    def flush(self) -> None:
        self.put(bytes(self.buffer))
        self.buffer.clear()


class _Stream:
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces = pieces
        self.current = io.BytesIO()

    def read(self, size: int) -> bytes:
        data = self.current.read(size)
        while len(data) < size and (piece := next(self.pieces, None)) is not None:
            self.current = io.BytesIO(piece)
            data += self.current.read(size - len(data))
        return data


class Part(StrEnum):
    SOURCE = "source"
    ENVIRONMENT = "environment"


@dataclass(frozen=True)
class ProjectBundle:
    """What a node must know to prepare a project like the driver."""

    project: Project
    source: str
    environment: str
    lock: str
    """The text of the environment's lock; empty if it is unknown."""

    def place(self, part: Part) -> Path:
        """The folder of the part on this machine."""
        return home() / f"{part}s" / (self.source if part is Part.SOURCE else self.environment)

    def has(self, part: Part) -> bool:
        return (self.place(part) / "tree").is_dir() if part is Part.SOURCE else is_complete(self.place(part))


def describe(prepared: Prepared) -> ProjectBundle:
    environment = prepared.environment
    return ProjectBundle(prepared.project, prepared.tree.parent.name, environment.name, lock_text(environment))


def find_folder(prepared: Prepared, part: Part) -> Path:
    """The folder to send: of the source only the tree, since its bytecode belongs to this machine."""
    return prepared.tree if part is Part.SOURCE else prepared.environment


def prepare_locally(bundle: ProjectBundle, log: Log = quiet) -> dict[Part, str]:
    """Make what this node can make. Returns the parts that must be sent, each with the reason."""
    return {part: why for part in Part if not bundle.has(part) and (why := _make(bundle, part, log))}


def receive_part(bundle: ProjectBundle, part: Part, receive: Callable[[], Iterator[bytes]], log: Log = quiet) -> bool:
    """Unpack a part. False if another actor was faster; then nothing is fetched."""
    place = bundle.place(part)
    with locked(f"{part}-{place.name}", log):
        if bundle.has(part):
            return False
        with building(place) as folder:
            unpack(receive(), folder / "tree" if part is Part.SOURCE else folder)
    if not bundle.has(part):
        what = f"the environment came without an interpreter: there is no {python_of(place).resolve()}"
        raise DLBenchError(what, where=str(place), fix=f"install Python {bundle.project.python} there, at that path")
    return True


def complete_bundle(bundle: ProjectBundle, log: Log = quiet) -> Prepared:
    """What `prepare` returns, from folders that are present."""
    tree = bundle.place(Part.SOURCE) / "tree"
    return complete(bundle.project, tree, bundle.place(Part.ENVIRONMENT), log)


def _make(bundle: ProjectBundle, part: Part, log: Log) -> str:
    """Why the part could not be made; empty if it was."""
    if part is Part.SOURCE and bundle.project.path:
        return "it is a folder of the driver"
    if part is Part.ENVIRONMENT and not bundle.lock:
        return "its lock is unknown"
    with tempfile.TemporaryDirectory(prefix="dlbench-") as root:
        lock = Path(root, f"{bundle.environment.rpartition('-')[0]}.txt")
        lock.write_text(bundle.lock, encoding="utf-8")
        try:
            if part is Part.SOURCE:
                fetch(bundle.project, Path(root), log)
            else:
                build_environment(lock, bundle.project.python, log)
        except DLBenchError as error:
            return error.what
    return "" if bundle.has(part) else "this node makes something else of it"
