"""Run many tests on a tree, split over several sandboxed processes, and keep what a bad end leaves.

A test may crash, hang or end the interpreter. It has failed then; the tests before and after it run again in new
processes. The results of a process count only if it ended in order: its last control tests and its comparison of what
tests judge by come at the end.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from itertools import groupby
from random import Random
from typing import Any

from dlbench.execution.engine import Engine
from dlbench.execution.fresh import find_failed_guard, find_sandbox_failure
from dlbench.execution.inside.channel import OUTCOMES
from dlbench.execution.launch import describe_file_set, describe_limits
from dlbench.execution.sandbox import open_cell
from dlbench.execution.supervise import supervise
from dlbench.runs.verdict import Outcome
from dlbench.workspace import Prepared

_GUESS = 0.05
"""Seconds of a test of which nothing is known."""
_LEAST_SECONDS = 2.0
"""A process is worth its imports if its tests take this long."""
_MOST_STOPS = 12
"""Bad ends after which a worker leaves the rest of its tests."""
_MOST_LOADS = 6
"""The same for ends before the first test, where each may take the whole limit of imports."""
_PATIENCE = 10.0
"""All tests may take this many times what they are known to take."""


@dataclass
class TestRun:
    """What is known of the tests after all processes have ended."""

    outcomes: dict[str, Outcome]
    seconds: dict[str, float] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)
    """Of tests that did not pass: the end of the first few of each process."""
    load_errors: list[str] = field(default_factory=list)
    """Of test files that could not be collected."""
    tampered: str = ""
    failure: str = ""
    """Why the machine cannot judge."""
    learned: set[str] = field(default_factory=set)
    wall_seconds: float = 0.0
    memory_mb: float = 0.0


@dataclass(frozen=True)
class RunOptions:
    workers: int = 1
    answer: tuple[str, ...] = ()
    """Files of the tree that are guarded: their code may not reach for the judge."""
    allowed: tuple[str, ...] = ()
    """What the release's own code accesses and replaces."""
    learn: bool = False
    """Record such accesses of the answer's files instead of ending them."""
    concealed: tuple[str, ...] = ()
    """Places outside the tree that may not be read."""
    expected: Mapping[str, float] = field(default_factory=dict)
    """Seconds of each test, as far as known."""
    shuffle: int | None = None
    """Seed of a random order."""
    progress: Callable[[str], None] | None = None
    """Called after each test; twice for one that runs again after a bad end."""


def run_tests(engine: Engine, prepared: Prepared, tests: Sequence[str], options: RunOptions | None = None) -> TestRun:
    """Run these tests of a tree. A test that is not collected, or that no process could finish, has not run."""
    options = options or RunOptions()
    run = TestRun(dict.fromkeys(tests, Outcome.NOT_RUN))
    began = time.monotonic()
    known = sum(options.expected.get(test, _GUESS) for test in tests)
    deadline = began + engine.limits.load_seconds + _PATIENCE * max(known, engine.limits.test_seconds)
    batches = split_tests(tests, options.expected, options.workers)
    for number, batch in enumerate(batches):
        if options.shuffle is not None:
            Random(f"{options.shuffle} {number}").shuffle(batch)
    parts = [_Part(engine, prepared, options, run, deadline) for _ in batches]
    with ThreadPoolExecutor(max(1, len(batches))) as threads:
        waiting = [
            threads.submit(copy_context().run, part.run, batch) for part, batch in zip(parts, batches, strict=True)
        ]
        for one in waiting:
            one.result()
    run.wall_seconds = time.monotonic() - began
    return run


def split_tests(tests: Sequence[str], expected: Mapping[str, float], workers: int) -> list[list[str]]:
    """As many lists of about equal time as there are workers, or fewer if they are short. The tests of a file stay
    together where they fit; each list keeps the order."""
    cost = {test: max(expected.get(test, _GUESS), 1e-3) for test in tests}
    total = sum(cost.values())
    count = max(1, min(workers, len(tests), round(total / _LEAST_SECONDS)))
    most = total / count
    units: list[list[str]] = []
    for _, group in groupby(tests, lambda test: test.partition("::")[0]):
        unit: list[str] = []
        for test in group:
            if unit and sum(cost[one] for one in unit) + cost[test] > most:
                units.append(unit)
                unit = []
            unit.append(test)
        units.append(unit)
    places = {test: place for place, test in enumerate(tests)}
    loads, batches = [0.0] * count, [list[str]() for _ in range(count)]
    for unit in sorted(units, key=lambda unit: -sum(cost[test] for test in unit)):
        lightest = loads.index(min(loads))
        loads[lightest] += sum(cost[test] for test in unit)
        batches[lightest] += unit
    return [sorted(batch, key=places.__getitem__) for batch in batches if batch]


