"""Set up a project and collect its tests with pytest.

If errors name missing packages, these are installed and collection is repeated. A file that still fails, hangs or exits
the interpreter is left out with the reason, and the others are collected without it.
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
from dlbench.construction.selection.case_counts import find_test_functions
from dlbench.construction.selection.source_layout import find_layout, parse
from dlbench.dataset.records import strip_case
from dlbench.errors import DLBenchError
from dlbench.execution.engine import Engine
from dlbench.execution.launch import describe_collection
from dlbench.execution.sandbox import open_cell
from dlbench.execution.supervise import supervise
from dlbench.jsonl import write_whole
from dlbench.workspace import Prepared
from dlbench.workspace.home import Log
from dlbench.workspace.package_index import look_up
from dlbench.workspace.source import fetch

_MAX_CULPRITS = 25


@dataclass
class IsolatedPytestRun(ABC):
    """Run pytest in one process after another until every file and test is done or left out.

    Any file or test may hang, crash or exit the interpreter. The process reports what it starts next; the culprit of a
    bad end is recorded and skipped, and a new process continues with the rest.
    """

    engine: Engine
    prepared: Prepared
    files: list[str]
    deadline: float

    def __post_init__(self) -> None:
        self.files = list(self.files)
        self.skip: set[str] = set()
        """Tests that are not run, or not run again."""
        self.incomplete = ""
        """Why not everything was run."""
        self.output = ""

    @abstractmethod
    def job(self) -> dict[str, Any]:
        """The fields of the process's job that depend on the kind of run."""

    @abstractmethod
    def reset(self) -> None:
        """Discard state that belongs to the previous process."""

    @abstractmethod
    def handle(self, message: dict[str, Any]) -> None:
        """Handle a message from the process."""

    @abstractmethod
    def leave_out(self, what: str, why: str) -> None:
        """Record a file that cannot be collected, or a test that cannot be run."""

    def run(self) -> None:
        culprits = 0
        while self.files and not self.incomplete:
            if time.monotonic() >= self.deadline:
                self.incomplete = "the time limit was reached"
            elif culprits == _MAX_CULPRITS:
                self.incomplete = f"{culprits} files or tests crashed or hung"
            else:
                why = self._run_once()
                if self._has_ended:
                    return
                if why:
                    culprits += 1
                    self._record_culprit(why)

    def _run_once(self) -> str:
        """Why the process ended early; empty if it finished or the time limit was reached."""
        self._file, self._test, self._has_ended = "", "", False
        self.reset()
        job = describe_collection(self.files) | {"mode": "traced", "passed_over": sorted(self.skip)}
        with open_cell(self.prepared, None, None, self.engine.limits) as cell:
            observed = supervise(self.engine.confinement, cell, job | self.job(), self._listen)
        self.output = observed.output
        if observed.stopped_for == "enough":
            return ""
        if observed.stopped_for:
            return f"stopped for {observed.stopped_for}"
        return f"ended the interpreter, exit code {observed.exit_code}: {observed.output[-800:]}"

    def _listen(self, message: dict[str, Any]) -> bool:
        match message["kind"]:
            case "collecting":
                self._file = message["file"]
            case "collected":
                self._file = ""
            case "begins":
                self._test = message["id"]
            case "traced":
                self._test = ""
            case "end":
                self._has_ended = True
        self.handle(message)
        return time.monotonic() < self.deadline

    def _record_culprit(self, why: str) -> None:
        if self._test:
            self.skip.add(self._test)
            self.leave_out(self._test, why)
        elif self._file in self.files:
            self.files.remove(self._file)
            self.leave_out(self._file, f"on import: {why}")
        else:
            self.incomplete = f"pytest did not finish: {why}"


SECONDS = 900.0
NO_TEST = "pytest finds no test in it"
_SKIPS = "skips itself on import: "
_ROUNDS = 4
_MAX_MISSING = 6


@dataclass
class Collected:
    files: list[str]
    tests: list[str] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    """Files that could not be collected, with the reason."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Files that skip themselves on import, with the reason."""
    why: str = ""
    """Why collection is incomplete."""
    ran: set[tuple[str, int]] = field(default_factory=set)
    """Functions that ran on import, by file and first line, if they were traced."""

    def explain(self) -> dict[str, str]:
        """Every file without tests, with the reason, which may be that of a folder above it."""
        known = self.errors | self.skipped
        with_tests = {test.partition("::")[0] for test in self.tests}
        silent = [file for file in self.files if file not in with_tests and file not in known]
        found = dict(known)
        for file in silent:
            above = (why for what, why in known.items() if what and file.startswith(f"{what}/"))
            found[file] = next(above, self.why or NO_TEST)
        if self.why and not silent:
            found["pytest"] = self.why  # pytest failed after all files were collected
        return found


