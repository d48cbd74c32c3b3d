"""Which tests has a project, as pytest itself finds them?

Files that pytest cannot import are named with the reason, and what is missing may be had: collecting is tried again
with the packages that the errors name. A file that still cannot be collected gives no tests.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dlbench.construction.needs import find_missing, read_requirements
from dlbench.construction.project import Wish, find_tests, propose, set_up
from dlbench.construction.selection.archives import PYTHON
from dlbench.construction.selection.layout import find_layout
from dlbench.errors import DLBenchError
from dlbench.execution.candidate import Engine
from dlbench.execution.confinement import open_cell
from dlbench.execution.launching import describe_nothing
from dlbench.execution.supervise import supervise
from dlbench.journal import write_whole
from dlbench.workspace import Prepared
from dlbench.workspace.home import Say
from dlbench.workspace.releases import look_up
from dlbench.workspace.source import fetch

_ROUNDS = 4
_MOST_MISSING = 6


@dataclass
class Collected:
    files: list[str]
    tests: list[str] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    """Files that could not be collected, and why."""
    why: str = ""
    """Why collecting did not come to its end."""


def collect(engine: Engine, prepared: Prepared, files: list[str]) -> Collected:
    found = Collected(files)
    has_ended = False

    def listen(message: dict[str, Any]) -> bool:
        nonlocal has_ended
        kind = message["kind"]
        if kind == "items":
            found.tests += message["ids"]
        elif kind == "uncollected":
            found.errors[message["file"]] = message["why"]
        elif kind == "end":
            has_ended = True
        return True

    job = {"mode": "traced", "collect_only": True, "trace": False, "wanted": [], "passed_over": []}
    job["seconds_each"] = engine.limits.test_seconds
    with open_cell(prepared, None, None, engine.limits) as cell:
        watched = supervise(engine.confinement, cell, describe_nothing(files) | job, listen)
    if not has_ended:
        found.why = watched.stopped_for or f"exit code {watched.exit_code}: {watched.output[-800:]}"
    elif not found.tests and not found.errors:
        found.why = f"pytest found nothing: {watched.output[-800:]}"
    return found


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
