"""Run a project's tests once, record which functions each test executes, and choose the tests that judge a function.

Results go to a journal as they arrive, so they are kept if this process is killed. The journal starts with the subject
of the trace. It lists each function once, before the first test that ran it; a function's number is its index in the
journal, so the journal does not depend on the numbering of the worker processes.
"""

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from dlbench.construction import Row
from dlbench.construction.collect import IsolatedPytestRun, list_test_code
from dlbench.dataset.records import strip_case
from dlbench.execution.engine import Engine
from dlbench.jsonl import Journal
from dlbench.workspace import Prepared

Place = tuple[str, int, str]
"""A function by its file, its first line (decorators included) and its bare name."""
RAN = ("direct", "deeper", "helpers")


Which = TypeVar("Which", Place, int)


@dataclass(frozen=True)
class TracedTest(Generic[Which]):
    """A test with the functions that it ran, by place or by number."""

    id: str
    outcome: str
    seconds: float
    direct: tuple[Which, ...]
    """Functions that the test's own code called, or what it called outside the project."""
    deeper: tuple[Which, ...]
    """Functions that ran only because others of the project called them."""
    message: str = ""


@dataclass(frozen=True)
class JournalEntry(TracedTest[Place]):
    helpers: tuple[Place, ...] = ()
    """Functions of the tests' own code that the test called."""


class TraceJournal:
    """The tests that ran so far and what was left out; backed by a journal file if one is given."""

    def __init__(self, journal: Journal | None = None) -> None:
        self.tests: list[JournalEntry] = []
        self.left_out: dict[str, str] = {}
        """Files and tests that could not be collected or run, with the reason."""
        self._journal, self._lock = journal, Lock()
        self._numbers: dict[Place, int] = {}
        if journal is not None:
            self._read(journal)

    def _read(self, journal: Journal) -> None:
        places: list[Any] = []
        for record in journal.records()[1:]:
            if "place" in record:
                places.append(tuple(record["place"]))
            elif "what" in record:
                self.left_out[record["what"]] = record["why"]
            else:
                ran = {key: tuple(places[number] for number in record.get(key, ())) for key in RAN}
                self.tests.append(JournalEntry(**(record | ran)))
        self._numbers = {place: number for number, place in enumerate(places)}

    def add(self, test: JournalEntry) -> None:
        with self._lock:
            self.tests.append(test)
            places = (*test.direct, *test.deeper, *test.helpers)
            new = [place for place in places if place not in self._numbers]
            self._numbers |= {place: number for number, place in enumerate(new, len(self._numbers))}
            ran = {key: [self._numbers[place] for place in getattr(test, key)] for key in RAN}
            self._append(*({"place": place} for place in new), vars(test) | ran)

    def leave_out(self, what: str, why: str) -> None:
        with self._lock:
            self.left_out[what] = why
            self._append({"what": what, "why": why})

    def _append(self, *rows: Row) -> None:
        if self._journal is not None:
            # Not durable: syncing after each test takes longer than many tests, and a lost test is just run again.
            self._journal.append(*rows, durable=False)


@contextmanager
def open_trace_journal(path: Path, subject: Row) -> Iterator[TraceJournal]:
    """Resume the journal if it has the same subject; otherwise start a new one."""
    with Journal(path) as journal:
        if journal.records()[:1] != [subject]:
            os.truncate(path, 0)
            journal.append(subject)
        yield TraceJournal(journal)


@dataclass
class Trace:
    numbers: dict[Place, int] = field(default_factory=dict, repr=False)
    tests: list[TracedTest[int]] = field(default_factory=list)
    left_out: list[dict[str, str]] = field(default_factory=list)
    """Files and tests that could not be collected or run, with the reason."""
    seconds: float = 0.0

    @property
    def functions(self) -> list[Place]:
        return list(self.numbers)

    def number(self, place: Place) -> int:
        return self.numbers.setdefault(place, len(self.numbers))

    @classmethod
    def from_rows(cls, functions: list[Row], tests: list[Row]) -> "Trace":
        numbers = {tuple(row["place"]): number for number, row in enumerate(functions)}
        ran = ({key: tuple(row[key]) for key in ("direct", "deeper")} for row in tests)
        return cls(numbers, [TracedTest(**(row | lists)) for row, lists in zip(tests, ran, strict=True)])


