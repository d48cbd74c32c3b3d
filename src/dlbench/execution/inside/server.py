"""Serve many candidates from one warm worker by forking, so that no candidate can affect the next.

The worker has imported the heavy modules. It forks a process that imports what all instances of the project need. That
one forks a server for an instance, which collects the tests once. For each candidate the server forks a child, which is
removed with all that it started. Only children run candidates.
"""

import contextlib
import gc
import importlib
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterable
from functools import partial
from types import FrameType, FunctionType
from typing import Any, NamedTuple

import pytest

from . import privileges
from .audit import Activate, guard_modules, list_harness_modules
from .channel import Job, receive, send_message
from .child import Child, await_end, empty_folders, end_child
from .control_tests import build_control_tests
from .fresh_run import disable_current_test_env, list_hidden_from_all, list_test_files, run_imported
from .integrity import FindReplaced, take_snapshot
from .live_patch import Called, NotInPlace, Override, find_placeholder, hide_source, install_placeholder, patch_function
from .pytest_runner import (
    describe_briefly,
    make_hand_out,
    make_plugin,
    new_reports,
    order_tests,
    pytest_arguments,
    run_tests,
    silence_terminal,
)
from .remote import install_placeholder_call, serve_calls
from .return_values import watch


class Servers(NamedTuple):
    """How an instance is served: by patching the imported module, or by importing it anew in each fork."""

    in_place: Callable[[socket.socket, Job, Called], None]
    imported: Callable[[socket.socket, Job], None]


def run_worker(control: socket.socket, job: Job, servers: Servers) -> None:
    """Import the heavy modules, then fork a server for each instance."""
    job["folders"] = {folder: os.listdir(folder) for folder in job["writable"]}
    job["ancestors"] = [os.getpid()]
    import_modules(job["preload"])
    null = os.open(os.devnull, os.O_WRONLY)
    sys.stdout.flush()
    os.dup2(null, 1)
    os.dup2(null, 2)
    _freeze_objects()
    send_message(control, kind="ready", modules=len(sys.modules), **privileges.describe_confinement())
    _fork_servers(control, job, set(), servers)


def _serve_project(control: socket.socket, job: Job, servers: Servers) -> None:
    """Import what all instances of the project import, then fork a server for each instance."""
    called = _import_project(job["own"], job["tree"])
    forbid_backends()
    report_open(control)
    job["ancestors"] = [os.getpid(), *job["ancestors"]]
    _fork_servers(control, job, called, servers)


def _import_project(names: list[str], tree: str) -> Called:
    """Import modules of the project; return its functions that ran meanwhile, which no placeholder can replace."""
    called: Called = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(tree):
            called.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        import_modules(names)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return called


def import_modules(names: Iterable[str]) -> None:
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def _fork_servers(control: socket.socket, job: Job, called: Called, servers: Servers) -> None:
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        message, descriptors = receive(control)
        own = socket.socket(fileno=descriptors[0])
        if message["serve"] == "preload":
            import_modules(message["modules"])
            report_open(own)
        elif os.fork() == 0:
            control.close()
            privileges.die_with_parent()
            privileges.adopt_orphans()
            if message["serve"] == "project":
                _report_failure(own, partial(_serve_project, own, job | message, servers))
            if message["serve"] == "answers":
                _report_failure(own, partial(serve_answers, own, job | message))
            if message["serve"] == "in_place":
                _report_failure(own, partial(servers.in_place, own, job | message, called))
            _report_failure(own, partial(servers.imported, own, job | message))
        own.close()


def _report_failure(control: socket.socket, serve: Callable[[], None]) -> None:
    """Run a server to its end; a failure is reported and ends this server only."""
    try:
        serve()
    except BaseException as error:
        with contextlib.suppress(OSError):
            send_message(control, kind="failed", why=f"{type(error).__name__}: {error}")
    os._exit(0)


def report_open(control: socket.socket) -> None:
    _freeze_objects()
    send_message(control, kind="open")


def _freeze_objects() -> None:
    """Exempt all objects from garbage collection, so that their memory stays shared between forks."""
    gc.collect()
    gc.freeze()


