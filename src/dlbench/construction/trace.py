"""Which test runs which function of the project? The truth: the tests are run once, and it is looked at.

A project's tests may hang, crash the interpreter or end it. Each such test is named and passed over, and nothing of
what was seen before is lost; nor is it where we are killed ourselves.

How does a trace outlive a kill?

What each test ran is put down as it comes, in a journal that begins with what it is a trace of. A function stands there
once, before the first test that ran it, and its number is its place among the functions of the journal: whichever
process the numbers on the channel belonged to, the journal says everything by itself.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from dlbench.construction.collect import IsolatedPytestRun, list_test_code
from dlbench.construction.work_folder import Row
from dlbench.execution.engine import Engine
from dlbench.jsonl import Journal
from dlbench.workspace import Prepared

Place = tuple[str, int, str]
"""A function by its file, the line on which it begins (decorators included) and its bare name."""
RAN = ("direct", "deeper", "helpers")


@dataclass(frozen=True)
class JournalEntry:
    id: str
    outcome: str
    seconds: float
    direct: tuple[Place, ...]
    """Functions that the test's own code called, or what it called outside the project."""
    deeper: tuple[Place, ...]
    """Functions that ran only because others of the project called them."""
    helpers: tuple[Place, ...]
    """Functions of the tests' own code that the test called."""
    message: str


class TraceJournal:
    """The tests that ran so far and what was left out; put down where there is a journal, and read from it first."""

    def __init__(self, journal: Journal | None = None) -> None:
        self.tests: list[JournalEntry] = []
        self.left_out: dict[str, str] = {}
        """What could not be collected or run, and why."""
        self._journal, self._lock = journal, Lock()
        self._numbers: dict[Place, int] = {}
        if journal is not None:
            self._read(journal)

    def _read(self, journal: Journal) -> None:
        places: list[Place] = []
        for record in journal.records()[1:]:
            if "place" in record:
                path, line, name = record["place"]
                places.append((path, line, name))
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
            ran = {key: self._number(getattr(test, key)) for key in RAN}
            self._put(*({"place": place} for place in new), vars(test) | ran)

    def leave_out(self, what: str, why: str) -> None:
        with self._lock:
            self.left_out[what] = why
            self._put({"what": what, "why": why})

    def _number(self, places: tuple[Place, ...]) -> list[int]:
        return [self._numbers.setdefault(place, len(self._numbers)) for place in places]

    def _put(self, *rows: Row) -> None:
        if self._journal is not None:
            # a test that a power cut takes is run again; to wait for the disk after each takes longer than many tests
            self._journal.append(*rows, durable=False)


@contextmanager
def open_trace_journal(path: Path, subject: Row) -> Iterator[TraceJournal]:
    """What is kept there, where it was seen of the same; where it was of something else, it is begun anew."""
    with Journal(path) as journal:
        if journal.records()[:1] != [subject]:
            os.truncate(path, 0)
            journal.append(subject)
        yield TraceJournal(journal)


@dataclass(frozen=True)
class TracedTest:
    id: str
    outcome: str
    seconds: float
    direct: tuple[int, ...]
    """Functions that the test's own code called, or what it called outside the project."""
    deeper: tuple[int, ...]
    """Functions that ran only because others of the project called them."""
    message: str = ""


@dataclass
class Trace:
    numbers: dict[Place, int] = field(default_factory=dict, repr=False)
    tests: list[TracedTest] = field(default_factory=list)
    left_out: list[dict[str, str]] = field(default_factory=list)
    """What could not be collected or run, and why."""
    seconds: float = 0.0

    @property
    def functions(self) -> list[Place]:
        return list(self.numbers)

    def number(self, place: Place) -> int:
        return self.numbers.setdefault(place, len(self.numbers))


def trace(
    engine: Engine,
    prepared: Prepared,
    files: list[str],
    *,
    wanted: Iterable[str] = (),
    seconds: float = 600.0,
    workers: int = 1,
    looks: bool = True,
    seen: TraceJournal | None = None,
    on_test: Callable[[str], None] = lambda test: None,
) -> Trace:
    """Runs the tests of some files, those wanted or all. `looks`: whether functions are noted, or tests only run.

    `seen`: what an earlier start saw of the same tests, which are not run again; it takes what is seen now.
    """
    began = time.monotonic()
    seen = seen or TraceJournal()
    chosen = set(wanted)
    waiting = _list_waiting(files, chosen, seen)
    shards = [waiting[place::workers] for place in range(workers) if waiting[place::workers]]
    runs = [_Tracing(engine, prepared, shard, began + seconds, chosen, looks, seen, on_test) for shard in shards]
    with ThreadPoolExecutor(max(1, len(runs))) as threads:
        list(threads.map(IsolatedPytestRun.go, runs))
    whole = Trace(left_out=[{"what": what, "why": why} for what, why in seen.left_out.items()])
    whole.left_out += [{"what": "the rest", "why": run.rest} for run in runs if run.rest]
    # in one order, whichever worker came first and wherever an earlier start was stopped
    places = {file: place for place, file in enumerate(files)}
    for test in sorted(seen.tests, key=lambda test: places.get(_name_file(test.id), len(places))):
        own = tuple(sorted(map(whole.number, test.direct)))
        inner = tuple(sorted(map(whole.number, test.deeper)))
        whole.tests.append(TracedTest(test.id, test.outcome, test.seconds, own, inner, test.message))
    for test in seen.tests:
        for place in test.helpers:  # under no test, but extracting says why they are left out
            whole.number(place)
    whole.seconds = time.monotonic() - began
    return whole


def _list_waiting(files: list[str], wanted: set[str], seen: TraceJournal) -> list[str]:
    """Files in which something is left to do."""
    left = wanted - {test.id for test in seen.tests} - set(seen.left_out)
    with_tests = set(map(_name_file, left)) if wanted else set(files)
    return [file for file in files if file in with_tests and file not in seen.left_out]


def _name_file(test: str) -> str:
    return test.partition("::")[0]


class _Tracing(IsolatedPytestRun):
    def __init__(
        self,
        engine: Engine,
        prepared: Prepared,
        files: list[str],
        deadline: float,
        wanted: set[str],
        looks: bool,
        seen: TraceJournal,
        on_test: Callable[[str], None],
    ) -> None:
        super().__init__(engine, prepared, files, deadline)
        self.wanted, self.looks, self.seen, self.on_test = wanted, looks, seen, on_test
        self.passed_over = {test.id for test in seen.tests} | set(seen.left_out)
        self.places: list[Place] = []

    def describe(self) -> dict[str, Any]:
        return {
            "trace": self.looks,
            # a little sooner than whoever waits outside, who can only end the process
            "seconds_each": 0.8 * self.engine.limits.test_seconds,
            "wanted": sorted(self.wanted),
            "hidden": list_test_code(self.prepared.tree),
        }

    def begin(self) -> None:
        self.places = []

    def hear(self, message: dict[str, Any]) -> None:
        kind = message["kind"]
        if kind == "function":
            self.places.append((message["path"], message["line"], message["name"]))
        elif kind == "uncollected":
            self.leave_out(message["file"], f"not collected: {message['why']}")
        elif kind == "traced":
            self.passed_over.add(message["id"])
            ran = {key: tuple(self.places[place] for place in message[key]) for key in RAN}
            found = {key: message[key] for key in ("id", "outcome", "seconds", "message")}
            self.seen.add(JournalEntry(**(found | ran)))
            self.on_test(message["id"])

    def leave_out(self, what: str, why: str) -> None:
        self.seen.leave_out(what, why)
