"""How does one process serve many candidates, none of which can harm the next?

The worker has imported what is heavy and nothing of the project. It forks a process that imports of the project what
all instances need; that one forks a server for an instance, which puts a stand-in for the target and collects the tests
once; for each candidate the server forks a child, which takes the candidate in, runs the tests, reports and is gone
with all it started. A candidate that cannot be taken in place is imported by a child of the worker. None of those above
a child ever runs a candidate's code.

What of the project can be imported once, for all its instances?

The modules that every known instance imports before its tests run. They hold the references then, which each server
exchanges for its stand-in; a function that ran on import left something of itself, so it is noted which did.
"""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import json
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, NamedTuple

import pytest

from . import privileges
from .audit import find_guarded, guard_modules, list_harness_modules
from .child import Child, await_end, clean, clear
from .control_tests import build_canaries
from .fresh_run import disable_current_test_env, find_blinded, find_tests, run_imported
from .integrity import take_snapshot
from .live_patch import Called, NotInPlace, Override, find_placeholder, hide_source, install_placeholder, patch_function
from .pytest_runner import describe_briefly, make_plugin, new_reports, pytest_arguments


def import_own(names: list[str], tree: str) -> Called:
    """Imports the project's modules and says which of its functions ran on the way."""
    called: Called = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(tree):
            called.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        for name in names:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return called


_HEADER = struct.Struct("=Q")


