"""Which test runs which function of the project? The truth: the tests are run once, and it is looked at.

A project's tests may hang, crash the interpreter or end it. Each such test is named and passed over, and the rest goes
on in a new process; nothing of what was seen before is lost.
"""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from dlbench.construction.test_code import list_test_code
from dlbench.execution.candidate import Engine
from dlbench.execution.confinement import open_cell
from dlbench.execution.launching import describe_nothing
from dlbench.execution.supervise import supervise
from dlbench.workspace import Prepared

_MOST_CULPRITS = 25

Place = tuple[str, int, str]
"""A function by its file, the line on which it begins (decorators included) and its bare name."""


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
    on_test: Callable[[str], None] = lambda test: None,
) -> Trace:
    """Runs the tests of some files, those wanted or all. `looks`: whether functions are noted, or tests only run."""
    began = time.monotonic()
    chosen = set(wanted)
    shards = [files[place::workers] for place in range(workers) if files[place::workers]]
    runs = [_Run(engine, prepared, shard, chosen, began + seconds, looks, on_test) for shard in shards]
    with ThreadPoolExecutor(max(1, len(runs))) as threads:
        list(threads.map(_Run.go, runs))
    whole = Trace()
    for run in runs:
        whole.left_out += run.left_out
        for row, direct, deeper in run.rows:
            own = tuple(sorted(whole.number(place) for place in direct))
            inner = tuple(sorted(whole.number(place) for place in deeper))
            whole.tests.append(TracedTest(row["id"], row["outcome"], row["seconds"], own, inner, row["message"]))
    whole.seconds = time.monotonic() - began
    return whole


class _Run:
    """One process after another, until every test was run or named."""

    def __init__(
        self,
        engine: Engine,
        prepared: Prepared,
        files: list[str],
        wanted: set[str],
        deadline: float,
        looks: bool,
        on_test: Callable[[str], None],
    ) -> None:
        self.engine, self.prepared, self.files, self.wanted = engine, prepared, list(files), wanted
        self.deadline, self.looks, self.on_test = deadline, looks, on_test
        self.rows: list[tuple[dict[str, Any], list[Place], list[Place]]] = []
        self.left_out: list[dict[str, str]] = []
        self.done: set[str] = set()
        self.places: list[Place] = []
        self.file = self.test = ""
        self.has_ended = False

    def go(self) -> None:
        for _ in range(_MOST_CULPRITS):
            if not self.files or time.monotonic() > self.deadline:
                break
            self.places, self.file, self.test, self.has_ended = [], "", "", False
            why = self._run_once()
            if self.has_ended:
                return
            if why == "enough":
                break
            self._blame(why)
        else:
            self._leave_out("the rest", f"{_MOST_CULPRITS} tests ended the interpreter")
            return
        if not self.has_ended and self.files:
            self._leave_out("the rest", "the time was up")

    def _run_once(self) -> str:
        job = describe_nothing(self.files) | {
            "mode": "traced",
            "trace": self.looks,
            # a little sooner than whoever waits outside, who can only end the process
            "seconds_each": 0.8 * self.engine.limits.test_seconds,
            "wanted": sorted(self.wanted),
            "passed_over": sorted(self.done),
            "hidden": list_test_code(self.prepared.tree),
        }
        with open_cell(self.prepared, None, None, self.engine.limits) as cell:
            watched = supervise(self.engine.confinement, cell, job, self._listen)
        if watched.stopped_for:
            return watched.stopped_for
        return f"exit code {watched.exit_code}: {watched.output[-500:]}"

    def _listen(self, message: dict[str, Any]) -> bool:
        kind = message["kind"]
        if kind == "function":
            self.places.append((message["path"], message["line"], message["name"]))
        elif kind == "collecting":
            self.file = message["file"]
        elif kind == "uncollected":
            self._leave_out(message["file"], f"not collected: {message['why']}")
        elif kind == "begins":
            self.test, self.file = message["id"], ""
        elif kind == "traced":
            self.done.add(message["id"])
            self.test = ""
            direct, deeper = ([self.places[place] for place in message[key]] for key in ("direct", "deeper"))
            self.rows.append((message, direct, deeper))
            self.on_test(message["id"])
        elif kind == "end":
            self.has_ended = True
        return time.monotonic() < self.deadline

    def _blame(self, why: str) -> None:
        if self.test:
            self.done.add(self.test)
            self._leave_out(self.test, f"ended the interpreter: {why}")
        elif self.file in self.files:
            self.files.remove(self.file)
            self._leave_out(self.file, f"ended the interpreter on import: {why}")
        else:
            self._leave_out("the rest", f"pytest did not come to the tests: {why}")
            self.files = []

    def _leave_out(self, what: str, why: str) -> None:
        row = {"what": what, "why": why[-1500:]}
        if row not in self.left_out:
            self.left_out.append(row)
