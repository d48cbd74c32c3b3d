"""Which tests has a project, as pytest itself finds them?

Files that pytest cannot import are named with the reason, and what is missing may be had: collecting is tried again
with the packages that the errors name. A file that still cannot be collected gives no tests, nor does one that hangs or
ends the interpreter on import; the others are collected without it.
"""

import re
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dlbench.construction.needs import find_missing, read_requirements
from dlbench.construction.project import Wish, find_tests, propose, set_up
from dlbench.construction.runs import Run
from dlbench.construction.selection.archives import PYTHON
from dlbench.construction.selection.layout import find_layout
from dlbench.errors import DLBenchError
from dlbench.execution.engine import Engine
from dlbench.jsonl import write_whole
from dlbench.workspace import Prepared
from dlbench.workspace.home import Say
from dlbench.workspace.package_index import look_up
from dlbench.workspace.source import fetch

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


class _Collecting(Run):
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


def set_up_and_collect(engine: Engine, wish: Wish, root: Path, say: Say) -> tuple[Prepared, Collected]:
    """From a name to a project whose tests are collected, with what they need found out on the way."""
    project = propose(wish, root, say)
    tree = fetch(project, root, say)
    files = find_tests(find_layout(tree, project.name).tests, wish)
    requirements = read_requirements(tree, wish.requirements, only_these=wish.only_these, python=PYTHON)
    lock = root / "locks" / f"{project.environment}.txt"
    best: tuple[Prepared, Collected, str] | None = None
    tried: set[str] = set()
    for _ in range(_ROUNDS):
        try:
            prepared, requirements = set_up(project, requirements, root, say)
        except DLBenchError:
            if best is None:
                raise
            break  # what was asked for last cannot be had together; what there was before works
        say(f"collecting the tests of {project.name}")
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
