"""Which kind of bug is it, by rules that anybody can read?

Every rule looks at the evidence and gives points to a category, with its reason; the category with most points is the
answer, and all reasons are kept. Confidence is the share of the points that speak for the answer, less where few speak
at all: a number to sort by, not a probability.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dlbench.analysis.bugs.categories import OTHER, read_categories
from dlbench.analysis.bugs.evidence import Evidence
from dlbench.analysis.bugs.marks import HINT, STRONG, Mark
from dlbench.analysis.bugs.rules_changes import mark_changes
from dlbench.analysis.bugs.rules_errors import mark_error, mark_names, mark_status

RULES: tuple[Callable[[Evidence], Iterator[Mark]], ...] = (mark_status, mark_error, mark_names, mark_changes)

_OF_ARRAYS = {"misinterpretation", "missing_corner_case", "wrong_input_type", "operation_error", "constant_error"}
"""Whose subcategories speak of tensors: without any in the code, it is the other one."""


@dataclass(frozen=True)
class Classified:
    category: str
    kind: str
    confidence: float
    points: dict[str, float]
    reasons: tuple[str, ...]
    """Of the chosen category, the strongest first."""


def classify(evidence: Evidence) -> Classified:
    # where nothing speaks, the task was misread as far as anybody can tell
    marks = [Mark("misinterpretation", HINT, "nothing says otherwise")]
    marks += [mark for rule in RULES for mark in rule(evidence)]
    points: dict[str, float] = {}
    for mark in marks:
        # the second reason of a kind says little that the first did not
        points[mark.category] = max(points.get(mark.category, 0.0), mark.points) + HINT * (mark.category in points) / 2
    category = max(points, key=lambda one: (points[one], one))
    chosen = sorted((mark for mark in marks if mark.category == category), key=lambda mark: -mark.points)
    kind = next((mark.kind for mark in chosen if mark.kind != OTHER), OTHER)
    if category in _OF_ARRAYS and not evidence.is_numeric:
        kind = OTHER
    known = read_categories()[category].kinds
    strength = min(1.0, points[category] / STRONG)
    return Classified(
        category=category,
        kind=kind if kind in known else OTHER,
        confidence=round(strength * points[category] / sum(points.values()), 3),
        points=points,
        reasons=tuple(dict.fromkeys(mark.reason for mark in chosen)),
    )
