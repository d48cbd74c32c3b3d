"""Run one candidate in a forked process, and remove every process and file of it afterwards."""

import contextlib
import linecache
import os
import select
import signal
import socket
from typing import Any

import pytest

from . import privileges
from .audit import Activate, hide_pytest_hook, install, make_tampered, recognise, unload_harness_modules
from .channel import Job, open_channel
from .fresh_run import list_hidden, list_hidden_from_all


class Child:
    """The process of one candidate: its channel, its job and its guards."""

    def __init__(
        self, session: pytest.Session | None, job: Job, message: Job, descriptors: list[int], ancestors: list[int]
    ) -> None:
        self.channel, output, *connection = descriptors
        _redirect(session, output)
        # the secret stays in no dictionary, here or in the caller
        self.send = open_channel(self.channel, bytes.fromhex(message.pop("secret")))
        self.job, self.ancestors = job | message, ancestors
        if connection:
            self.job["calls"] = connection[0]
        self.is_scoped = False
        """Whether `kill(-1)` reaches its own descendants only."""

    def prepare(self, ruleset: int | None, *, forks: bool = False) -> None:
        """Drop everything that a candidate must not have. `forks`: the process ends children of its own."""
        privileges.set_limits(self.job["limits"])
        os.chdir(self.job["tree"])
        if ruleset is not None:
            self.is_scoped = privileges.enforce(ruleset)
        privileges.protect(self.ancestors, broadcast=forks and self.is_scoped)
        privileges.make_undumpable()
        for path in list_hidden_from_all(self.job):
            if path != os.path.join(self.job["tree"], self.job["path"]):
                linecache.cache.pop(path, None)

    def guard(self, filename: str, ranges: list[tuple[int, int]], activate: Activate, harness: list[str]) -> None:
        """Start the audit of the candidate's code, and take the harness out of reach."""

        def send(kind: str, **content: Any) -> None:  # noqa: ANN401 - whatever JSON takes
            self.send(kind, **content)  # looked up late: a cross run opens a channel for each check

        self.is_candidate, is_candidate_access = recognise({filename: ranges})
        self.tampered, _ = make_tampered(send, self.job["allowed"], learn=False)
        install(is_candidate_access, self.tampered, list_hidden(self.job), activate)
        unload_harness_modules(harness)
        hide_pytest_hook()

    def leave_unguarded(self, filename: str) -> None:
        """For a process of replay: it holds the tests or the candidate, but not both."""
        self.is_candidate, _ = recognise({filename: []})
        self.tampered, _ = make_tampered(self.send, [], learn=True)


def _redirect(session: pytest.Session | None, output: int) -> None:
    """Send the output to the engine. pytest's capture files are shared with the server, so the child opens its own."""
    manager = session.config.pluginmanager.getplugin("capturemanager") if session is not None else None
    if manager is not None:
        manager.stop_global_capturing()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    if manager is not None:
        manager.start_global_capturing()


def await_end(child: int, control: socket.socket, *, is_scoped: bool) -> None:
    """Wait until the candidate ends or the engine sends a message, which the caller reads."""
    ended = os.pidfd_open(child)
    try:
        ready, _, _ = select.select([ended, control.fileno()], [], [])
        if control.fileno() in ready and not control.recv(1, socket.MSG_PEEK):
            end_child(child, is_scoped=is_scoped)
            os._exit(0)
    finally:
        os.close(ended)


def end_child(child: int, *, is_scoped: bool) -> tuple[int, int]:
    """Kill a child and all that it started; return its exit code and peak memory. We adopt orphans, so none is missed.
    `is_scoped`: `kill(-1)` reaches our descendants only."""
    status, peak = 0, 0
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    while True:
        try:
            pid, ended, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return status, peak
        if pid == child:
            status, peak = os.waitstatus_to_exitcode(ended), usage.ru_maxrss
        elif pid == 0:
            for orphan in [-1] if is_scoped else _list_children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(orphan, signal.SIGKILL)
            select.select([], [], [], 0.001)


def _list_children() -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError), open(f"/proc/{name}/stat") as file:
            if file.read().rpartition(")")[2].split()[1] == str(os.getpid()):
                found.append(int(name))
    return found


def empty_folders(folders: dict[str, list[str]]) -> bool:
    """Remove what a candidate wrote; False if something is left. `folders`: each with the names to keep."""
    found = [_empty(folder, set(kept)) for folder, kept in folders.items()]
    found += [_empty(os.path.join(folder, "home"), set()) for folder, kept in folders.items() if "home" in kept]
    return all(found)


def _empty(folder: str, kept: set[str]) -> bool:
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in _remove_files(place, kept):
            with contextlib.suppress(OSError):
                _remove_folder(place, name)
        return set(os.listdir(place)) <= kept
    finally:
        os.close(place)


def _remove_folder(place: int, name: str) -> None:
    """Remove a folder with all that is below it, without recursion: a candidate may nest thousands. Landlock may
    forbid moving a folder up to remove it there."""
    path = [name]
    here = _enter(place, name)
    try:
        while path:
            below = _remove_files(here, set())
            if below:
                path.append(below[0])
                inner = _enter(here, below[0])
            else:
                inner = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
            os.close(here)
            here = inner
            if not below:
                os.rmdir(path.pop(), dir_fd=here)
    finally:
        os.close(here)


def _enter(place: int, name: str) -> int:
    with contextlib.suppress(OSError):
        os.chmod(name, 0o700, dir_fd=place)  # its owner may have closed it
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)


def _remove_files(place: int, kept: set[str]) -> list[str]:
    """Remove the files and the empty folders in a folder; return the names that are left."""
    for name in set(os.listdir(place)) - kept:
        for remove in (os.unlink, os.rmdir):
            with contextlib.suppress(OSError):
                remove(name, dir_fd=place)
    return list(set(os.listdir(place)) - kept)
