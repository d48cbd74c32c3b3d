"""Choose the tests that judge a function, from the tests that ran it.

Tests that call the function directly come first, then tests that run little else; of a parametrized test, a few cases
come before the rest. The total time is limited because answers are judged thousands of times. The first few tests may
be slower; if fewer tests remain than an instance needs, the best ones within the absolute limit are taken.
"""

import re
from collections import Counter
from collections.abc import Sequence

from dlbench.construction.trace import TracedTest
from dlbench.dataset.records import strip_case as strip_case

MOST_TESTS = 30
TARGET_SECONDS = 0.6
"""Limit for all tests together, except for the first few:"""
TARGET_SECONDS_FIRST = 2.0
_FIRST = 5
LEAST_TESTS = 3
"""Minimum number of tests of an instance."""
MAX_SECONDS = 20.0
"""Absolute limit for all tests together."""
_CASES = 4
_NUMBERED = re.compile(r"(?<=[a-zA-Z])_?\d+(_.*)?$")


def choose_tests(
    function: int, tests: Sequence[TracedTest], *, most: int = MOST_TESTS, seconds: float = TARGET_SECONDS
) -> list[str]:
    """Ids of the best passing tests that ran the function, in the order in which they ran."""
    order = {test.id: index for index, test in enumerate(tests)}
    ran = [test for test in tests if test.outcome == "passed" and (function in test.direct or function in test.deeper)]
    cases: Counter[str] = Counter()
    ranked: list[tuple[tuple[bool, int, int, float], TracedTest]] = []
    for test in ran:
        base = name_group(test.id)
        batch = cases[base] // _CASES
        cases[base] += 1
        ranked.append(((function not in test.direct, batch, len(test.direct) + len(test.deeper), test.seconds), test))
    chosen: list[str] = []
    spent = 0.0
    in_order = sorted(ranked, key=lambda pair: (*pair[0], pair[1].id))
    for _, test in in_order:
        if len(chosen) == most:
            break
        limit = seconds if len(chosen) >= _FIRST else max(seconds, TARGET_SECONDS_FIRST)
        if spent + test.seconds <= limit:
            chosen.append(test.id)
            spent += test.seconds
    if len(chosen) < min(most, LEAST_TESTS):
        chosen = _choose_least([pair[1] for pair in in_order])
    return sorted(chosen, key=order.__getitem__)


def _choose_least(ranked: list[TracedTest]) -> list[str]:
    """The best tests that together fit the absolute time limit, at most the minimum number."""
    chosen: list[str] = []
    spent = 0.0
    for test in ranked:
        if len(chosen) < LEAST_TESTS and spent + test.seconds <= MAX_SECONDS:
            chosen.append(test.id)
            spent += test.seconds
    return chosen


def name_group(test: str) -> str:
    """Like `strip_case`, but also group tests that a library has numbered: `test_shape_07_float32`, `testShape7`.

    A wrong grouping only thins out the tests if there are many of them.
    """
    head, separator, tail = strip_case(test).rpartition("::")
    return f"{head}{separator}{_NUMBERED.sub('', tail)}"
