"""What became of a function's prompt, and is the function wanted at all?

Annotators rewrite the prompt, accept the function with the prompt as it stands, or reject it for a reason. A prompt
that was rewritten after somebody accepted it is not what they accepted, so that acceptance no longer counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from dlbench.construction.labelling.votes import Sheets
from dlbench.construction.work_folder import Row, WorkFolder
from dlbench.errors import DLBenchError

_NEEDS = {"prompt": "prompt", "accept": "", "reject": "reason"}


@dataclass(frozen=True)
class Review:
    """`prompt` is None while the draft stands."""

    prompt: str | None = None
    prompt_by: str = ""
    accepted: tuple[str, ...] = ()
    """The annotators who accepted the prompt as it now stands."""
    rejected: dict[str, str] = field(default_factory=dict)
    """By annotator, why."""

    @property
    def verdict(self) -> str:
        return "rejected" if self.rejected else "accepted" if self.accepted else "open"


def reviews_of(work: WorkFolder) -> Sheets:
    return Sheets(work.root / "reviews")


def read_reviews(source: WorkFolder | Sheets) -> dict[str, Review]:
    """By id of the function."""
    sheets = reviews_of(source) if isinstance(source, WorkFolder) else source
    found: dict[str, Review] = {}
    for _, annotator, row in sorted(_read(sheets), key=lambda moment: moment[0]):
        found[row["id"]] = _apply(found.get(row["id"], Review()), annotator, row)
    return found


def _read(sheets: Sheets) -> Iterator[tuple[str, str, Row]]:
    """When, who, what. An annotator's rows keep their order, whatever the clock did meanwhile."""
    for annotator in sheets.annotators():
        latest = ""
        for number, row in sheets.read(annotator):
            _check(row, f"{sheets.path(annotator)}:{number}")
            latest = max(latest, str(row.get("at", "")))
            yield latest, annotator, row


def _check(row: Row, where: str) -> None:
    action = row.get("action")
    if not isinstance(row.get("id"), str) or not row["id"]:
        raise DLBenchError("it does not say what was reviewed", where=where, fix="give the id of a function as `id`")
    if not isinstance(action, str) or action not in _NEEDS:
        raise DLBenchError(f"there is no action {action!r}", where=where, fix=f"use one of: {', '.join(_NEEDS)}")
    needed = _NEEDS[action]
    if needed and not (isinstance(row.get(needed), str) and row[needed].strip()):
        raise DLBenchError(f"{action} without a {needed}", where=where, fix=f"write it as `{needed}`")


def _apply(review: Review, annotator: str, row: Row) -> Review:
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
    """One of `prompt`, `accept` and `reject`, with what it needs; on disk when this returns."""
    _check(row, "this review")
    sheets.append(annotator, row | {"at": datetime.now(UTC).isoformat(timespec="microseconds")})
