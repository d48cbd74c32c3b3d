"""Read, check and write annotators' votes, and their reviews: rewritten prompts, acceptances and rejections.

An unknown label or a misspelt key would silently be missing from the count, so it is rejected with file and line. An
annotator may change a vote until they have looked at the others' votes; then it is final, or agreement would be
measured on copied votes. A line cut short by a kill was never acknowledged: it is ignored, then removed.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, zip_longest
from operator import itemgetter
from pathlib import Path
from threading import RLock

from dlbench.construction import Row, WorkFolder
from dlbench.dataset import Instance
from dlbench.dataset.labels import AXES, Label
from dlbench.errors import DLBenchError
from dlbench.jsonl import Journal, parse_lines, read_lines

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


def check_name(name: object, where: str = "") -> str:
    """Check a name, which becomes a file name: lower case, so that two names are two files on every file system."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        fix = "use up to 40 of a-z, 0-9, - and _, starting with a letter or a digit"
        raise DLBenchError(f"{name!r} is not a valid annotator name", where=where, fix=fix)
    return name


class Sheets:
    """One JSONL file for each annotator, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = RLock()

    def path(self, annotator: str) -> Path:
        return self.folder / f"{check_name(annotator)}.jsonl"

    def annotators(self) -> list[str]:
        """Raises DLBenchError for any other file, whose votes would silently be ignored."""
        paths = sorted(path for path in self.folder.glob("*") if not path.name.startswith("."))
        for path in paths:
            if path.suffix != ".jsonl" or not _NAME.fullmatch(path.stem):
                fix = "name it <annotator>.jsonl in lower case, or move it elsewhere"
                raise DLBenchError("not an annotator's file", where=str(path), fix=fix)
        return [path.stem for path in paths]

    def read(self, annotator: str) -> list[tuple[Row, str]]:
        """Every complete row with its location."""
        path = self.path(annotator)
        text = path.read_bytes() if path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        return [(row, f"{path}:{number}") for number, row in parse_lines(whole.split(b"\n"), path)]

    def read_all(self) -> Iterator[tuple[Row, str, str]]:
        """Every complete row with its annotator and its location."""
        for annotator in self.annotators():
            yield from ((row, annotator, where) for row, where in self.read(annotator))

    def append(self, annotator: str, row: Row) -> None:
        """Append a row; it is on disk when this returns."""
        with self.lock, Journal(self.path(annotator)) as journal:
            journal.append(row)


_KEYS = {"id", "annotator", "note", "seen", "at", *AXES}


@dataclass(frozen=True)
class Vote:
    id: str
    annotator: str
    labels: Mapping[str, Label]
    """By axis; axes without a decision are missing."""
    note: str = ""
    seen: bool = False
    """The annotator has looked at the others' votes, and the vote is final."""
    where: str = ""
    at: str = ""
    """When the vote was cast, in a sortable format; empty if unknown, which sorts first."""

    @property
    def is_complete(self) -> bool:
        return set(self.labels) == set(AXES)

    def as_row(self) -> Row:
        row: Row = {"id": self.id, **{axis: self.labels.get(axis) for axis in AXES}, "note": self.note}
        return row | ({"seen": True} if self.seen else {}) | ({"at": self.at} if self.at else {})


def votes_of(work: WorkFolder) -> Sheets:
    return Sheets(work.root / "votes")


def read_votes(source: WorkFolder | Sheets | Iterable[Path]) -> list[Vote]:
    """The last vote of each annotator on each function, from a work folder or from JSONL and CSV files.
    A row of a file may name its annotator; otherwise the file name does."""
    if isinstance(source, WorkFolder):
        source = votes_of(source)
    rows = source.read_all() if isinstance(source, Sheets) else chain.from_iterable(map(read_rows, source))
    last: dict[tuple[str, str], Vote] = {}
    for row, annotator, where in rows:
        vote = parse_vote(row, annotator, where)
        last[vote.id, vote.annotator] = vote
    return sorted(last.values(), key=lambda vote: (vote.id, vote.annotator))


def list_votes(instances: Iterable[Instance]) -> list[Vote]:
    """The votes in the records of instances, in the order of the annotators, whose names are not recorded."""
    found: list[Vote] = []
    for instance in instances:
        by_annotator = zip_longest(*(getattr(instance.votes, axis, ()) for axis in AXES))
        for index, given in enumerate(by_annotator):
            labels = {axis: label for axis, label in zip(AXES, given, strict=True) if label}
            found.append(Vote(instance.id, str(index), labels))
    return found


def read_rows(path: Path) -> Iterator[tuple[Row, str, str]]:
    """Each row of a JSONL or CSV file with its annotator (by default the file name) and its location."""
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
        raise DLBenchError("the file does not exist", where=str(path), fix="check the path") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DLBenchError(f"cannot be read: {error}", where=str(path), fix="give a UTF-8 CSV file") from None


def require_text(row: Row, name: str, where: str, fix: str = "give the id of a function as `id`") -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise DLBenchError(f"`{name}` is missing", where=where, fix=fix)
    return value


