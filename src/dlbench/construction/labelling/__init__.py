"""Decide labels from annotators' votes and measure their agreement (step 9).

At least three votes on each axis are needed; the label is what more than half of them name. Without a majority nothing
is decided by chance or by file order: the annotators discuss the tie and record the outcome with its reason.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from dlbench.construction import Row
from dlbench.construction.labelling.votes import Vote, parse_label, require_text
from dlbench.dataset.labels import AXES, Label
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines

MIN_VOTES = 3


class Outcome(StrEnum):
    MAJORITY = "majority"
    SETTLED = "settled"
    TIE = "tie"
    TOO_FEW = "too few"


@dataclass(frozen=True)
class Settlement:
    """The outcome of a discussed tie, with its reason."""

    id: str
    axis: str
    value: Label
    reason: str
    where: str = ""


@dataclass(frozen=True)
class Decision:
    outcome: Outcome
    value: Label | None
    votes: tuple[Label, ...]
    """In the order of the annotators' names."""
    reason: str = ""


@dataclass(frozen=True)
class LabelDecision:
    id: str
    axes: dict[str, Decision]

    @property
    def is_decided(self) -> bool:
        return all(decision.value is not None for decision in self.axes.values())

    def as_row(self) -> Row:
        reasons = [f"{axis}: {decision.reason}" for axis, decision in self.axes.items() if decision.reason]
        votes: Row = {axis: list(decision.votes) for axis, decision in self.axes.items()}
        labels = {axis: decision.value for axis, decision in self.axes.items()}
        return {"id": self.id, "labels": labels, "votes": votes | {"reason": "; ".join(reasons)}}


def read_settlements(path: Path) -> list[Settlement]:
    """Read settlements; empty without a file. A later row on the same function and axis replaces an earlier one."""
    last: dict[tuple[str, str], Settlement] = {}
    for number, row in read_lines(path) if path.exists() else ():
        where = f"{path}:{number}"
        value = parse_label(row.get("axis"), row.get("value"), where)
        reason = require_text(row, "reason", where, "write what decided the discussion as `reason`")
        function = require_text(row, "id", where)
        last[function, row["axis"]] = Settlement(function, row["axis"], value, reason.strip(), where)
    return list(last.values())


def decide(votes: Iterable[Vote], settled: Iterable[Settlement] = ()) -> list[LabelDecision]:
    """Raises DLBenchError if a settlement has no votes or contradicts a majority."""
    by_function: defaultdict[str, list[Vote]] = defaultdict(list)
    for vote in sorted(votes, key=lambda vote: (vote.id, vote.annotator)):
        by_function[vote.id].append(vote)
    settlements = {(settlement.id, settlement.axis): settlement for settlement in settled}
    for settlement in settlements.values():
        if settlement.id not in by_function:
            what, fix = f"there are no votes on {settlement.id}", "fix the id, or remove the line"
            raise DLBenchError(what, where=settlement.where, fix=fix)
    return [
        LabelDecision(function, {axis: _decide(axis, cast, settlements.get((function, axis))) for axis in AXES})
        for function, cast in by_function.items()
    ]


def _decide(axis: str, cast: Sequence[Vote], settlement: Settlement | None) -> Decision:
    votes = tuple(vote.labels[axis] for vote in cast if axis in vote.labels)
    if len(votes) < MIN_VOTES:
        return Decision(Outcome.TOO_FEW, None, votes)
    value, count = Counter(votes).most_common(1)[0]
    if 2 * count > len(votes):
        if settlement and settlement.value != value:
            what = f"settled as {settlement.value}, but the majority voted for {value}"
            raise DLBenchError(what, where=settlement.where, fix="remove the line, or let the annotators vote again")
        return Decision(Outcome.MAJORITY, value, votes)
    if settlement:
        return Decision(Outcome.SETTLED, settlement.value, votes, settlement.reason)
    return Decision(Outcome.TIE, None, votes)


def measure_alpha(votes: Iterable[Vote]) -> dict[str, float]:
    """Krippendorff's alpha (nominal) on each axis, and over all axes as `all`.

    NaN if it is undefined: fewer than two votes on every function, or all votes equal. `all` adds up observed and
    expected disagreement over the axes. A single table of all votes would count labels of different axes as possible
    confusions, which no annotator makes, so random votes would seem to agree.
    """
    votes = list(votes)
    alphas: dict[str, float] = {}
    observed = expected = 0.0
    for axis in AXES:
        table = _count(votes, axis)
        alphas[axis] = find_alpha(table, "construct")
        if by_chance := _expected_disagreement(table):
            observed += (1 - alphas[axis]) * by_chance
            expected += by_chance
    return alphas | {"all": 1 - observed / expected if expected else math.nan}


def find_alpha(table: list[list[int]], extra: str) -> float:
    """Nominal, of how often each item got each label; NaN if all votes are equal. `extra`: what to install."""
    try:
        import krippendorff
    except ImportError:
        what, fix = "the package krippendorff is not installed", f"pip install 'dlbench[{extra}]'"
        raise DLBenchError(what, fix=fix) from None
    if not _expected_disagreement(table):
        return math.nan
    return float(krippendorff.alpha(value_counts=table, level_of_measurement="nominal"))


def _count(votes: Iterable[Vote], axis: str) -> list[list[int]]:
    """How often each label was given to each function with at least two votes."""
    counted: defaultdict[str, Counter[Label]] = defaultdict(Counter)
    for vote in votes:
        if axis in vote.labels:
            counted[vote.id][vote.labels[axis]] += 1
    return [[counts[label] for label in AXES[axis]] for counts in counted.values() if counts.total() > 1]


def _expected_disagreement(table: list[list[int]]) -> float:
    """The disagreement expected by chance; 0 if all votes are equal."""
    totals = [sum(column) for column in zip(*table, strict=True)]
    total = sum(totals)
    return (total**2 - sum(count**2 for count in totals)) / (total - 1) if total else 0.0
