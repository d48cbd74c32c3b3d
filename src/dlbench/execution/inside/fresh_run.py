"""Collect and run tests on a module that holds the candidate, from the first import on.

The candidate's lines may run as soon as the project is imported, so the files of tests are hidden, the integrity
snapshot is taken and the guards are active before. What pytest needs of the files is read first and kept in memory.
"""

import ast
import contextlib
import importlib
import os
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from _pytest import runner
from _pytest.assertion import rewrite

from . import privileges
from .audit import guard_modules, hide_pytest_hook, install, list_harness_modules, make_tampered, recognise
from .audit import unload_harness_modules as unload
from .channel import Job, Send
from .control_tests import build_control_tests
from .integrity import FindReplaced, check, take_snapshot
from .live_patch import override_source
from .own_modules import give_builtins, watch_writes
from .pytest_runner import describe_briefly, make_hand_out, make_plugin, new_reports, pytest_arguments, run_tests
from .remote import install_placeholder_call
from .return_values import find_attached, watch

_IMPORT = re.compile(rb"^[ \t]*(?:from\s+([\w.]+)\s+)?import\s+(\([^)]*\)|[^\n]*)", re.MULTILINE)
_WORD = re.compile(rb"\w+")


def _keep_tests(job: Job) -> None:
    """Make pytest take the test files and conftests of the instance, and test files that these import, from memory,
    each once."""
    tests = {os.path.join(job["tree"], test.partition("::")[0]) for test in job["tests"]}
    hidden = [file for file in list_hidden_from_all(job) if file.endswith(".py") and os.path.isfile(file)]
    pending = [file for file in hidden if file in tests or file.endswith("conftest.py")]
    kept: dict[str, tuple[os.stat_result, bytes]] = {}
    while pending:
        for file in pending:
            kept[file] = os.stat(file), Path(file).read_bytes()
        imported = {
            word
            for file in pending
            for found in _IMPORT.findall(kept[file][1])
            for word in _WORD.findall(b" ".join(found))
        }
        pending = [file for file in hidden if file not in kept and Path(file).stem.encode() in imported]
    original: Any = rewrite._rewrite_test

    def rewrite_test(fn: Path, config: object) -> tuple[os.stat_result, types.CodeType]:
        found = kept.pop(str(fn), None)
        if found is None:
            return original(fn, config)  # type: ignore[no-any-return]
        facts, source = found
        tree = ast.parse(source, filename=str(fn))
        rewrite.rewrite_asserts(tree, source, str(fn), config)  # type: ignore[arg-type]
        return facts, compile(tree, str(fn), "exec", dont_inherit=True)

    rewrite._rewrite_test = rewrite_test  # type: ignore[assignment]


def disable_current_test_env() -> None:
    """Keep pytest from writing the name and parameters of the running test to the environment."""
    runner._update_current_test_var = lambda item, when: None


def list_hidden(job: Job) -> list[str]:
    """Files that a candidate must not read: those that hold tests, and the one that holds the reference."""
    return [os.path.join(job["tree"], path) for path in job["hidden"]]


def list_hidden_from_all(job: Job) -> list[str]:
    """The hidden files that nothing in the process may read."""
    return [os.path.join(job["tree"], path) for path in job["blinded"]]


def list_test_files(job: Job) -> list[str]:
    return [path for path in list_hidden(job) if path != os.path.join(job["tree"], job["path"])]


