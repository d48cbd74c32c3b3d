"""Which test runs which function of the project? The truth: the tests are run once, and it is looked at.

A project's tests may hang, crash the interpreter or end it. Each such test is named and passed over, and nothing of
what was seen before is lost.
"""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from dlbench.construction.runs import Run
from dlbench.construction.test_code import list_test_code
from dlbench.execution.candidate import Engine
from dlbench.workspace import Prepared

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
    runs = [_Tracing(engine, prepared, shard, began + seconds, chosen, looks, on_test) for shard in shards]
    with ThreadPoolExecutor(max(1, len(runs))) as threads:
        list(threads.map(Run.go, runs))
    whole = Trace()
    for run in runs:
        whole.left_out += [{"what": what, "why": why} for what, why in run.left_out.items()]
        whole.left_out += [{"what": "the rest", "why": run.rest}] if run.rest else []
        for row, direct, deeper in run.rows:
            own = tuple(sorted(whole.number(place) for place in direct))
            inner = tuple(sorted(whole.number(place) for place in deeper))
            whole.tests.append(TracedTest(row["id"], row["outcome"], row["seconds"], own, inner, row["message"]))
    whole.seconds = time.monotonic() - began
    return whole


class _Tracing(Run):
    def __init__(
        self,
        engine: Engine,
        prepared: Prepared,
        files: list[str],
        deadline: float,
        wanted: set[str],
        looks: bool,
        on_test: Callable[[str], None],
    ) -> None:
        super().__init__(engine, prepared, files, deadline)
        self.wanted, self.looks, self.on_test = wanted, looks, on_test
        self.rows: list[tuple[dict[str, Any], list[Place], list[Place]]] = []
        self.left_out: dict[str, str] = {}
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
            direct, deeper = ([self.places[place] for place in message[key]] for key in ("direct", "deeper"))
            self.rows.append((message, direct, deeper))
            self.on_test(message["id"])

    def leave_out(self, what: str, why: str) -> None:
        self.left_out[what] = why
