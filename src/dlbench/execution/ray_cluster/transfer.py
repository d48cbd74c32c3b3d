"""What must a node know to have a project as the driver has it, byte for byte, wherever its own workspace lies?

The names of the two folders, which are hashes of what is in them, and what they are made from. What is there already is
used, as on a shared disk; what the node's own index has is fetched and built there; the rest has to be sent. Each is
done once on a node, under a lock, however many seats ask for it.

How does a folder get from the driver to a node that can get it nowhere else?

As an archive in pieces, which Ray's object store holds and, where they are large, puts on disk: an environment with
torch in it is larger than the memory that anybody would give away. Neither side ever holds more than a piece.
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
from dlbench.workspace.environment import is_complete, lock_text
from dlbench.workspace.home import Log, building, locked, quiet
from dlbench.workspace.prepare import complete

_PIECE = 16 << 20


def pack(folder: Path, put: Callable[[bytes], None]) -> None:
    """Gives the folder's archive away piece by piece."""
    pieces = _Pieces(put)
    with tarfile.open(fileobj=cast(IO[bytes], pieces), mode="w|") as archive:
        archive.add(folder, arcname=".")
    pieces.flush()


def unpack(pieces: Iterator[bytes], folder: Path) -> None:
    """Links may lead out of it, as an environment's to its interpreter do: it comes from the driver, not a stranger."""
    with tarfile.open(fileobj=cast(IO[bytes], _Stream(pieces)), mode="r|") as archive:
        archive.extractall(folder, filter="tar")


class _Pieces:
    def __init__(self, put: Callable[[bytes], None]) -> None:
        self.put = put
        self.held = bytearray()

    def write(self, data: bytes) -> int:
        self.held += data
        if len(self.held) >= _PIECE:
            self.flush()
        return len(data)

    def flush(self) -> None:
        self.put(bytes(self.held))
        self.held.clear()


class _Stream:
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces = pieces
        self.current = io.BytesIO()

    def read(self, size: int) -> bytes:
        data = self.current.read(size)
        while len(data) < size:
            piece = next(self.pieces, None)
            if piece is None:
                break
            self.current = io.BytesIO(piece)
            data += self.current.read(size - len(data))
        return data


class Part(StrEnum):
    SOURCE = "source"
    ENVIRONMENT = "environment"


@dataclass(frozen=True)
class ProjectBundle:
    project: Project
    source: str
    environment: str
    lock: str
    """The text of the lock that the environment was built from; empty where nobody knows it any more."""

    def place(self, part: Part) -> Path:
        """Where the part belongs on the machine that asks."""
        if part is Part.SOURCE:
            return home() / "sources" / self.source
        return home() / "environments" / self.environment

    def has(self, part: Part) -> bool:
        return (self.place(part) / "tree").is_dir() if part is Part.SOURCE else is_complete(self.place(part))


def describe(prepared: Prepared) -> ProjectBundle:
    environment = prepared.environment
    return ProjectBundle(prepared.project, prepared.tree.parent.name, environment.name, lock_text(environment))


def find_folder(prepared: Prepared, part: Part) -> Path:
    """What is sent: of the source the tree alone, since its bytecode is marked as this machine's."""
    return prepared.tree if part is Part.SOURCE else prepared.environment


def prepare_locally(parcel: ProjectBundle, log: Log = quiet) -> dict[Part, str]:
    """Makes what can be made here. What is left, each with the reason, has to be sent."""
    return {part: why for part in Part if not parcel.has(part) and (why := _make(parcel, part, log))}


def receive_part(parcel: ProjectBundle, part: Part, receive: Callable[[], Iterator[bytes]], log: Log = quiet) -> bool:
    """Unpacks what was sent; False where another was faster, and nothing was fetched."""
    place = parcel.place(part)
    with locked(f"{part}-{place.name}", log):
        if parcel.has(part):
            return False
        with building(place) as folder:
            unpack(receive(), folder / "tree" if part is Part.SOURCE else folder)
    if not parcel.has(part):
        what = f"the environment came without an interpreter: there is no {python_of(place).resolve()}"
        raise DLBenchError(what, where=str(place), fix=f"install Python {parcel.project.python} there, at that place")
    return True


def complete_bundle(parcel: ProjectBundle, log: Log = quiet) -> Prepared:
    """What `prepare` gives, of folders that are there."""
    tree = parcel.place(Part.SOURCE) / "tree"
    return complete(parcel.project, tree, parcel.place(Part.ENVIRONMENT), log)


def _make(parcel: ProjectBundle, part: Part, log: Log) -> str:
    """Why it could not be made; empty where it was."""
    if part is Part.SOURCE and parcel.project.path:
        return "it is a folder of the driver's"
    if part is Part.ENVIRONMENT and not parcel.lock:
        return "its lock is not known"
    with tempfile.TemporaryDirectory(prefix="dlbench-") as root:
        lock = Path(root, f"{parcel.environment.rpartition('-')[0]}.txt")
        lock.write_text(parcel.lock, encoding="utf-8")
        try:
            if part is Part.SOURCE:
                fetch(parcel.project, Path(root), log)
            else:
                build_environment(lock, parcel.project.python, log)
        except DLBenchError as error:
            return error.what
    return "" if parcel.has(part) else "what this node makes of it is something else"
