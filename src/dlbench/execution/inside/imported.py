"""How are tests run on a module that holds the candidate, from the first import on?

In fresh mode there is nothing before this; in warm mode heavy modules of others are there already. The candidate's own
lines may run as soon as anything is imported, so everything is hidden, sealed and guarded before.
"""

from __future__ import annotations

import contextlib
import importlib
import linecache
import os
import sys
import types
from typing import Any

import pytest

from . import privileges
from .asking import make_asks, recognise
from .canaries import build_canaries
from .channel import Send
from .failures import describe_briefly
from .files import find_blinded, find_hidden, find_needed, find_tests
from .finding_out import find_us, forget_us, make_tampered
from .guard import find_guarded, guard_modules, install
from .judge import conduct, make_plugin, new_reports, pytest_arguments
from .seal import Look, check, seal
from .sources import keep_tests, tell_nobody
from .taking import Override
from .values import watch


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
    tell_nobody()
    blindfold = None if job["collect_only"] else privileges.build_blindfold(find_blinded(job), job["readable"])
    if blindfold is not None:
        privileges.put_on(blindfold)
    tampered, known = make_tampered(send, job["allowed"], learn=job["learn"])
    asks = make_asks(recognise(path, ranges), path, ranges)
    look: Look = lambda quickly: []  # noqa: E731 - until there is something to look at

    def before_conftests(early_config: pytest.Config) -> None:
        """Later than pytest's own changes to itself, and sooner than the first conftest imports the candidate."""
        nonlocal look
        if job["module"] in sys.modules and not job["collect_only"]:
            send("unguarded")  # what it did meanwhile was not looked at
            os._exit(0)
        look = seal([], job["tree"])
        if ranges:
            install(asks, tampered, find_hidden(job), guard_modules(find_guarded(find_tests(job))))
        forget_us(find_us())

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
        second = seal(find_tests(job), job["tree"])
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
