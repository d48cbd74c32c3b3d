"""How does a folder get from the driver to a node that can get it nowhere else?

As an archive in pieces, which Ray's object store holds and, where they are large, puts on disk: an environment with
torch in it is larger than the memory that anybody would give away. Neither side ever holds more than a piece.
"""

import io
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, cast

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
