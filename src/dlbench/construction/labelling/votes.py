"""What did each annotator say of each function?

A vote names a label on up to three axes. One that names a label which does not exist, or whose key is misspelt, would
be missing from the count without anybody knowing, so it is refused by file and line. An annotator may vote again, and
the last word counts, until they have looked at the others' votes: from then on theirs stands, or agreement would be
measured on votes that were copied.

Where does each annotator write, so that nothing said is lost and nobody writes over another?

In a file of their own, named after them, which is only ever appended to. A line that a kill cut short was never
acknowledged: it is passed over here and cut off when the annotator writes again.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from threading import RLock

from dlbench.construction.work_folder import Row, WorkFolder
from dlbench.dataset import Instance
from dlbench.dataset.labels import AXES, Label
from dlbench.errors import DLBenchError
from dlbench.jsonl import Journal, read_lines

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


def check_name(name: object) -> str:
    """A name becomes a file's name: lower case, so that two annotators are two files on every disk."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        what = f"{name!r} is no name for an annotator"
        raise DLBenchError(what, fix="use up to 40 of a-z, 0-9, - and _, beginning with a letter or a digit")
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
                fix = "name it <annotator>.jsonl in lower case, or move it elsewhere"
                raise DLBenchError("this is no annotator's file", where=str(path), fix=fix)
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
    raise DLBenchError(what, where=f"{path}:{number}", fix="fix or remove the line") from None


_KEYS = {"id", "annotator", "note", "seen", "at", *AXES}


@dataclass(frozen=True)
class Vote:
    id: str
    annotator: str
    labels: Mapping[str, Label]
    """By axis; an axis on which the annotator has not decided yet is not in it."""
    note: str = ""
    seen: bool = False
    """The annotator has looked at the others' votes, and the vote stands."""
    where: str = ""
    at: str = ""
    """When it was said, in a form that can be compared; empty where nobody noted it, which counts as long ago."""

    @property
    def is_complete(self) -> bool:
        return set(self.labels) == set(AXES)

    def as_row(self) -> Row:
        row: Row = {"id": self.id, **{axis: self.labels.get(axis) for axis in AXES}, "note": self.note}
        return row | ({"seen": True} if self.seen else {}) | ({"at": self.at} if self.at else {})


def votes_of(work: WorkFolder) -> Sheets:
    return Sheets(work.root / "votes")


def read_votes(source: WorkFolder | Sheets | Iterable[Path]) -> list[Vote]:
    """The last vote of each annotator on each function: those of a work folder, or of any JSONL and CSV files.

    In files of other origin a row may name its annotator; where it does not, the file's name does.
    """
    if isinstance(source, WorkFolder):
        source = votes_of(source)
    rows = _read_sheets(source) if isinstance(source, Sheets) else chain.from_iterable(map(read_rows, source))
    last: dict[tuple[str, str], Vote] = {}
    for row, annotator, where in rows:
        vote = parse_vote(row, annotator, where)
        last[vote.id, vote.annotator] = vote
    return sorted(last.values(), key=lambda vote: (vote.id, vote.annotator))


def list_votes(instances: Iterable[Instance]) -> list[Vote]:
    """The votes that stand in the records of instances, in the order of the annotators, whose names are not kept."""
    found: list[Vote] = []
    for instance in instances:
        kept = {axis: getattr(instance.votes, axis) for axis in AXES} if instance.votes else {}
        for place in range(max(map(len, kept.values()), default=0)):
            labels = {axis: votes[place] for axis, votes in kept.items() if place < len(votes)}
            found.append(Vote(instance.id, str(place), labels))
    return found


def _read_sheets(sheets: Sheets) -> Iterator[tuple[Row, str, str]]:
    for annotator in sheets.annotators():
        for number, row in sheets.read(annotator):
            yield row, annotator, f"{sheets.path(annotator)}:{number}"


def read_rows(path: Path) -> Iterator[tuple[Row, str, str]]:
    """Each row of a JSONL or CSV file, who wrote it (the file's name where it does not say), and where it stands."""
    for number, row in _read_csv(path) if path.suffix == ".csv" else read_lines(path):
        annotator = row.pop("annotator", None) or path.stem
        yield row, annotator, f"{path}:{number}"


def _read_csv(path: Path) -> Iterator[tuple[int, Row]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restkey="a column without a heading", strict=True)
            for row in reader:
                yield reader.line_num, {key: value for key, value in row.items() if value not in (None, "")}
    except FileNotFoundError:
        raise DLBenchError("there is no such file", where=str(path), fix="check the path") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DLBenchError(f"cannot be read: {error}", where=str(path), fix="give a UTF-8 CSV file") from None


def parse_vote(row: Row, annotator: object, where: str) -> Vote:
    unknown = sorted(str(key) for key in set(row) - _KEYS)
    if unknown:
        raise DLBenchError(f"unknown: {', '.join(unknown)}", where=where, fix=f"use {', '.join(sorted(_KEYS))}")
    function, note = row.get("id"), row.get("note") or ""
    if not isinstance(function, str) or not function:
        raise DLBenchError("the vote does not say on what", where=where, fix="give the id of a function as `id`")
    if not isinstance(note, str):
        raise DLBenchError("the note is not a text", where=where, fix="write it in quotation marks, or leave it out")
    labels = {axis: parse_label(axis, row[axis], where) for axis in AXES if row.get(axis) not in (None, "")}
    try:
        at = parse_moment(row.get("at"))
        return Vote(function, check_name(annotator), labels, note, row.get("seen") is True, where, at)
    except DLBenchError as error:
        raise DLBenchError(error.what, where=where, fix=error.fix) from None


def parse_moment(value: object) -> str:
    """A moment in ISO 8601, of Greenwich where it does not say."""
    if value in (None, ""):
        return ""
    try:
        moment = datetime.fromisoformat(str(value))
        return write_moment(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise DLBenchError(f"{value!r} is no moment", fix="write it as 2026-01-31T12:00:00Z") from None


def write_moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def parse_label(axis: object, value: object, where: str) -> Label:
    if not isinstance(axis, str) or axis not in AXES:
        raise DLBenchError(f"there is no axis {axis!r}", where=where, fix=f"use one of: {', '.join(AXES)}")
    for label in AXES[axis]:
        if label == value:
            return label
    raise DLBenchError(f"{axis} cannot be {value!r}", where=where, fix=f"use one of: {', '.join(AXES[axis])}")


def cast_vote(sheets: Sheets, annotator: str, change: Row) -> None:
    """Writes the annotator's vote with some of it changed; what `change` does not name stays as it was."""
    with sheets.lock:
        for row in plan_votes(sheets, annotator, [change]):
            sheets.append(annotator, row)


def plan_votes(sheets: Sheets, annotator: str, changes: Iterable[Row]) -> list[Row]:
    """The rows that would have to be written; a change that changes nothing needs none."""
    last = {}
    for number, row in sheets.read(annotator):
        vote = parse_vote(row, annotator, f"{sheets.path(annotator)}:{number}")
        last[vote.id] = vote
    rows = []
    for change in changes:
        before = last.get(change["id"], Vote(change["id"], annotator, {}))
        after = parse_vote(before.as_row() | change, annotator, "this vote")
        if before.seen and after.labels != before.labels:
            what = f"{annotator} has looked at the others' votes on {after.id}, and the vote stands"
            raise DLBenchError(what, fix="discuss it, and settle a tie in settled.jsonl")
        if (after.labels, after.note, after.seen) != (before.labels, before.note, before.seen):
            rows.append(after.as_row())
    return rows
