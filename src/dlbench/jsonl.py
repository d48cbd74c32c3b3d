"""Read and write JSONL files, and keep journals that survive a kill at any moment.

A journal is only appended to, one whole line at a time, each on disk before the next piece of work begins. A line that
a kill cut short is dropped when the journal is opened again; everything before it stays.
"""

import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO, Any

from dlbench.errors import DiskFull, DLBenchError, is_full_disk


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every record with its line number; a malformed line is an error with its number."""
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise DLBenchError("there is no such file", where=str(path), fix="check the path") from None
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DLBenchError(f"cannot be read: {error}", where=str(path), fix="pass a UTF-8 JSONL file") from None
    yield from parse_lines(text.split("\n"), path)


def parse_lines(lines: Iterable[str | bytes], path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    from pydantic_core import from_json

    fix = "write one JSON object per line, and a line break inside a string as \\n"
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = _parse(line, from_json)
        except (ValueError, RecursionError) as error:
            raise DLBenchError(f"not a line of JSON: {error}", where=f"{path}:{number}", fix=fix) from None
        if not isinstance(record, dict):
            raise DLBenchError(f"a JSON {type(record).__name__}, not an object", where=f"{path}:{number}", fix=fix)
        yield number, record


def read_text(path: Path) -> str:
    """The text of a file that may be compressed with gzip."""
    if path.suffix != ".gz":
        return path.read_text(encoding="utf-8-sig")
    import gzip
    import zlib

    try:
        return gzip.decompress(path.read_bytes()).decode("utf-8-sig")
    except zlib.error as error:
        raise OSError(f"a damaged archive: {error}") from None


def _parse(line: str | bytes, quickly: Callable[[str | bytes], Any]) -> Any:  # noqa: ANN401 - whatever JSON has
    """pydantic's parser halves the time for half a million lines; Python's own reads the lines that it rejects."""
    try:
        return quickly(line)
    except ValueError:
        return json.loads(line)


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace a file in one step: a reader sees the old content or the new, never a part."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def dump(record: dict[str, Any]) -> str:
    text = json.dumps(record, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # models and candidates produce lone surrogates, which have no UTF-8
        return json.dumps(record)
    return text


class Journal:
    """Append-only JSONL with one writer; opening it removes a line that a kill cut short."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._open()
        self._lock = Lock()
        self._cut_torn_line()

    def _open(self) -> IO[bytes]:
        while True:
            file = self.path.open("ab+")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.close()
                fix = "wait until it ends, or choose another --out folder"
                raise DLBenchError("another process is writing here", where=str(self.path), fix=fix) from None
            # A process that ended meanwhile may have replaced the file.
            if self.path.exists() and os.path.samestat(os.fstat(file.fileno()), self.path.stat()):
                return file
            file.close()

    def _cut_torn_line(self) -> None:
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        if whole != len(content):
            self._file.truncate(whole)

    def records(self) -> list[dict[str, Any]]:
        return [record for _, record in read_lines(self.path)]

    def append(self, *records: dict[str, Any], durable: bool = True) -> None:
        """Append all records in one write. Without `durable` they survive a kill, but perhaps not a power cut."""
        lines = b"".join(dump(record).encode() + b"\n" for record in records)
        with self._lock:
            try:
                self._file.write(lines)
                self._file.flush()
                if durable:
                    os.fsync(self._file.fileno())
            except OSError as error:
                kind = DiskFull if is_full_disk(error) else DLBenchError
                fix = "free disk space and rerun the same command; finished work is kept"
                raise kind(f"cannot be written: {error.strerror}", where=str(self.path), fix=fix) from None

    def close(self) -> None:
        with suppress(OSError):  # a full disk: `append` has raised it, with the file's name
            self._file.close()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def rewrite(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """Replace a journal in one step, for example in its final order."""
    write_whole(path, "".join(dump(record) + "\n" for record in records))
