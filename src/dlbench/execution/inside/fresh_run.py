"""How are tests run on a module that holds the candidate, from the first import on?

In fresh mode there is nothing before this; in warm mode heavy modules of others are there already. The candidate's own
lines may run as soon as anything is imported, so everything is hidden, sealed and guarded before.

How can tests be imported when nobody may read their files any more?

The files that hold tests are read before anything of the project, and pytest's importer is given what was read; then
they are hidden for good. A candidate that is imported with the project finds them hidden already.

Which files must a candidate not read, and which does pytest need all the same?
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import linecache
import os
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from _pytest import runner
from _pytest.assertion import rewrite

from . import privileges
from .audit import (
    find_guarded,
    guard_modules,
    install,
    list_harness_modules,
    make_access_check,
    make_tampered,
    recognise,
    unload_harness_modules,
)
from .channel import Send
from .control_tests import build_canaries
from .integrity import FindReplaced, check, take_snapshot
from .live_patch import Override
from .pytest_runner import conduct, describe_briefly, make_plugin, new_reports, pytest_arguments
from .return_values import watch


def keep_tests(files: list[str]) -> None:
    """pytest takes these files from memory, each once."""
    kept = {}
    for file in files:
        if file.endswith(".py") and os.path.isfile(file):
            kept[file] = (os.stat(file), Path(file).read_bytes())
    original: Any = rewrite._rewrite_test

    def rewrite_test(fn: Path, config: object) -> tuple[os.stat_result, types.CodeType]:
        found = kept.pop(str(fn), None)
        if found is None:
            unread: tuple[os.stat_result, types.CodeType] = original(fn, config)
            return unread
        facts, source = found
        tree = ast.parse(source, filename=str(fn))
        rewrite.rewrite_asserts(tree, source, str(fn), config)  # type: ignore[arg-type]
        return facts, compile(tree, str(fn), "exec", dont_inherit=True)

    rewrite._rewrite_test = rewrite_test  # type: ignore[assignment]


def disable_current_test_env() -> None:
    """pytest writes the running test's name, parameters and all, where anybody can read it."""
    runner._update_current_test_var = lambda item, when: None


def find_hidden(job: dict[str, Any]) -> list[str]:
    """Files that a candidate must not read: those that hold tests, and the one that holds the reference."""
    return [os.path.join(job["tree"], path) for path in job["hidden"]]


def find_blinded(job: dict[str, Any]) -> list[str]:
    """Those of them that nobody in the process may read."""
    return [os.path.join(job["tree"], path) for path in job["blinded"]]


def find_tests(job: dict[str, Any]) -> list[str]:
    return [path for path in find_hidden(job) if path != os.path.join(job["tree"], job["path"])]


def find_needed(job: dict[str, Any]) -> list[str]:
    """Files that pytest imports for this instance: where its tests are, and what configures them."""
    tests = {os.path.join(job["tree"], test.partition("::")[0]) for test in job["tests"]}
    return [path for path in find_blinded(job) if path in tests or path.endswith("conftest.py")]


