"""Choose the tests that judge a function, from the tests that ran it.

Tests that call the function directly come first, then tests that run little else; of a parametrized test, a few cases
come before the rest. The total time is limited because answers are judged thousands of times.
"""

import re
from collections import Counter
from collections.abc import Sequence

from dlbench.construction.trace import TracedTest
from dlbench.dataset.records import strip_case

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


def choose_tests(function: int, tests: Sequence[TracedTest[int]], *, most: int = MOST_TESTS) -> list[str]:
    """Ids of the best passing tests that ran the function, in the order in which they ran."""
    cases: Counter[str] = Counter()
    ranked: list[tuple[bool, int, int, float, str]] = []
    for test in tests:
        if test.outcome == "passed" and (function in test.direct or function in test.deeper):
            base = name_group(test.id)
            functions = len(test.direct) + len(test.deeper)
            ranked.append((function not in test.direct, cases[base] // _CASES, functions, test.seconds, test.id))
            cases[base] += 1
    ranked.sort()
    chosen = _choose_within(ranked, most, TARGET_SECONDS, TARGET_SECONDS_FIRST)
    if len(chosen) < min(most, LEAST_TESTS):
        chosen = _choose_within(ranked, LEAST_TESTS, MAX_SECONDS, MAX_SECONDS)
    return [test.id for test in tests if test.id in chosen]


def _choose_within(
    ranked: list[tuple[bool, int, int, float, str]], most: int, seconds: float, seconds_first: float
) -> set[str]:
    """The best tests that together fit the time limits."""
    chosen: set[str] = set()
    spent = 0.0
    for *_, test_seconds, test in ranked:
        limit = seconds if len(chosen) >= _FIRST else seconds_first
        if len(chosen) < most and spent + test_seconds <= limit:
            chosen.add(test)
            spent += test_seconds
    return chosen


def name_group(test: str) -> str:
    """Like `strip_case`, but also group tests that a library has numbered: `test_shape_07_float32`, `testShape7`."""
    head, separator, tail = strip_case(test).rpartition("::")
    return f"{head}{separator}{_NUMBERED.sub('', tail)}"
