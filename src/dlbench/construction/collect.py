"""Which tests has a project, as pytest itself finds them?

Files that pytest cannot import are named with the reason, and what is missing may be had: collecting is tried again
with the packages that the errors name. A file that still cannot be collected gives no tests, nor does one that hangs or
ends the interpreter on import; the others are collected without it.

How are a project's test files gone through, where any of them may hang, crash the interpreter or end it?

In a process that says what it takes up next. What was under way when it came to a bad end is named and passed over, and
the rest goes on in a new process.

Which files of a tree are there for its tests?

By name and place, as pytest and people go by them: what a test calls in such a file is the test's own, and no function
in it can become an instance.
"""

import re
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from dlbench.construction.project_spec import (
    ProjectSpec,
    find_missing,
    find_tests,
    propose_project,
    read_project_requirements,
    set_up,
)
from dlbench.construction.selection.releases import PYTHON
from dlbench.construction.selection.source_layout import find_layout
from dlbench.errors import DLBenchError
from dlbench.execution.engine import Engine
from dlbench.execution.launch import describe_nothing
from dlbench.execution.sandbox import open_cell
from dlbench.execution.supervise import supervise
from dlbench.jsonl import write_whole
from dlbench.workspace import Prepared
from dlbench.workspace.home import Log
from dlbench.workspace.package_index import look_up
from dlbench.workspace.source import fetch

_MOST_CULPRITS = 25


class IsolatedPytestRun(ABC):
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


SECONDS = 900.0
NO_TEST = "pytest finds no test in it"
_SKIPS = "skips itself on import: "
_ROUNDS = 4
_MOST_MISSING = 6


@dataclass
class Collected:
    files: list[str]
    tests: list[str] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    """Files that could not be collected, and why."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Files that skip themselves on import, and why."""
    why: str = ""
    """Why collecting did not come to its end."""

    def explain(self) -> dict[str, str]:
        """All that gave no tests, and why: no file is lost without a reason."""
        known = self.errors | self.skipped
        with_tests = {test.partition("::")[0] for test in self.tests}
        silent = [file for file in self.files if file not in with_tests and file not in known]
        found = known | {file: _find_above(file, known) or self.why or NO_TEST for file in silent}
        if self.why and not silent:
            found["pytest"] = self.why  # all files were gone through, and still it ended badly
        return found


def _find_above(file: str, known: dict[str, str]) -> str:
    """What stands against the folder that a file is in."""
    return next((why for what, why in known.items() if what and file.startswith(f"{what}/")), "")


def collect(engine: Engine, prepared: Prepared, files: list[str], seconds: float = SECONDS) -> Collected:
    run = _Collecting(engine, _with_plugin(prepared), files, time.monotonic() + seconds)
    run.go()
    found = run.found
    found.why = run.rest
    if not found.tests and NO_TEST in found.explain().values():
        found.why = f"pytest found nothing: {run.output[-800:]}"
    return found


def _with_plugin(prepared: Prepared) -> Prepared:
    """With one more plugin for pytest, as if the project's record asked for it."""
    setup = prepared.project.tests
    setup = setup.model_copy(update={"args": (*setup.args, "-p", "inside.collecting.skipped")})
    return replace(prepared, project=prepared.project.model_copy(update={"tests": setup}))


class _Collecting(IsolatedPytestRun):
    def __init__(self, engine: Engine, prepared: Prepared, files: list[str], deadline: float) -> None:
        super().__init__(engine, prepared, files, deadline)
        self.found = Collected(files)

    def describe(self) -> dict[str, Any]:
        return {"collect_only": True, "trace": False, "wanted": [], "seconds_each": self.engine.limits.test_seconds}

    def begin(self) -> None:
        self.found.tests = []

    def hear(self, message: dict[str, Any]) -> None:
        if message["kind"] == "items":
            self.found.tests += message["ids"]
        elif message["kind"] == "uncollected":
            self.leave_out(message["file"], message["why"])

    def leave_out(self, what: str, why: str) -> None:
        (self.found.skipped if why.startswith(_SKIPS) else self.found.errors)[what] = why


def set_up_and_collect(engine: Engine, wish: ProjectSpec, root: Path, log: Log) -> tuple[Prepared, Collected]:
    """From a name to a project whose tests are collected, with what they need found out on the way."""
    project = propose_project(wish, root, log)
    tree = fetch(project, root, log)
    files = find_tests(find_layout(tree, project.name).tests, wish)
    requirements = read_project_requirements(tree, wish.requirements, only_these=wish.only_these, python=PYTHON)
    lock = root / "locks" / f"{project.environment}.txt"
    best: tuple[Prepared, Collected, str] | None = None
    tried: set[str] = set()
    for _ in range(_ROUNDS):
        try:
            prepared, requirements = set_up(project, requirements, root, log)
        except DLBenchError:
            if best is None:
                raise
            break  # what was asked for last cannot be had together; what there was before works
        log(f"collecting the tests of {project.name}")
        found = collect(engine, prepared, files)
        if best is None or len(found.tests) >= len(best[1].tests):
            best = prepared, found, lock.read_text(encoding="utf-8")
        own = {project.name, *(path.name for path in (tree / project.import_root).iterdir())}
        # not what a file skips itself for: that it does without is the project's own choice
        wanted = [name for name in find_missing([*found.errors.values(), found.why]) if name not in tried | own]
        tried |= set(wanted)
        missing = [] if wish.only_these else [name for name in wanted[:_MOST_MISSING] if _is_on_index(name)]
        if not missing:
            break
        requirements = [*requirements, *missing]
    assert best is not None
    write_whole(lock, best[2])
    return best[0], best[1]


def _is_on_index(requirement: str) -> bool:
    try:
        look_up(re.split(r"[<>=!~ ]", requirement, maxsplit=1)[0])
    except DLBenchError:
        return False
    return True


_FOLDERS = frozenset({"test", "tests", "testing", "_tests", "_test", "testutils", "test_utils"})
_FILE = re.compile(r"^(test_.*|.*_test|.*_tests|conftest|test_?utils?|testing_?utils?|tests)$")


def is_test_code(path: str) -> bool:
    *folders, name = path.split("/")
    return bool(_FOLDERS & set(folders)) or bool(_FILE.match(name.removesuffix(".py")))


@cache
def list_test_code(tree: Path) -> list[str]:
    paths = [path.relative_to(tree).as_posix() for path in tree.rglob("*.py")]
    return sorted(path for path in paths if is_test_code(path))
