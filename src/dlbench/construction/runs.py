"""How are a project's test files gone through, where any of them may hang, crash the interpreter or end it?

In a process that says what it takes up next. What was under way when it came to a bad end is named and passed over, and
the rest goes on in a new process.
"""

import time
from abc import ABC, abstractmethod
from typing import Any

from dlbench.execution.engine import Engine
from dlbench.execution.launch import describe_nothing
from dlbench.execution.sandbox import open_cell
from dlbench.execution.supervise import supervise
from dlbench.workspace import Prepared

_MOST_CULPRITS = 25


class Run(ABC):
    """One process after another, until every file and test was gone through or named."""

    def __init__(self, engine: Engine, prepared: Prepared, files: list[str], deadline: float) -> None:
        self.engine, self.prepared, self.files, self.deadline = engine, prepared, list(files), deadline
        self.passed_over: set[str] = set()
        """Tests that are not to be run, or not again."""
        self.rest = ""
        """Why not everything was gone through."""
        self.output = ""
        self._file = self._test = ""
        self._has_ended = False

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What the process is to do, beside what every process is told."""

    @abstractmethod
    def begin(self) -> None:
        """A new process starts: what only the one before could go on with is forgotten."""

    @abstractmethod
    def hear(self, message: dict[str, Any]) -> None:
        """What it said beside what it takes up next."""

    @abstractmethod
    def leave_out(self, what: str, why: str) -> None:
        """A file that cannot be collected, or a test that cannot be run."""

    def go(self) -> None:
        culprits = 0
        while self.files and not self.rest:
            if time.monotonic() >= self.deadline:
                self.rest = "the time was up"
            elif culprits == _MOST_CULPRITS:
                self.rest = f"{culprits} files or tests came to a bad end"
            else:
                why = self._run_once()
                if self._has_ended:
                    return
                if why:
                    culprits += 1
                    self._blame(why)

    def _run_once(self) -> str:
        """Why the process did not come to its end, where that was its own doing and not that the time was up."""
        self._file, self._test, self._has_ended = "", "", False
        self.begin()
        job = describe_nothing(self.files) | {"mode": "traced", "passed_over": sorted(self.passed_over)}
        with open_cell(self.prepared, None, None, self.engine.limits) as cell:
            watched = supervise(self.engine.confinement, cell, job | self.describe(), self._listen)
        self.output = watched.output
        if watched.stopped_for == "enough":
            return ""
        if watched.stopped_for:
            return f"stopped for {watched.stopped_for}"
        return f"ended the interpreter, exit code {watched.exit_code}: {watched.output[-800:]}"

    def _listen(self, message: dict[str, Any]) -> bool:
        kind = message["kind"]
        if kind == "collecting":
            self._file = message["file"]
        elif kind == "collected":
            self._file = ""
        elif kind == "begins":
            self._test = message["id"]
        elif kind == "traced":
            self._test = ""
        elif kind == "end":
            self._has_ended = True
        self.hear(message)
        return time.monotonic() < self.deadline

    def _blame(self, why: str) -> None:
        if self._test:
            self.passed_over.add(self._test)
            self.leave_out(self._test, why)
        elif self._file in self.files:
            self.files.remove(self._file)
            self.leave_out(self._file, f"on import: {why}")
        else:
            self.rest = f"pytest did not come to its end: {why}"
