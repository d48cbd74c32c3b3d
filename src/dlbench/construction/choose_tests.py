"""Which of the tests that ran a function shall judge it?

Those that call it themselves before those that only pass through it, those that run little else before those that run
everything, and of one parametrised test a few cases before all of them. No more than an instance can afford: a model's
answer is judged thousands of times. The first few may be slower; and where that leaves fewer than an instance must
have, the best so many are taken that keep to the time which an instance may take at all.
"""

import re
from collections import Counter
from collections.abc import Sequence

from dlbench.construction.trace import TracedTest
from dlbench.dataset.records import strip_case as strip_case

MOST_TESTS = 30
MOST_SECONDS = 0.6
"""For all of them together, but for the first few, which may take so long:"""
MOST_FOR_THE_FIRST = 2.0
_FIRST = 5
LEAST_TESTS = 3
"""Of an instance."""
MOST_AT_ALL = 20.0
"""Seconds that they may take together, whatever happens."""
_CASES = 4
_NUMBERED = re.compile(r"(?<=[a-zA-Z])_?\d+(_.*)?$")


def choose_tests(
    function: int, tests: Sequence[TracedTest], *, most: int = MOST_TESTS, seconds: float = MOST_SECONDS
) -> list[str]:
    """Ids of passing tests that ran the function, the best of them, in the order in which they ran."""
    places = {test.id: place for place, test in enumerate(tests)}
    ran = [test for test in tests if test.outcome == "passed" and (function in test.direct or function in test.deeper)]
    cases: Counter[str] = Counter()
    ranked: list[tuple[tuple[bool, int, int, float], TracedTest]] = []
    for test in ran:
        base = name_group(test.id)
        turn = cases[base] // _CASES
        cases[base] += 1
        ranked.append(((function not in test.direct, turn, len(test.direct) + len(test.deeper), test.seconds), test))
    chosen: list[str] = []
    spent = 0.0
    in_order = sorted(ranked, key=lambda pair: (*pair[0], pair[1].id))
    for _, test in in_order:
        if len(chosen) == most:
            break
        limit = seconds if len(chosen) >= _FIRST else max(seconds, MOST_FOR_THE_FIRST)
        if spent + test.seconds <= limit:
            chosen.append(test.id)
            spent += test.seconds
    if len(chosen) < min(most, LEAST_TESTS):
        chosen = _choose_least([pair[1] for pair in in_order])
    return sorted(chosen, key=places.__getitem__)


def _choose_least(ranked: list[TracedTest]) -> list[str]:
    """The best so many that together keep to what is allowed; fewer where there are not so many."""
    chosen: list[str] = []
    spent = 0.0
    for test in ranked:
        if len(chosen) < LEAST_TESTS and spent + test.seconds <= MOST_AT_ALL:
            chosen.append(test.id)
            spent += test.seconds
    return chosen


def name_group(test: str) -> str:
    """The same for tests that a library has numbered: `test_shape_07_float32` and `testShape7` are cases, too.

    What this takes for one test though it is several is only thinned out where there are many of them.
    """
    head, separator, tail = strip_case(test).rpartition("::")
    return f"{head}{separator}{_NUMBERED.sub('', tail)}"