def run_imported(send: Send, job: dict[str, Any]) -> None:
    """Collects and runs the tests on a module that holds the candidate; in fresh mode there is nothing before this."""
    path = os.path.join(job["tree"], job["path"])
    ranges = [(first, last) for first, last in job["ranges"]]
    if job["source"] is not None:
        override = Override(path, job["source"])
        sys.meta_path.insert(0, override)
        linecache.cache[path] = (len(job["source"]), None, job["source"].splitlines(keepends=True), path)
    for name in job["framework"]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    keep_tests(find_needed(job))
    disable_current_test_env()
    blindfold = None if job["collect_only"] else privileges.build_blindfold(find_blinded(job), job["readable"])
    if blindfold is not None:
        privileges.enforce(blindfold)
    tampered, known = make_tampered(send, job["allowed"], learn=job["learn"])
    asks = make_access_check(recognise(path, ranges), path, ranges)
    look: FindReplaced = lambda quickly: []  # noqa: E731 - until there is something to look at

    def before_conftests(early_config: pytest.Config) -> None:
        """Later than pytest's own changes to itself, and sooner than the first conftest imports the candidate."""
        nonlocal look
        if job["module"] in sys.modules and not job["collect_only"]:
            send("unguarded")  # what it did meanwhile was not looked at
            os._exit(0)
        look = take_snapshot([], job["tree"])
        if ranges:
            install(asks, tampered, find_hidden(job), guard_modules(find_guarded(find_tests(job))))
        unload_harness_modules(list_harness_modules())

    reports = new_reports()
    send("started")

    def loop(session: pytest.Session) -> None:
        send("collected", tests=[item.nodeid for item in session.items], errors=reports["errors"][:5])
        if session.testsfailed:
            raise session.Interrupted("collection failed")
        check(look, tampered)
        canaries = build_canaries(session)
        describe_briefly(session.items, job["tree"])
        collected = set(sys.modules)
        second = take_snapshot(find_tests(job), job["tree"])
        if ranges:  # the tests' own modules are there only now
            guard_modules(find_guarded(find_tests(job)))(asks, tampered)

        def look_again(quickly: bool) -> list[str]:
            return look(quickly) + second(quickly)

        if ranges and job["watch"]:
            module = sys.modules.get(job["module"])  # some tests import it only when they run
            names = {"__name__": job["module"]} if module is None else module.__dict__
            watch(recognise(path, ranges), names, job["classes"], look_again, tampered)
        conduct(
            session,
            reports,
            canaries,
            send,
            look_again,
            tampered,
            closely=job["watch"] or job["learn"],
            until_failure=job["until_failure"],
        )
        if job["learn"]:
            late = [name for name in _importable(job) if name not in collected]
            heavy = [name for name in _importable(job) if not _is_below(name, job["tree"])]
            own = [name for name in _importable(job) if name in collected and _is_own(name, job)]
            send("learned", allowed=sorted(known), modules=heavy, late=late, own=own)

    plugin = make_plugin([] if job.get("collect_only") else job["tests"], reports, loop)
    # pytest changes itself with `tryfirst` and imports conftests with `trylast`: this is between
    plugin.pytest_load_initial_conftests = before_conftests
    if job.get("collect_only"):
        del plugin.pytest_runtestloop
        plugin.pytest_collection_finish = lambda session: send(
            "collected", tests=[item.nodeid for item in session.items], errors=reports["errors"][:5]
        )
    pytest.main(pytest_arguments(job), plugins=[plugin])
    sys.stdout.flush()
    sys.stderr.flush()
    send("end")
    # threads of a library or of the candidate must not keep the process
    os._exit(0)


def _importable(job: dict[str, Any]) -> list[str]:
    """Modules that another process may import by name, but for tests and what judges them."""
    hidden = set(find_hidden(job))
    names = [name for name, module in list(sys.modules.items()) if issubclass(type(module), types.ModuleType)]
    mine = ("__main__", "__mp_main__", "_virtualenv", "sitecustomize", "usercustomize")
    return [name for name in names if name not in mine and _file(name) not in hidden]


def _file(name: str) -> str:
    return str(getattr(sys.modules.get(name), "__file__", None) or "")


def _is_own(name: str, job: dict[str, Any]) -> bool:
    """A module of the package that is asked about, and no test of it."""
    first, *parts = name.split(".")
    tests = [
        part for part in parts if part.startswith("test") or part.endswith(("_test", "_tests")) or part == "conftest"
    ]
    return first == job["module"].partition(".")[0] and _is_below(name, job["tree"]) and not tests


def _is_below(name: str, folder: str) -> bool:
    return _file(name).startswith(folder + os.sep) or _file(name.partition(".")[0]).startswith(folder + os.sep)