def receive(control: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """One message and the descriptors that came with it; the end of the other side is the end of us."""
    header, descriptors = b"", array.array("i")
    while len(header) < _HEADER.size:
        space = socket.CMSG_SPACE(8 * descriptors.itemsize)
        data, extra, _, _ = control.recvmsg(_HEADER.size - len(header), space)
        if not data:
            os._exit(0)
        header += data
        for level, kind, content in extra:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
    (length,) = _HEADER.unpack(header)
    body = bytearray()
    while len(body) < length:
        data = control.recv(min(1 << 16, length - len(body)))
        if not data:
            os._exit(0)
        body += data
    return json.loads(bytes(body)), list(descriptors)


def tell(control: socket.socket, **content: Any) -> None:  # noqa: ANN401 - whatever JSON takes
    control.sendall(json.dumps(content).encode() + b"\n")


class Servers(NamedTuple):
    """How an instance is served: by patching the imported module, or by importing it anew in each fork."""

    in_place: Callable[[socket.socket, dict[str, Any], list[int], Called], None]
    imported: Callable[[socket.socket, dict[str, Any], list[int]], None]


def work(control: socket.socket, job: dict[str, Any], servers: Servers) -> None:
    """Run the worker: import heavy modules, then fork a server for each instance."""
    job["folders"] = {folder: os.listdir(folder) for folder in job["writable"]}
    for name in job["preload"]:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    null = os.open(os.devnull, os.O_WRONLY)
    sys.stdout.flush()
    os.dup2(null, 1)
    os.dup2(null, 2)
    _settle()
    tell(control, kind="ready", modules=len(sys.modules), **privileges.describe_confinement())
    _fork_servers(control, job, [os.getpid()], set(), servers)


def serve_project(control: socket.socket, job: dict[str, Any], above: list[int], servers: Servers) -> None:
    """Import the project, then fork a server for each instance."""
    called = import_own(job["own"], job["tree"])
    _forbid_backends()
    _settle()
    tell(control, kind="open")
    _fork_servers(control, job, [os.getpid(), *above], called, servers)


def _fork_servers(
    control: socket.socket, job: dict[str, Any], above: list[int], called: Called, servers: Servers
) -> None:
    while True:
        _reap()
        message, descriptors = receive(control)
        own = socket.socket(fileno=descriptors[0])
        if os.fork() == 0:
            control.close()
            privileges.adopt_orphans()
            kind = message["serve"]
            if kind == "project":
                serve = partial(serve_project, own, job | message, above, servers)
            elif kind == "in_place":
                serve = partial(servers.in_place, own, job | message, above, called)
            else:
                serve = partial(servers.imported, own, job | message, above)
            _guarded(own, serve)
        own.close()


def _guarded(control: socket.socket, work: Callable[[], None]) -> None:
    """Whatever goes wrong in a server is said, and ends that server only."""
    try:
        work()
    except BaseException as error:
        with contextlib.suppress(OSError):
            tell(control, kind="failed", why=f"{type(error).__name__}: {error}")
    os._exit(0)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _settle() -> None:
    """What is there now is not looked at by the collector again, and so stays shared between processes."""
    gc.collect()
    gc.freeze()


def serve_in_place(control: socket.socket, job: dict[str, Any], above: list[int], called: Called) -> None:
    """The server of an instance whose candidates are taken in place."""
    path = os.path.join(job["tree"], job["path"])
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if job["module"] in sys.modules:
        install_placeholder(job["module"], job["qualname"], path, text, job["line"], called)
    override = Override(path, text, masked=(job["line"], job["qualname"].rpartition(".")[2]))
    sys.meta_path.insert(0, override)
    reports = new_reports()
    disable_current_test_env()

    def loop(session: pytest.Session) -> None:
        _guarded(control, lambda: open_up(session))

    def open_up(session: pytest.Session) -> None:
        if session.testsfailed or {item.nodeid for item in session.items} != set(job["tests"]):
            raise NotInPlace("; ".join(reports["errors"])[:2000] or "not every test was collected")
        function = find_placeholder(job["module"], job["qualname"])
        sys.meta_path.remove(override)
        override.text = ""
        for name in job["lazy"]:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        _forbid_backends()
        names = sys.modules[job["module"]].__dict__
        canaries = build_canaries(session)
        describe_briefly(session.items, job["tree"])
        blindfold = privileges.build_blindfold(find_blinded(job), job["readable"])
        look = take_snapshot(find_tests(job), job["tree"])
        ours = list_harness_modules()
        arm = guard_modules(find_guarded(find_tests(job)))
        hide_source(path, text, function)
        _settle()
        tell(control, kind="open")

        def judge(message: dict[str, Any], descriptors: list[int]) -> None:
            child = Child(session, job, message, descriptors, [os.getppid(), *above, find_group(above[-1])])
            filename = message["patch"]["filename"]
            if "tests" in message:
                places = {test: place for place, test in enumerate(message["tests"])}
                session.items = sorted(
                    (item for item in session.items if item.nodeid in places), key=lambda item: places[item.nodeid]
                )
            child.prepare(blindfold)
            child.guard(filename, arm, ours)
            try:
                patch_function(function, names, message["patch"])
            except BaseException as error:
                child.send("not_in_place", why=f"{type(error).__name__}: {error}")
                os._exit(0)
            child.finish(session, reports, canaries, look, filename, names)

        _serve(control, job["folders"], judge)

    pytest.main(pytest_arguments(job), plugins=[make_plugin(job["tests"], reports, loop)])
    raise NotInPlace("; ".join(reports["errors"])[:2000] or "pytest did not come to run the tests")


def _forbid_backends() -> None:
    """A jax backend that was started before a fork hangs after it."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is not None and getattr(bridge, "_backends", None):
        raise NotInPlace("a jax backend is started while modules are imported or tests collected")


def serve_imported(control: socket.socket, job: dict[str, Any], above: list[int]) -> None:
    """The server of an instance whose candidates must be imported: it holds nothing of the project."""
    _settle()
    tell(control, kind="open")

    def judge(message: dict[str, Any], descriptors: list[int]) -> None:
        child = Child(None, job, message, descriptors, [os.getppid(), *above, find_group(above[-1])])
        child.prepare(None)
        run_imported(child.send, child.job)

    _serve(control, job["folders"], judge)


def _serve(
    control: socket.socket, folders: dict[str, list[str]], judge: Callable[[dict[str, Any], list[int]], None]
) -> None:
    """One candidate at a time; the next is taken when nothing of the last is left."""
    while True:
        message, descriptors = receive(control)
        if "stop" in message:  # it came when its candidate had ended already
            continue
        child = os.fork()
        if child == 0:
            with contextlib.suppress(OSError):
                tell(control, kind="child")  # the kernel says to the other side who speaks
            control.close()
            os.setsid()
            output = os.dup(descriptors[1])  # past pytest, which keeps what is written on the usual ones
            try:
                judge(message, descriptors)
            except BaseException as error:  # said where the other side looks when a candidate has no verdict
                os.write(output, f"{type(error).__name__}: {error}".encode(errors="replace")[:2000])
            os._exit(1)
        for descriptor in descriptors:
            os.close(descriptor)
        await_end(child, control)
        status, peak = clear(child)
        clean(folders)
        tell(control, kind="done", exit_code=status, peak_kb=peak)


def find_group(process: int) -> int:
    with contextlib.suppress(OSError):
        return os.getpgid(process)
    return process


CANDIDATES = Servers(serve_in_place, serve_imported)
