"""What cannot be an instance, and why not?

One rule for each reason, in the order in which they are asked: where a function stands, whether there is anything in it
to get right, how long it is, what it is about, whether tests can judge it. The first that fits is the reason.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dlbench.construction.screening.measure import FunctionMeasures, measure_function
from dlbench.construction.screening.parsed import Module
from dlbench.construction.screening.triviality import literal_share, name_triviality, only_stores
from dlbench.dataset.target import Function

FEWEST_LINES = 5
MOST_LINES = 120
FEWEST_TESTS = 3
MOST_LITERAL = 0.6
FEWEST_CONSTANTS = 12

Fit = tuple[str, int | float | str]
"""Why a rule fits, in a sentence, and the figure that it went by."""


@dataclass(frozen=True)
class Finding:
    reason: str
    why: str
    figure: int | float | str


@dataclass(frozen=True)
class Case:
    """A function in its module, with what the steps before have found out about it."""

    row: dict[str, Any]
    module: Module
    function: Function
    segment: str

    @cached_property
    def measures(self) -> FunctionMeasures:
        """As the step before found them, where it did: the segment's hash says that it is the same text."""
        known = self.row.get("measures")
        if known:
            return FunctionMeasures(**(known | {"libraries": tuple(known["libraries"])}))
        return measure_function(self.segment, self.module.imports)


def judge(case: Case) -> list[Finding]:
    """Every rule that fits, the one that counts first."""
    found = ((reason, rule(case)) for reason, rule in RULES.items())
    return [Finding(reason, *fits) for reason, fits in found if fits]


def _trivial_delegation(case: Case) -> Fit | None:
    what = name_triviality(case.function)
    return (f"There is nothing in it to get right: {what}.", what) if what else None


def _constructor_of_attributes(case: Case) -> Fit | None:
    if not only_stores(case.function):
        return None
    count = case.measures.statements
    return (f"It keeps its arguments and nothing else ({count} statements).", count)


def _too_short(case: Case) -> Fit | None:
    loc = case.measures.loc
    why = f"It has {loc} lines of code, fewer than {FEWEST_LINES}."
    return (why, loc) if loc < FEWEST_LINES else None


def _too_long(case: Case) -> Fit | None:
    loc = case.measures.loc
    why = f"It has {loc} lines of code, more than {MOST_LINES}."
    return (why, loc) if loc > MOST_LINES else None


def _generated_or_data(case: Case) -> Fit | None:
    if case.module.is_generated:
        return ("A program wrote this file, as a comment at its top says.", "generated")
    share, constants = literal_share(case.function)
    if share < MOST_LITERAL or constants < FEWEST_CONSTANTS:
        return None
    why = f"It is a table: {share:.0%} of its expressions are constants."
    return (why, round(share, 2))


def _not_deep_learning(case: Case) -> Fit | None:
    subject = case.module.subject
    if subject.find_signs(case.row["qualname"], case.function):
        return None
    count = len(subject.words)
    why = f"Its module uses no library for arrays or learning, and hardly speaks of either ({count} of our words)."
    return (why, count)


def _too_few_tests(case: Case) -> Fit | None:
    tests = int(case.row["tests"])
    why = f"{tests} tests execute it, fewer than {FEWEST_TESTS}."
    return (why, tests) if tests < FEWEST_TESTS else None


RULES: dict[str, Callable[[Case], Fit | None]] = {
    "constructor_of_attributes": _constructor_of_attributes,
    "generated_or_data": _generated_or_data,
    "trivial_delegation": _trivial_delegation,
    "too_short": _too_short,
    "too_long": _too_long,
    "not_deep_learning": _not_deep_learning,
    "too_few_tests": _too_few_tests,
}
