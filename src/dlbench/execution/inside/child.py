"""What is the process of one candidate, from the fork to its end?

What is left of a candidate when its verdict is given? Nothing: no process, no file.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import select
import signal
import socket
from typing import Any

import pytest

from . import privileges
from .audit import Activate, install, make_access_check, make_tampered, recognise, unload_harness_modules
from .channel import open_channel
from .fresh_run import find_blinded, find_hidden
from .integrity import FindReplaced
from .pytest_runner import Canaries, Reports, conduct
from .return_values import watch


class Child:
    """The process of one candidate, from the fork to its end."""

    def __init__(
        self,
        session: pytest.Session | None,
        job: dict[str, Any],
        message: dict[str, Any],
        descriptors: list[int],
        above: list[int],
    ) -> None:
        channel, output = descriptors
        redirect(session, output)
        # the secret stays in no dictionary, here or with the caller
        self.send = open_channel(channel, bytes.fromhex(message.pop("secret")))
        self.session, self.job, self.above = session, job | message, above

    def prepare(self, blindfold: int | None) -> None:
        """Everything that a candidate must not have is given up here, before its first line."""
        privileges.set_limits(self.job["limits"])
        os.chdir(self.job["tree"])
        if blindfold is not None:
            privileges.enforce(blindfold)
        privileges.protect(self.above)
        privileges.make_undumpable()
        for path in find_blinded(self.job):
            if path != os.path.join(self.job["tree"], self.job["path"]):
                linecache.cache.pop(path, None)

    def guard(self, filename: str, arm: Activate, ours: list[str]) -> None:
        self.tampered, _ = make_tampered(self.send, self.job["allowed"], learn=False)
        asks = make_access_check(recognise(filename, []), filename, [])
        install(asks, self.tampered, find_hidden(self.job), arm)
        unload_harness_modules(ours)

    def finish(
        self,
        session: pytest.Session,
        reports: Reports,
        canaries: Canaries,
        look: FindReplaced,
        filename: str,
        names: dict[str, Any],
    ) -> None:
        self.send("collected", tests=[item.nodeid for item in session.items], errors=[])
        if self.job["watch"]:
            watch(recognise(filename, []), names, self.job["classes"], look, self.tampered)
        with contextlib.suppress(session.Interrupted, session.Failed):
            conduct(
                session,
                reports,
                canaries,
                self.send,
                look,
                self.tampered,
                closely=self.job["watch"],
                until_failure=self.job["until_failure"],
            )
        self.send("end")
        os._exit(0)


def redirect(session: pytest.Session | None, output: int) -> None:
    """The files into which pytest keeps output are shared with the server; a child needs its own, and its own exits."""
    manager = session.config.pluginmanager.getplugin("capturemanager") if session is not None else None
    if manager is not None:
        manager.stop_global_capturing()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    if manager is not None:
        manager.start_global_capturing()


def await_end(child: int, control: socket.socket) -> None:
    """Until the candidate ends, or the other side has had enough."""
    ended = os.pidfd_open(child)
    try:
        ready, _, _ = select.select([ended, control.fileno()], [], [])
        # what there is to read is taken by whoever serves the next
        if control.fileno() in ready and not control.recv(1, socket.MSG_PEEK):
            clear(child)
            os._exit(0)
    finally:
        os.close(ended)


def clear(child: int) -> tuple[int, int]:
    """Kills whatever the candidate left; orphans come to us, so that none is missed."""
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
            for orphan in _children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(orphan, signal.SIGKILL)
            select.select([], [], [], 0.001)


def _children() -> list[int]:
    found = []
    mine = str(os.getpid())
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError), open(f"/proc/{name}/stat") as file:
                if file.read().rpartition(")")[2].split()[1] == mine:
                    found.append(int(name))
    return found


def clean(folders: dict[str, list[str]]) -> None:
    """What one candidate wrote, the next does not find. Each folder with what was in it from the start."""
    for folder, kept in folders.items():
        _remove_below(folder, kept)
        if "home" in kept:
            _remove_below(os.path.join(folder, "home"), [])


def _remove_below(folder: str, kept: list[str]) -> None:
    """Removes what is in a folder, however deep: what lies deep comes up, and is then removed like all else."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    stays = set(kept)
    try:
        while True:
            below = None
            for name in set(os.listdir(place)) - stays:
                try:
                    os.unlink(name, dir_fd=place)
                except OSError:
                    below = name
            if below is None:
                break
            with contextlib.suppress(OSError):
                os.chmod(below, 0o700, dir_fd=place)  # its owner may have closed it
            with contextlib.suppress(OSError):
                _empty(place, below)
            try:
                os.rmdir(below, dir_fd=place)
            except OSError:
                stays.add(below)  # the sandbox made it, and it is empty
    finally:
        os.close(place)


def _empty(place: int, below: str) -> None:
    inner = os.open(below, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
    try:
        for name in os.listdir(inner):
            with contextlib.suppress(OSError):
                os.chmod(name, 0o700, dir_fd=inner)
            os.rename(name, f"{os.urandom(8).hex()}-{name[:40]}", src_dir_fd=inner, dst_dir_fd=place)
    finally:
        os.close(inner)