def forbid_backends() -> None:
    """A jax backend that starts before a fork hangs after it."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is not None and getattr(bridge, "_backends", None):
        raise NotInPlace("a jax backend is started while modules are imported or tests collected")


class Target(NamedTuple):
    """What a server holds of a target whose candidates are patched in."""

    function: FunctionType
    names: dict[str, Any]
    ruleset: int | None
    find_replaced: FindReplaced
    harness: list[str]
    activate: Activate

    def take_in(self, child: Child, *, forks: bool = False, guards: bool = True) -> None:
        """Confine and guard the process, then patch in its candidate."""
        patch = child.job["patch"]
        child.prepare(self.ruleset, forks=forks)
        if guards:
            child.guard(patch["filename"], [], self.activate, self.harness)
        else:
            child.leave_unguarded(patch["filename"])
        try:
            patch_function(self.function, self.names, patch)  # type: ignore[arg-type]  # a field, not a method
        except BaseException as error:
            child.send("not_in_place", why=f"{type(error).__name__}: {error}")
            os._exit(0)


def hide_target(job: Job, called: Called) -> Override:
    """Install the placeholder if the module is imported already; otherwise its import installs it."""
    path = os.path.join(job["tree"], job["path"])
    text = job.get("text", "")
    if not text:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    if job["module"] in sys.modules:
        install_placeholder(job["module"], job["qualname"], path, text, job["line"], called)
    override = Override(path, text, (job["line"], job["qualname"].rpartition(".")[2]))
    sys.meta_path.insert(0, override)
    return override


def open_target(
    control: socket.socket, job: Job, override: Override, warm_up: Callable[[], None] | None = None
) -> Target:
    """Find the placeholder, prepare what confines and guards a candidate, and report that the server is open."""
    function = find_placeholder(job["module"], job["qualname"])
    sys.meta_path.remove(override)
    text, override.text = override.text, ""
    import_modules(job["lazy"])
    if warm_up is not None:
        warm_up()
    forbid_backends()
    target = Target(
        function,
        sys.modules[job["module"]].__dict__,
        privileges.build_ruleset(list_hidden_from_all(job), job["readable"]),
        take_snapshot(list_test_files(job), job["tree"]),
        list_harness_modules(),
        guard_modules(list_test_files(job)),
    )
    hide_source(override.path, text, function)
    report_open(control)
    return target


def serve_in_place(control: socket.socket, job: Job, called: Called) -> None:
    """Serve an instance whose candidates are patched into the imported module."""
    override = hide_target(job, called)
    reports = new_reports()
    disable_current_test_env()

    def serve(session: pytest.Session) -> None:
        if session.testsfailed or {item.nodeid for item in session.items} != set(job["tests"]):
            raise NotInPlace("; ".join(reports["errors"])[:2000] or "not every test was collected")
        control_tests = build_control_tests(session)
        describe_briefly(session.items, job["tree"])
        silence_terminal(session)
        target = open_target(control, job, override)

        def judge(child: Child) -> None:
            if child.job["mode"] != "calls":
                session.items = order_tests(session.items, child.job["tests"])
            asks = "calls" in child.job and child.job["mode"] != "calls"
            target.take_in(child, guards=not asks)
            if child.job["mode"] == "calls":
                serve_calls(child.send, child.job, child.is_candidate)
            if asks:
                install_placeholder_call(child.job["calls"], child.job, child.send)
            child.send("collected", tests=[item.nodeid for item in session.items], errors=[])
            if child.job["watch"]:
                hand_out = make_hand_out(child.send)
                written = child.job["classes"]
                watch(child.is_candidate, target.names, written, target.find_replaced, child.tampered, hand_out)
            with contextlib.suppress(session.Interrupted, session.Failed):
                run_tests(session, reports, control_tests, child.send, target.find_replaced, child.tampered, child.job)
            child.send("end")
            os._exit(0)

        serve_children(control, job, judge, session)

    loop = lambda session: _report_failure(control, partial(serve, session))  # noqa: E731
    pytest.main(pytest_arguments(job), plugins=[make_plugin(job["tests"], reports, loop)])
    raise NotInPlace("; ".join(reports["errors"])[:2000] or "pytest did not come to run the tests")


def serve_answers(control: socket.socket, job: Job) -> None:
    """Serve an instance whose candidates answer calls of a replay. The reference is not imported, nor is a test."""
    if job["module"] in sys.modules:
        raise NotInPlace("its module is imported already")
    override = hide_target(job, set())
    import_modules(job["own"])
    target = open_target(control, job, override)

    def answer(child: Child) -> None:
        target.take_in(child, guards=False)
        serve_calls(child.send, child.job, child.is_candidate)

    serve_children(control, job, answer)


def serve_imported(control: socket.socket, job: Job) -> None:
    """Serve an instance whose candidates must be imported. The server holds nothing of the project."""

    def judge(child: Child) -> None:
        child.prepare(None)
        (serve_calls if child.job["mode"] == "calls" else run_imported)(child.send, child.job)

    report_open(control)
    serve_children(control, job, judge)


def serve_children(
    control: socket.socket, job: Job, run: Callable[[Child], None], session: pytest.Session | None = None
) -> None:
    """Fork for one candidate at a time; take the next when nothing of the last is left."""
    is_scoped = privileges.scope_signals()
    ancestors = [os.getpid(), *job["ancestors"]]
    with contextlib.suppress(OSError):
        ancestors.append(os.getpgid(ancestors[-1]))
    while True:
        message, descriptors = receive(control)
        if "stop" in message:  # sent when its candidate had ended already
            continue
        process = os.fork()
        if process == 0:
            with contextlib.suppress(OSError):
                send_message(control, kind="child")  # the kernel attaches the process id
            control.close()
            privileges.die_with_parent()
            os.setsid()
            output = os.dup(descriptors[1])  # not captured by pytest
            try:
                run(Child(session, job, message, descriptors, ancestors))
            except BaseException as error:  # the engine reads the output of a candidate without a verdict
                os.write(output, f"{type(error).__name__}: {error}".encode(errors="replace")[:2000])
            os._exit(1)
        for descriptor in descriptors:
            os.close(descriptor)
        await_end(process, control, is_scoped=is_scoped)
        status, peak = end_child(process, is_scoped=is_scoped)
        if not empty_folders(job["folders"]):
            raise OSError("a candidate left files that cannot be removed")
        send_message(control, kind="done", exit_code=status, peak_kb=peak)


CANDIDATES = Servers(serve_in_place, serve_imported)