@dataclass
class _Seen:
    """What one process sent."""

    is_collected: bool = False
    begun: str = ""
    ranks: dict[str, int] = field(default_factory=dict)
    controls: list[int] = field(default_factory=list)
    is_checked: bool = False
    reports: dict[str, dict[str, Any]] = field(default_factory=dict)
    has_ended: bool = False
    load_errors: list[str] = field(default_factory=list)
    learned: list[str] = field(default_factory=list)
    tampered: str = ""
    ready: dict[str, Any] | None = None
    unguarded: bool = False

    def take(self, message: dict[str, Any]) -> None:
        match message["kind"]:
            case "ready":
                self.ready = message
            case "collected":
                self.is_collected, self.load_errors = True, message["errors"]
            case "begins":
                self.begun = message["id"]
            case "outcome" if message["id"] == self.begun:
                self.ranks[self.begun] = max(message["rank"], self.ranks.get(self.begun, 0))
            case "outcome":
                self.controls.append(message["rank"])
            case "test":
                self.reports[message["id"]], self.begun = message, ""
            case "checked":
                self.is_checked = True
            case "learned":
                self.learned = message["allowed"]
            case "tampered":
                self.tampered = message["why"]
            case "unguarded":
                self.unguarded = True
            case "end":
                self.has_ended = True
                if self.is_collected and not self.tampered:
                    self.tampered = find_failed_guard(self.controls, is_checked=self.is_checked)


@dataclass
class _Part:
    """One worker's share of the tests: one process after another. Each part writes the outcomes of its own tests."""

    engine: Engine
    prepared: Prepared
    options: RunOptions
    whole: TestRun
    deadline: float
    stops: int = 0
    loads: int = 0

    def run(self, batch: list[str]) -> None:
        pending = [batch]
        while pending and not self.whole.tampered and not self.whole.failure:
            tests = pending.pop()
            if self.stops >= _MOST_STOPS or self.loads >= _MOST_LOADS or time.monotonic() > self.deadline:
                self._fail(tests, "not run: the tests before it crashed or took too long")
                continue
            seen, why = self._run_process(tests)
            if seen.has_ended and not why:
                self._accept(seen)
            elif why:
                pending += self._divide(tests, seen, why)

    def _run_process(self, tests: list[str]) -> tuple[_Seen, str]:
        """What it sent, and why it ended early; empty if it ended in order or nothing can be judged."""
        options, seen = self.options, _Seen()
        job = describe_file_set(self.prepared, tests, options.answer, options.allowed, options.concealed)
        seconds = [options.expected.get(test, _GUESS) for test in tests]
        limits = self.engine.limits.within(max(self.engine.limits.test_seconds, _PATIENCE * max(seconds)))
        # the limit of processor time is one of all tests together
        together = describe_limits(limits.within(limits.test_seconds + _PATIENCE * sum(seconds)))
        job |= {"learn": options.learn, "limits": together}

        def listen(message: dict[str, Any]) -> bool:
            seen.take(message)
            if options.progress is not None and message["kind"] == "test" and message["id"] in self.whole.outcomes:
                options.progress(message["id"])
            return time.monotonic() < self.deadline and not self.whole.tampered

        with open_cell(self.prepared, None, None, limits) as cell:
            observed = supervise(self.engine.confinement, cell, job, listen)
        self.whole.memory_mb = max(self.whole.memory_mb, observed.memory_mb)
        if failure := find_sandbox_failure(observed, seen.ready, self.engine.confinement):
            self.whole.failure = failure
        elif seen.unguarded:
            self.whole.failure = "a pytest plugin imports the project before it can be guarded"
        elif observed.messages.forged or seen.tampered:
            self.whole.tampered = observed.messages.forged or seen.tampered
        elif observed.stopped_for:
            return seen, f"stopped for {observed.stopped_for}"
        elif not seen.has_ended:
            return seen, f"the process ended (exit code {observed.exit_code}): {observed.output[-600:]}".strip()
        return seen, ""

    def _accept(self, seen: _Seen) -> None:
        for test, report in seen.reports.items():
            if test in self.whole.outcomes:
                # without a report of itself, a test has failed in its setup or teardown
                self.whole.outcomes[test] = Outcome(OUTCOMES[seen.ranks.get(test, -1)])
                self.whole.seconds[test] = report["seconds"]
                if report["message"]:
                    self.whole.messages[test] = report["message"]
        self.whole.load_errors += seen.load_errors
        self.whole.learned.update(seen.learned)

    def _divide(self, tests: list[str], seen: _Seen, why: str) -> list[list[str]]:
        """What is to be run again after a bad end: nothing of it counts, and the guilty test is left out."""
        self.stops += 1
        if seen.begun in tests:
            self._fail([seen.begun], why)
            before = [test for test in tests if test in seen.reports]
            after = [test for test in tests if test not in seen.reports and test != seen.begun]
            return [part for part in (after, before) if part]
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        if seen.is_collected or len(files) == 1:
            self._fail(tests, why)
            return []
        self.loads += 1
        first = set(files[: len(files) // 2])
        halves = [[test for test in tests if (test.partition("::")[0] in first) is one] for one in (False, True)]
        return [half for half in halves if half]

    def _fail(self, tests: list[str], why: str) -> None:
        for test in tests:
            self.whole.outcomes[test] = Outcome.ERROR
            self.whole.messages.setdefault(test, why)
