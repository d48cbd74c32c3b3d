"""What may somebody see who votes on failures, and what becomes of a vote?

The task, the code, the reference and the same evidence that the rules and a judge get; never what rules, judge or
others made of it, or agreement would be no finding. A vote is on disk when it is answered, in a file of the voter's
own that `dlbench analyze bugs --votes` reads.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from dlbench.analysis.bugs.explain import Explained
from dlbench.analysis.bugs.planting.truth import check_category
from dlbench.analysis.bugs.taxonomy import read_categories
from dlbench.construction.labelling.votes import Sheets
from dlbench.construction.work_folder import Row
from dlbench.errors import DLBenchError

KEYS = "1234567890abde"
_HIDDEN = ("id", "instance", "sample", "status", "passed", "failed", "raised")

ReadReference = Callable[[Explained], str | None]


class UnknownFailure(DLBenchError):
    pass


class Booth:
    def __init__(self, explained: Sequence[Explained], folder: Path, read_reference: ReadReference) -> None:
        self._failures = {one.failure.id: one for one in explained}
        self._sheets = Sheets(folder)
        self._read_reference = read_reference

    def explain_categories(self) -> list[Row]:
        return [
            {"slug": slug, "name": one.name, "meaning": one.meaning, "key": key}
            for key, (slug, one) in zip(KEYS, read_categories().items(), strict=True)
        ]

    def list_failures(self, annotator: str) -> list[Row]:
        mine = self._votes_of(annotator)
        return [
            {"id": one, "status": str(found.failure.verdict["status"]), "voted": one in mine}
            for one, found in self._failures.items()
        ]

    def show(self, annotator: str, failure: str) -> Row:
        one = self._find(failure)
        evidence = one.evidence.as_record()
        told = {name: value for name, value in evidence.items() if value not in ((), "", None) and name not in _HIDDEN}
        return {
            "id": failure,
            "status": str(one.failure.verdict["status"]),
            "outcomes": f"{one.evidence.passed} tests passed, {one.evidence.failed} did not",
            "prompt": one.failure.prompt,
            "code": one.failure.code or "",
            "reference": self._read_reference(one) or "",
            "message": str(one.failure.verdict.get("message", "")),
            "evidence": told,
            "mine": self._votes_of(annotator).get(failure),
        }

    def vote(self, annotator: str, failure: str, category: str, note: str) -> None:
        one = self._find(failure)
        instance, sample = one.failure.key
        row: Row = {"run": one.failure.run, "instance": instance, "sample": sample}
        row |= {"category": check_category(category, "the vote"), "annotator": annotator}
        self._sheets.append(annotator, row | ({"note": note} if note else {}))

    def _find(self, failure: str) -> Explained:
        if failure not in self._failures:
            raise UnknownFailure(f"there is no failure {failure!r}", fix="choose one of the list")
        return self._failures[failure]

    def _votes_of(self, annotator: str) -> dict[str, Row]:
        """The last word on each."""
        found = {}
        for _, row in self._sheets.read(annotator):
            found[f"{row.get('run')}:{row.get('instance')}#{row.get('sample')}"] = {
                "category": row.get("category"),
                "note": row.get("note", ""),
            }
        return found