def parse_vote(row: Row, annotator: object, where: str) -> Vote:
    unknown = sorted(str(key) for key in set(row) - _KEYS)
    if unknown:
        raise DLBenchError(f"unknown keys: {', '.join(unknown)}", where=where, fix=f"use {', '.join(sorted(_KEYS))}")
    function, note = require_text(row, "id", where), row.get("note") or ""
    if not isinstance(note, str):
        raise DLBenchError("`note` is not a string", where=where, fix="write it in quotation marks, or omit it")
    labels = {axis: parse_label(axis, row[axis], where) for axis in AXES if row.get(axis) not in (None, "")}
    at = parse_time(row.get("at"), where)
    return Vote(function, check_name(annotator, where), labels, note, row.get("seen") is True, where, at)


def parse_time(value: object, where: str) -> str:
    """Normalize an ISO 8601 time; UTC if it has no zone."""
    if value in (None, ""):
        return ""
    try:
        time = datetime.fromisoformat(str(value))
        zoned = time if time.tzinfo else time.replace(tzinfo=UTC)
        return zoned.astimezone(UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError):
        fix = "write it as 2026-01-31T12:00:00Z"
        raise DLBenchError(f"{value!r} is not a time", where=where, fix=fix) from None


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def parse_label(axis: object, value: object, where: str) -> Label:
    if not isinstance(axis, str) or axis not in AXES:
        raise DLBenchError(f"unknown axis {axis!r}", where=where, fix=f"use one of: {', '.join(AXES)}")
    for label in AXES[axis]:
        if label == value:
            return label
    raise DLBenchError(f"{axis} cannot be {value!r}", where=where, fix=f"use one of: {', '.join(AXES[axis])}")


def cast_vote(sheets: Sheets, annotator: str, change: Row) -> None:
    """Write the annotator's vote with changes; what `change` does not name stays."""
    with sheets.lock:
        for row in plan_votes(sheets, annotator, [change]):
            sheets.append(annotator, row)


def plan_votes(sheets: Sheets, annotator: str, changes: Iterable[Row]) -> list[Row]:
    """The rows to write for these changes; none for a change that has no effect."""
    votes = (parse_vote(row, annotator, where) for row, where in sheets.read(annotator))
    last = {vote.id: vote for vote in votes}
    rows = []
    for change in changes:
        before = last.get(change["id"], Vote(change["id"], annotator, {}))
        after = parse_vote(before.as_row() | change, annotator, "this vote")
        if before.seen and after.labels != before.labels:
            what = f"{annotator} has looked at the others' votes on {after.id}, so the vote is final"
            raise DLBenchError(what, fix="discuss it, and settle a tie in settled.jsonl")
        if (after.labels, after.note, after.seen) != (before.labels, before.note, before.seen):
            rows.append(after.as_row())
    return rows


_REQUIRED = {"prompt": "prompt", "accept": "", "reject": "reason"}


@dataclass(frozen=True)
class Review:
    """`prompt` is None while nobody has rewritten the draft. Rewriting it cancels earlier acceptances."""

    prompt: str | None = None
    prompt_by: str = ""
    accepted: tuple[str, ...] = ()
    """The annotators who accepted the current prompt."""
    rejected: dict[str, str] = field(default_factory=dict)
    """The reason of each annotator who rejected it."""

    @property
    def verdict(self) -> str:
        return "rejected" if self.rejected else "accepted" if self.accepted else "open"


def reviews_of(work: WorkFolder) -> Sheets:
    return Sheets(work.root / "reviews")


def read_reviews(source: WorkFolder | Sheets) -> dict[str, Review]:
    sheets = reviews_of(source) if isinstance(source, WorkFolder) else source
    events: list[tuple[str, str, Row]] = []
    latest: dict[str, str] = {}
    for row, annotator, where in sheets.read_all():
        _check_review(row, where)
        # An annotator's rows keep their order even if the clock was set back.
        latest[annotator] = max(latest.get(annotator, ""), str(row.get("at", "")))
        events.append((latest[annotator], annotator, row))
    found: dict[str, Review] = {}
    for _, annotator, row in sorted(events, key=itemgetter(0)):
        found[row["id"]] = _apply_review(found.get(row["id"], Review()), annotator, row)
    return found


def _check_review(row: Row, where: str) -> None:
    require_text(row, "id", where)
    action = row.get("action")
    if not isinstance(action, str) or action not in _REQUIRED:
        raise DLBenchError(f"unknown action {action!r}", where=where, fix=f"use one of: {', '.join(_REQUIRED)}")
    required = _REQUIRED[action]
    if required and not (isinstance(row.get(required), str) and row[required].strip()):
        raise DLBenchError(f"{action} without a {required}", where=where, fix=f"write it as `{required}`")


def _apply_review(review: Review, annotator: str, row: Row) -> Review:
    accepted = tuple(name for name in review.accepted if name != annotator)
    rejected = {name: reason for name, reason in review.rejected.items() if name != annotator}
    match row["action"]:
        case "prompt":
            return replace(review, prompt=row["prompt"], prompt_by=annotator, accepted=())
        case "accept":
            return replace(review, accepted=(*accepted, annotator), rejected=rejected)
        case _:
            return replace(review, accepted=accepted, rejected=rejected | {annotator: row["reason"]})


def write_review(sheets: Sheets, annotator: str, row: Row) -> None:
    """Append a row with the action `prompt`, `accept` or `reject`; it is on disk when this returns."""
    _check_review(row, "this review")
    sheets.append(annotator, row | {"at": now()})
