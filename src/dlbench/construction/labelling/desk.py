"""What may an annotator see, and what may they do?

Their own votes always; the others' only when their own is complete and they have asked to see them, after which it
stands. That is kept here and not in the page: what the page never gets, nobody finds in it. Everything is in files, so
that a reload, a restart or another process shows the same.
"""

from datetime import UTC, datetime
from threading import RLock

from dlbench.construction.labelling.catalogue import Entry, list_files, read_catalogue
from dlbench.construction.labelling.fresh import Fresh
from dlbench.construction.labelling.label import FEWEST, decide, read_settled
from dlbench.construction.labelling.reviews import Review, read_reviews, reviews_of, write_review
from dlbench.construction.labelling.sheets import check_name
from dlbench.construction.labelling.sources import ReadSource, Source
from dlbench.construction.labelling.votes import Vote, cast_vote, read_votes, votes_of, write_moment
from dlbench.construction.work import Row, Work
from dlbench.dataset.labels import AXES
from dlbench.errors import DLBenchError

KEYS = {"stage": "12345", "task": "qwertyu", "data": "asdf"}
_MEASURES = ("loc", "cyclomatic", "cognitive", "mutants", "killed", "seconds")


class UnknownFunction(DLBenchError):
    pass


class Outdated(DLBenchError):
    """What the annotator changes is no longer what they were shown."""


class Desk:
    def __init__(self, work: Work, read_source: ReadSource) -> None:
        self._work = work
        self._read_source = read_source
        self._votes = votes_of(work)
        self._reviews = reviews_of(work)
        self._lock = RLock()
        self._all_functions = Fresh(lambda: list_files(work), lambda: read_catalogue(work))
        self._all_votes = Fresh(lambda: sorted(self._votes.folder.glob("*")), lambda: read_votes(self._votes))
        self._all_reviews = Fresh(lambda: sorted(self._reviews.folder.glob("*")), lambda: read_reviews(self._reviews))

    def explain_labels(self) -> list[Row]:
        return [
            {
                "axis": axis,
                "labels": [
                    {"slug": label, "definition": label.definition, "key": key}
                    for label, key in zip(labels, KEYS[axis], strict=True)
                ],
            }
            for axis, labels in AXES.items()
        ]

    def list_functions(self, annotator: str) -> list[Row]:
        check_name(annotator)
        votes, reviews = self._all_votes(), self._all_reviews()
        decided = {
            labelled.id for labelled in decide(votes, read_settled(self._work.path("settled"))) if labelled.is_decided
        }
        ballots: dict[str, list[Vote]] = {}
        for vote in votes:
            ballots.setdefault(vote.id, []).append(vote)
        return [
            {
                "id": entry.id,
                "project": entry.project,
                "voted": any(vote.annotator == annotator and vote.is_complete for vote in ballots.get(entry.id, ())),
                "votes": sum(vote.is_complete for vote in ballots.get(entry.id, ())),
                "wanted": FEWEST,
                "decided": entry.id in decided,
                "verdict": (review := reviews.get(entry.id, Review())).verdict,
                "rejected_by_me": annotator in review.rejected,
            }
            for entry in self._all_functions().values()
        ]

    def show(self, annotator: str, function: str) -> Row:
        check_name(annotator)
        entry = self._find(function)
        review = self._all_reviews().get(function, Review())
        ballots = [vote for vote in self._all_votes() if vote.id == function]
        mine = next((vote for vote in ballots if vote.annotator == annotator), Vote(function, annotator, {}))
        others = [vote for vote in ballots if vote.annotator != annotator and vote.is_complete]
        return {
            "id": entry.id,
            "path": entry.function.get("path", ""),
            "signature": entry.function.get("signature", ""),
            "measures": {"tests": len(entry.tests)} | _measures(entry),
            "prompt": _prompt(entry, review),
            "prompt_by": review.prompt_by or entry.drafted_by,
            "is_draft": review.prompt is None,
            "accepted": list(review.accepted),
            "rejected": review.rejected,
            "mine": {"labels": mine.labels, "note": mine.note, "complete": mine.is_complete, "seen": mine.seen},
            "others": [_show_vote(vote) for vote in others] if mine.seen else None,
            "others_count": len(others),
        }

    def read_source(self, function: str) -> Source:
        return self._read_source(self._find(function).id)

    def vote(self, annotator: str, function: str, labels: Row, note: str | None) -> None:
        """Any of the axes, and the note; what is not named stays."""
        self._find(function)
        if set(labels) - set(AXES):
            raise DLBenchError("there is no such axis", mend=f"use {', '.join(AXES)}")
        change: Row = {"id": function, **labels, "at": write_moment(datetime.now(UTC))}
        change |= {} if note is None else {"note": note}
        cast_vote(self._votes, annotator, change)

    def reveal(self, annotator: str, function: str) -> None:
        if not self.show(annotator, function)["mine"]["complete"]:
            raise DLBenchError("your own vote is not complete yet", mend="vote on all three axes first")
        cast_vote(self._votes, annotator, {"id": function, "seen": True})

    def rewrite(self, annotator: str, function: str, prompt: str, shown: str) -> None:
        with self._lock:
            entry = self._find(function)
            review = self._all_reviews().get(function, Review())
            now = _prompt(entry, review)
            if now != shown:
                what = f"{review.prompt_by or entry.drafted_by} has changed this prompt meanwhile"
                raise Outdated(what, mend="read theirs; saving again replaces it")
            if prompt != now:
                write_review(self._reviews, annotator, {"id": function, "action": "prompt", "prompt": prompt})

    def accept(self, annotator: str, function: str, shown: str) -> None:
        with self._lock:
            entry = self._find(function)
            now = _prompt(entry, self._all_reviews().get(function, Review()))
            if now != shown:
                raise Outdated("the prompt was changed meanwhile", mend="read it again")
            if not now.strip():
                raise DLBenchError("there is no prompt to accept", mend="write one")
            write_review(self._reviews, annotator, {"id": function, "action": "accept"})

    def reject(self, annotator: str, function: str, reason: str) -> None:
        self._find(function)
        write_review(self._reviews, annotator, {"id": function, "action": "reject", "reason": reason.strip()})

    def _find(self, function: str) -> Entry:
        entry = self._all_functions().get(function)
        if entry is None:
            raise UnknownFunction(f"there is no function {function!r} to review", mend="choose one of the list")
        return entry


def _prompt(entry: Entry, review: Review) -> str:
    return entry.draft if review.prompt is None else review.prompt


def _measures(entry: Entry) -> Row:
    known = entry.function | entry.measured
    return {name: known[name] for name in _MEASURES if isinstance(known.get(name), int | float)}


def _show_vote(vote: Vote) -> Row:
    return {"annotator": vote.annotator, "labels": vote.labels, "note": vote.note}