def run_imported(send: Send, job: Job) -> None:
    path = os.path.join(job["tree"], job["path"])
    ranges = [(first, last) for first, last in job["ranges"]]
    answer = [os.path.join(job["tree"], file) for file in job["answer"]]
    is_guarded = bool(ranges or answer)
    if job["source"] is not None:
        override_source(path, job["source"])
    for name in job["framework"]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    _keep_tests(job)
    disable_current_test_env()
    ruleset = None if job["collect_only"] else privileges.build_ruleset(list_hidden_from_all(job), job["readable"])
    if ruleset is not None:
        privileges.enforce(ruleset)
    # no code of a candidate enters a process of replay: what is replaced there, the project replaces
    tampered, known = make_tampered(send, job["allowed"], learn=job["learn"] or "calls" in job)
    is_candidate, is_candidate_access = recognise({file: [] for file in answer} if answer else {path: ranges})
    find_replaced: FindReplaced = lambda quickly: []  # noqa: E731 - until the snapshot is taken

    def before_conftests(early_config: pytest.Config) -> None:
        """Runs after pytest's own changes to itself, and before the first conftest imports the candidate."""
        nonlocal find_replaced
        imported = {_file(name) for name in list(sys.modules)} if answer else set()
        if (job["module"] in sys.modules or imported & set(answer)) and not job["collect_only"]:
            send("unguarded")  # the candidate ran before the guards were active
            os._exit(0)
        find_replaced = take_snapshot([], job["tree"])
        if is_guarded:
            install(is_candidate_access, tampered, list_hidden(job), guard_modules(list_test_files(job)))
        if answer:
            watch_writes(set(answer), is_candidate_access, tampered)
            give_builtins(set(answer), tampered)
        unload(list_harness_modules())

    if "calls" in job:
        install_placeholder_call(job["calls"], job, send)
    reports = new_reports()
    send("started")

    def send_collected(session: pytest.Session) -> None:
        send("collected", tests=[item.nodeid for item in session.items], errors=reports["errors"][:5])

    def loop(session: pytest.Session) -> None:
        send_collected(session)
        if session.testsfailed and not job["partial"]:
            raise session.Interrupted("collection failed")
        check(find_replaced, tampered)
        control_tests = build_control_tests(session)
        describe_briefly(session.items, job["tree"])
        collected = set(sys.modules)
        second = take_snapshot(list_test_files(job), job["tree"], answer)
        if is_guarded:  # the modules of the tests are imported only now
            hide_pytest_hook()
            guard_modules(list_test_files(job))(is_candidate_access, tampered)
        if answer:
            watch_writes(set(answer), is_candidate_access, tampered)

        find_methods: FindReplaced = find_attached(is_candidate, set(answer)) if answer else lambda quickly: []

        def find_all_replaced(quickly: bool) -> list[str]:
            return find_replaced(quickly) + second(quickly) + find_methods(quickly)

        if ranges and job["watch"]:
            module = sys.modules.get(job["module"])  # some tests import it only when they run
            names = {"__name__": job["module"]} if module is None else module.__dict__
            watch(is_candidate, names, job["classes"], find_all_replaced, tampered, make_hand_out(send))
        run_tests(session, reports, control_tests, send, find_all_replaced, tampered, job)
        if job["learn"]:
            importable = _importable(job)
            late = [name for name in importable if name not in collected]
            heavy = [name for name in importable if not _is_below(name, job["tree"])]
            own = [name for name in importable if name in collected and _is_own(name, job)]
            send("learned", allowed=sorted(known), modules=heavy, late=late, own=own)

    plugin = make_plugin([] if job.get("collect_only") else job["tests"], reports, loop)
    # between pytest's changes to itself (`tryfirst`) and the import of conftests (`trylast`)
    plugin.pytest_load_initial_conftests = before_conftests
    if job.get("collect_only"):
        del plugin.pytest_runtestloop
        plugin.pytest_collection_finish = send_collected
    pytest.main(pytest_arguments(job), plugins=[plugin])
    sys.stdout.flush()
    sys.stderr.flush()
    send("end")
    os._exit(0)  # threads of a library or of the candidate must not keep the process


def _importable(job: Job) -> list[str]:
    """Modules that another process may import by name, except tests and the harness."""
    hidden = set(list_hidden(job))
    names = [name for name, module in list(sys.modules.items()) if issubclass(type(module), types.ModuleType)]
    special = ("__main__", "__mp_main__", "_virtualenv", "sitecustomize", "usercustomize")
    return [name for name in names if name not in special and _file(name) not in hidden]


def _file(name: str) -> str:
    return str(getattr(sys.modules.get(name), "__file__", None) or "")


def _is_own(name: str, job: Job) -> bool:
    """Is it a module of the target's package, and no test?"""
    first, *parts = name.split(".")
    is_test = any(one.startswith("test") or one.endswith(("_test", "_tests")) or one == "conftest" for one in parts)
    return not is_test and first == job["module"].partition(".")[0] and _is_below(name, job["tree"])


def _is_below(name: str, folder: str) -> bool:
    return _file(name).startswith(folder + os.sep) or _file(name.partition(".")[0]).startswith(folder + os.sep)