def trace(
    engine: Engine,
    prepared: Prepared,
    files: list[str],
    *,
    tests: Iterable[str] = (),
    seconds: float = 600.0,
    workers: int = 1,
    profile: bool = True,
    journal: TraceJournal | None = None,
    on_test: Callable[[str], None] = lambda test: None,
) -> Trace:
    """Run the given tests of some files, or all of them. `profile`: record functions, or only run the tests.

    `journal`: results of an earlier start on the same tests, which are not run again; it receives the new results.
    """
    began = time.monotonic()
    journal = journal or TraceJournal()
    selected = set(tests)
    left = selected - {test.id for test in journal.tests} - set(journal.left_out)
    with_tests = set(map(_file_of, left)) if selected else set(files)
    waiting = [file for file in files if file in with_tests and file not in journal.left_out]
    shards = [waiting[index::workers] for index in range(workers) if waiting[index::workers]]
    runs = [
        _TraceRun(engine, prepared, shard, began + seconds, selected, profile, journal, on_test) for shard in shards
    ]
    with ThreadPoolExecutor(max(1, len(runs))) as threads:
        list(threads.map(IsolatedPytestRun.run, runs))
    whole = Trace(left_out=[{"what": what, "why": why} for what, why in journal.left_out.items()])
    whole.left_out += [{"what": "the rest", "why": run.incomplete} for run in runs if run.incomplete]
    # One order, independent of which worker was first and where an earlier start was stopped.
    order = {file: index for index, file in enumerate(files)}
    for test in sorted(journal.tests, key=lambda test: order.get(_file_of(test.id), len(order))):
        direct = tuple(sorted(map(whole.number, test.direct)))
        deeper = tuple(sorted(map(whole.number, test.deeper)))
        whole.tests.append(TracedTest(test.id, test.outcome, test.seconds, direct, deeper, test.message))
    for test in journal.tests:
        for place in test.helpers:  # part of no test, but extraction reports why they are left out
            whole.number(place)
    whole.seconds = time.monotonic() - began
    return whole


def _file_of(test: str) -> str:
    return test.partition("::")[0]


@dataclass
class _TraceRun(IsolatedPytestRun):
    selected: set[str]
    profile: bool
    journal: TraceJournal
    on_test: Callable[[str], None]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.skip = {test.id for test in self.journal.tests} | set(self.journal.left_out)
        self.places: list[Place] = []

    def job(self) -> dict[str, Any]:
        return {
            "trace": self.profile,
            # Below the limit of the supervisor outside, which can only kill the process.
            "seconds_each": 0.8 * self.engine.limits.test_seconds,
            "wanted": sorted(self.selected),
            "hidden": list_test_code(self.prepared.tree),
        }

    def reset(self) -> None:
        self.places = []

    def handle(self, message: dict[str, Any]) -> None:
        kind = message["kind"]
        if kind == "function":
            self.places.append((message["path"], message["line"], message["name"]))
        elif kind == "uncollected":
            self.leave_out(message["file"], f"not collected: {message['why']}")
        elif kind == "traced":
            self.skip.add(message["id"])
            ran = {key: tuple(self.places[number] for number in message[key]) for key in RAN}
            found = {key: message[key] for key in ("id", "outcome", "seconds", "message")}
            self.journal.add(JournalEntry(**(found | ran)))
            self.on_test(message["id"])

    def leave_out(self, what: str, why: str) -> None:
        self.journal.leave_out(what, why)


_MOST_TESTS = 30
_TARGET_SECONDS = 0.6
"""Limit for all tests together, except for the first few:"""
_TARGET_SECONDS_FIRST = 2.0
_FIRST = 5
LEAST_TESTS = 3
"""Minimum number of tests of an instance."""
MAX_SECONDS = 20.0
"""Absolute limit for all tests together."""
_CASES = 4
_NUMBERED = re.compile(r"(?<=[a-zA-Z])_?\d+(_.*)?$")


def choose_tests(function: int, tests: Sequence[TracedTest[int]], *, most: int = _MOST_TESTS) -> list[str]:
    """Ids of the best passing tests that ran the function, in the order in which they ran.

    Tests that call it directly come first, then tests that run little else; of a parametrized test, a few cases come
    before the rest. The total time is limited because answers are judged thousands of times."""
    cases: Counter[str] = Counter()
    ranked: list[tuple[bool, int, int, float, str]] = []
    for test in tests:
        if test.outcome == "passed" and (function in test.direct or function in test.deeper):
            base = name_group(test.id)
            functions = len(test.direct) + len(test.deeper)
            ranked.append((function not in test.direct, cases[base] // _CASES, functions, test.seconds, test.id))
            cases[base] += 1
    ranked.sort()
    chosen = _choose_within(ranked, most, _TARGET_SECONDS, _TARGET_SECONDS_FIRST)
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
