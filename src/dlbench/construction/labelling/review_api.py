"""What the review page may ask for: voting on labels, editing prompts, accepting and rejecting functions.

An annotator sees the votes of others only after their own vote is complete and they asked to see them, from when on
their vote is final. The page never receives more. All state is in files, so a reload or a restart shows the same.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from threading import RLock
from typing import TypeVar

from dlbench.construction import Row, WorkFolder
from dlbench.construction.labelling import MIN_VOTES, decide, read_settlements
from dlbench.construction.labelling import votes as records
from dlbench.construction.labelling.catalogue import Entry, ReadSource, Source, list_files, read_catalogue
from dlbench.construction.labelling.votes import Review, Vote
from dlbench.dataset.labels import AXES
from dlbench.errors import DLBenchError

Value = TypeVar("Value")


def cache_by_files(files: Callable[[], Iterable[Path]], read: Callable[[], Value]) -> Callable[[], Value]:
    """Read again only when one of the files changes (by inode, size and modification time)."""
    read_state = lru_cache(maxsize=1)(lambda state: read())

    def read_cached() -> Value:
        # Checked before reading, so that a file which changes meanwhile is read again the next time.
        state = []
        for path in files():
            with suppress(FileNotFoundError):
                status = path.stat()
                state.append((path, status.st_ino, status.st_size, status.st_mtime_ns))
        return read_state(tuple(state))

    return read_cached


KEYS = {"stage": "12345", "task": "qwertyu", "data": "asdf"}
_MEASURES = ("loc", "cyclomatic", "cognitive", "mutants", "killed", "seconds")


class BadRequest(DLBenchError):
    def __init__(self, status: HTTPStatus, what: str, fix: str = "") -> None:
        super().__init__(what, fix=fix)
        self.status = status


class AnnotationApi:
    def __init__(self, work: WorkFolder, read_source: ReadSource) -> None:
        self._work, self._read_source, self._lock = work, read_source, RLock()
        self._votes, self._reviews = records.votes_of(work), records.reviews_of(work)
        votes, reviews = self._votes, self._reviews
        self._all_functions = cache_by_files(lambda: list_files(work), lambda: read_catalogue(work))
        self._all_votes = cache_by_files(lambda: sorted(votes.folder.glob("*")), lambda: records.read_votes(votes))
        self._all_reviews = cache_by_files(
            lambda: sorted(reviews.folder.glob("*")), lambda: records.read_reviews(reviews)
        )

    def explain_labels(self) -> list[Row]:
        def explain(axis: str) -> list[Row]:
            labels = zip(AXES[axis], KEYS[axis], strict=True)
            return [{"slug": label, "definition": label.definition, "key": key} for label, key in labels]

        return [{"axis": axis, "labels": explain(axis)} for axis in AXES]

    def list_functions(self, annotator: str) -> list[Row]:
        records.check_name(annotator)
        votes, reviews = self._all_votes(), self._all_reviews()
        labelled = decide(votes, read_settlements(self._work.path("settled")))
        decided = {one.id for one in labelled if one.is_decided}
        voters: defaultdict[str, set[str]] = defaultdict(set)
        for vote in votes:
            if vote.is_complete:
                voters[vote.id].add(vote.annotator)
        return [
            {
                "id": entry.id,
                "project": entry.project,
                "voted": annotator in voters[entry.id],
                "votes": len(voters[entry.id]),
                "wanted": MIN_VOTES,
                "decided": entry.id in decided,
                "verdict": (review := reviews.get(entry.id, Review())).verdict,
                "rejected_by_me": annotator in review.rejected,
            }
            for entry in self._all_functions().values()
        ]

    def show(self, annotator: str, function: str) -> Row:
        records.check_name(annotator)
        entry = self._find(function)
        review = self._all_reviews().get(function, Review())
        by_function = [vote for vote in self._all_votes() if vote.id == function]
        mine = next((vote for vote in by_function if vote.annotator == annotator), Vote(function, annotator, {}))
        others = [vote for vote in by_function if vote.annotator != annotator and vote.is_complete]
        shown = [{"annotator": vote.annotator, "labels": vote.labels, "note": vote.note} for vote in others]
        known = entry.function | entry.function.get("measures", {}) | entry.measured
        measures = {name: known[name] for name in _MEASURES if isinstance(known.get(name), int | float)}
        return {
            "id": entry.id,
            "path": entry.function.get("path", ""),
            "signature": entry.function.get("signature", ""),
            "measures": {"tests": len(entry.tests)} | measures,
            "prompt": _prompt(entry, review),
            "prompt_by": review.prompt_by or entry.drafted_by,
            "is_draft": review.prompt is None,
            "accepted": list(review.accepted),
            "rejected": review.rejected,
            "mine": {"labels": mine.labels, "note": mine.note, "complete": mine.is_complete, "seen": mine.seen},
            "others": shown if mine.seen else None,
            "others_count": len(others),
        }

    def read_source(self, function: str) -> Source:
        return self._read_source(self._find(function).id)

    def vote(self, annotator: str, function: str, labels: Row, note: str | None) -> None:
        """Set labels on some axes, and the note; everything else stays."""
        self._find(function)
        if set(labels) - set(AXES):
            raise DLBenchError("unknown axis", fix=f"use {', '.join(AXES)}")
        change: Row = {"id": function, **labels, "at": records.now()} | ({} if note is None else {"note": note})
        records.cast_vote(self._votes, annotator, change)

    def reveal(self, annotator: str, function: str) -> None:
        if not self.show(annotator, function)["mine"]["complete"]:
            raise DLBenchError("your own vote is not complete yet", fix="vote on all three axes first")
        records.cast_vote(self._votes, annotator, {"id": function, "seen": True})

    def rewrite(self, annotator: str, function: str, prompt: str, shown: str) -> None:
        with self._lock:
            entry = self._find(function)
            review = self._all_reviews().get(function, Review())
            current = _prompt(entry, review)
            if current != shown:
                what = f"{review.prompt_by or entry.drafted_by} has changed this prompt meanwhile"
                raise BadRequest(HTTPStatus.CONFLICT, what, "read the new prompt; saving again replaces it")
            if prompt != current:
                records.write_review(self._reviews, annotator, {"id": function, "action": "prompt", "prompt": prompt})

    def accept(self, annotator: str, function: str, shown: str) -> None:
        with self._lock:
            entry = self._find(function)
            current = _prompt(entry, self._all_reviews().get(function, Review()))
            if current != shown:
                raise BadRequest(HTTPStatus.CONFLICT, "the prompt has changed meanwhile", "read it again")
            if not current.strip():
                raise DLBenchError("there is no prompt to accept", fix="write one")
            records.write_review(self._reviews, annotator, {"id": function, "action": "accept"})

    def reject(self, annotator: str, function: str, reason: str) -> None:
        self._find(function)
        records.write_review(self._reviews, annotator, {"id": function, "action": "reject", "reason": reason.strip()})

    def _find(self, function: str) -> Entry:
        entry = self._all_functions().get(function)
        if entry is None:
            what = f"there is no function {function!r} to review"
            raise BadRequest(HTTPStatus.NOT_FOUND, what, "choose one of the list")
        return entry


def _prompt(entry: Entry, review: Review) -> str:
    return entry.draft if review.prompt is None else review.prompt