def collect(
    engine: Engine, prepared: Prepared, files: list[str], seconds: float = SECONDS, *, trace: bool = False
) -> Collected:
    """`trace`: record which functions of the tree run on import."""
    run = _CollectRun(engine, _with_plugin(prepared), files, time.monotonic() + seconds, trace)
    run.run()
    found = run.found
    found.why = run.incomplete
    if not found.tests and NO_TEST in found.explain().values():
        found.why = f"pytest found nothing: {run.output[-800:]}"
    return found


def collect_part(engine: Engine, prepared: Prepared, part: str = "", *, trace: bool = False) -> Collected:
    """Collect the project's tests, or those of a folder, file, class or function, with every case of each. `trace`: as
    for `collect`."""
    tree, root = prepared.tree, prepared.project.tests.root
    file = part.partition("::")[0]
    found = [one for one in find_layout(tree, prepared.project.name).tests if root == "." or one.startswith(f"{root}/")]
    collected = collect(engine, prepared, [file] if (tree / file).is_file() else found, trace=trace)
    collected.tests = [test for test in collected.tests if not part or is_part(test, part)]
    return collected


def is_part(test: str, part: str) -> bool:
    """Whether the test belongs to the folder, file, class or function."""
    names = strip_case(test)
    return f"::{part}::" in f"::{names}::" or names.startswith(f"{part.rstrip('/')}/") or test == part


def _with_plugin(prepared: Prepared) -> Prepared:
    """Add the pytest plugin that reports files which skip themselves on import."""
    setup = prepared.project.tests
    setup = setup.model_copy(update={"args": (*setup.args, "-p", "inside.extra.tracing")})
    return replace(prepared, project=prepared.project.model_copy(update={"tests": setup}))


@dataclass
class _CollectRun(IsolatedPytestRun):
    trace: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.found = Collected(list(self.files))

    def job(self) -> dict[str, Any]:
        seconds = self.engine.limits.test_seconds
        return {"collect_only": True, "trace": self.trace, "wanted": [], "seconds_each": seconds}

    def reset(self) -> None:
        self.found.tests = []

    def handle(self, message: dict[str, Any]) -> None:
        if message["kind"] == "items":
            self.found.tests += message["ids"]
        elif message["kind"] == "function":
            self.found.ran.add((message["path"], message["line"]))
        elif message["kind"] == "uncollected":
            self.leave_out(message["file"], message["why"])

    def leave_out(self, what: str, why: str) -> None:
        (self.found.skipped if why.startswith(_SKIPS) else self.found.errors)[what] = why


def list_written_tests(tree: Path, file: str) -> list[str]:
    """Ids of the tests that the text of a file defines, for files that pytest cannot collect."""
    parsed = parse(tree / file)
    found = find_test_functions(parsed) if parsed else ()
    return ["::".join([file, *([owner.name] if owner else []), test.name]) for test, owner in found]


def set_up_and_collect(engine: Engine, spec: ProjectSpec, root: Path, log: Log) -> tuple[Prepared, Collected]:
    """Set up a project and collect its tests, adding the packages that turn out to be missing."""
    project = propose_project(spec, root, log)
    tree = fetch(project, root, log)
    files = find_tests(find_layout(tree, project.name).tests, spec)
    requirements = read_project_requirements(tree, spec.requirements, only_these=spec.only_these)
    lock = root / "locks" / f"{project.environment}.txt"
    best: tuple[Prepared, Collected, str] | None = None
    tried: set[str] = set()
    for _ in range(_ROUNDS):
        try:
            prepared, requirements = set_up(project, requirements, root, log)
        except DLBenchError:
            if best is None:
                raise
            break  # the added packages conflict; the previous environment works
        log(f"collecting the tests of {project.name}")
        found = collect(engine, prepared, files)
        if best is None or len(found.tests) >= len(best[1].tests):
            best = prepared, found, lock.read_text(encoding="utf-8")
        own = {project.name, *(path.name for path in (tree / project.import_root).iterdir())}
        # Packages for which a file skips itself are not added: they are optional by the project's own choice.
        named = [name for name in find_missing([*found.errors.values(), found.why]) if name not in tried | own]
        tried |= set(named)
        if named and (spec.path or spec.git):
            # A module of the user's own must not be replaced by a package of that name on the index.
            undeclared = f"{project.name}: its tests import what it does not declare: {', '.join(named)}"
            log(f"{undeclared}; declare packages there, or as `requirements` in a file for --projects")
            break
        missing = [] if spec.only_these else [name for name in named[:_MAX_MISSING] if _is_on_index(name)]
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
    """Whether the file belongs to the tests: what a test calls there is its own code and cannot become an instance."""
    *folders, name = path.split("/")
    return bool(_FOLDERS & set(folders)) or bool(_FILE.match(name.removesuffix(".py")))


@cache
def list_test_code(tree: Path) -> list[str]:
    paths = [path.relative_to(tree).as_posix() for path in tree.rglob("*.py")]
    return sorted(path for path in paths if is_test_code(path))
