"""Where does each annotator write, so that nothing said is lost and nobody writes over another?

In a file of their own, named after them, which is only ever appended to. A line that a kill cut short was never
acknowledged: it is passed over here and cut off when the annotator writes again.
"""

import json
import re
from pathlib import Path
from threading import RLock

from dlbench.construction.work import Row
from dlbench.errors import DLBenchError
from dlbench.jsonl import Journal

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


def check_name(name: object) -> str:
    """A name becomes a file's name: lower case, so that two annotators are two files on every disk."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        what = f"{name!r} is no name for an annotator"
        raise DLBenchError(what, mend="use up to 40 of a-z, 0-9, - and _, beginning with a letter or a digit")
    return name


class Sheets:
    """One file an annotator, all in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = RLock()

    def path(self, annotator: str) -> Path:
        return self.folder / f"{check_name(annotator)}.jsonl"

    def annotators(self) -> list[str]:
        """Raises DLBenchError for a file that is nobody's: what it says would be passed over in silence."""
        if not self.folder.is_dir():
            return []
        names = []
        for path in sorted(self.folder.iterdir()):
            if path.name.startswith("."):
                continue
            if path.suffix != ".jsonl" or not _NAME.fullmatch(path.stem):
                mend = "name it <annotator>.jsonl in lower case, or move it elsewhere"
                raise DLBenchError("this is no annotator's file", where=str(path), mend=mend)
            names.append(path.stem)
        return names

    def read(self, annotator: str) -> list[tuple[int, Row]]:
        """Every whole row with its line number."""
        path = self.path(annotator)
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return []
        whole = text[: text.rfind(b"\n") + 1]
        return [(number, _parse(line, path, number)) for number, line in enumerate(whole.split(b"\n"), 1) if line]

    def append(self, annotator: str, row: Row) -> None:
        """On disk when this returns."""
        with self.lock, Journal(self.path(annotator)) as journal:
            journal.append(row)


def _parse(line: bytes, path: Path, number: int) -> Row:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        what = f"not a line of JSON: {error}"
    else:
        if isinstance(row, dict):
            return row
        what = f"a JSON {type(row).__name__}, not an object"
    raise DLBenchError(what, where=f"{path}:{number}", mend="mend or remove the line") from None
