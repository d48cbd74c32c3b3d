"""Read and write reviews: rewritten prompts, acceptances and rejections.

Rewriting the prompt cancels earlier acceptances, since it is no longer what was accepted.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from operator import itemgetter

from dlbench.construction.labelling.votes import Sheets, format_time, require_text
from dlbench.construction.work_folder import Row, WorkFolder
from dlbench.errors import DLBenchError

_REQUIRED = {"prompt": "prompt", "accept": "", "reject": "reason"}


@dataclass(frozen=True)
class Review:
    """`prompt` is None while nobody has rewritten the draft."""

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
    """Reviews by function id."""
    sheets = reviews_of(source) if isinstance(source, WorkFolder) else source
    events: list[tuple[str, str, Row]] = []
    for annotator in sheets.annotators():
        latest = ""  # An annotator's rows keep their order even if the clock was set back.
        for number, row in sheets.read(annotator):
            _check(row, f"{sheets.path(annotator)}:{number}")
            latest = max(latest, str(row.get("at", "")))
            events.append((latest, annotator, row))
    found: dict[str, Review] = {}
    for _, annotator, row in sorted(events, key=itemgetter(0)):
        found[row["id"]] = _apply(found.get(row["id"], Review()), annotator, row)
    return found


def _check(row: Row, where: str) -> None:
    require_text(row, "id", where)
    action = row.get("action")
    if not isinstance(action, str) or action not in _REQUIRED:
        raise DLBenchError(f"unknown action {action!r}", where=where, fix=f"use one of: {', '.join(_REQUIRED)}")
    required = _REQUIRED[action]
    if required and not (isinstance(row.get(required), str) and row[required].strip()):
        raise DLBenchError(f"{action} without a {required}", where=where, fix=f"write it as `{required}`")


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
    """Append a row with the action `prompt`, `accept` or `reject`; it is on disk when this returns."""
    _check(row, "this review")
    sheets.append(annotator, row | {"at": format_time(datetime.now(UTC))})
