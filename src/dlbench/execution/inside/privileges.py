"""What does a process give up before it touches a project, and what more before it touches a candidate?

Limits, the user, system calls; then, for a candidate's own process, the files that show the tests or the reference and
the power to signal whoever serves it. Nothing here can be taken back.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import socket
import struct
from typing import Any

_PDEATHSIG, _DUMPABLE, _SECCOMP, _SUBREAPER, _NO_NEW_PRIVS, _FILTER = 1, 4, 22, 36, 38, 2
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_READ_FILE, _PATH_BENEATH, _SCOPE_SIGNAL = 1 << 2, 1, 2

libc = ctypes.CDLL(None, use_errno=True)


def set_limits(limits: dict[str, int]) -> None:
    for name, value in limits.items():
        number = getattr(resource, name)
        _, hard = resource.getrlimit(number)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (value, value))


def give_up_privileges(user: int | None, seccomp: bytes) -> None:
    if user is not None and os.getuid() == 0:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    libc.prctl(_PDEATHSIG, 9, 0, 0, 0)
    if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs")
    if seccomp:
        _install(seccomp)


def _install(program: bytes) -> None:
    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))

    filled = Program(len(program) // 8, program)
    if libc.prctl(_SECCOMP, _FILTER, ctypes.byref(filled), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def make_undumpable() -> None:
    """Nobody of our own user reads our memory, our descriptors or our environment; nor do we by way of /proc."""
    libc.prctl(_DUMPABLE, 0, 0, 0, 0)


def adopt_orphans() -> None:
    libc.prctl(_SUBREAPER, 1, 0, 0, 0)


def describe_confinement() -> dict[str, Any]:
    """What the sandbox really holds off, tried from inside; the other side refuses to go on without it."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
        network = True
    except OSError:
        network = False
    return {"user": os.getuid(), "network": network, "landlock": landlock_version()}


def landlock_version() -> int:
    version: int = libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
    return max(version, 0)


def build_blindfold(hidden: list[str], known: list[str]) -> int | None:
    """A Landlock rule set that leaves everything readable but some files; None where the kernel has none.

    Landlock knows only what is allowed: so a folder with a hidden file in it is opened up, and all else in it allowed.
    `known`: places that are readable inside folders that may not be listed.
    """
    version = landlock_version()
    if not version:
        return None
    scoped = _SCOPE_SIGNAL if version >= 6 else 0
    attributes = struct.pack("=QQQ", _READ_FILE, 0, scoped)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset = libc.syscall(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "landlock")
    closed = {os.path.realpath(path) for path in hidden}
    opened = {parent for path in closed for parent in _parents(path)}
    _allow(ruleset, "/", closed, opened, [*known, *opened])
    return int(ruleset)


def _parents(path: str) -> list[str]:
    found = []
    while path != "/":
        path = os.path.dirname(path)
        found.append(path)
    return found


def _allow(ruleset: int, folder: str, closed: set[str], opened: set[str], known: list[str]) -> None:
    for path in _list(folder, known):
        if path in closed or os.path.islink(path):
            continue
        if path in opened:
            _allow(ruleset, path, closed, opened, known)
            continue
        with contextlib.suppress(OSError):
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            libc.syscall(_LANDLOCK_ADD, ruleset, _PATH_BENEATH, struct.pack("=Qi", _READ_FILE, place), 0)
            os.close(place)


def _list(folder: str, known: list[str]) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder)]
    except OSError:
        below = folder.rstrip("/") + "/"
        inner = [path[len(below) :] for path in known if path.startswith(below) and path != below]
        return sorted({below + path.partition("/")[0] for path in inner})


def enforce(blindfold: int) -> None:
    if libc.syscall(_LANDLOCK_RESTRICT, blindfold, 0):
        raise OSError(ctypes.get_errno(), "landlock")
    os.close(blindfold)


_SIGNALS = {"x86_64": (62, 200, 234, 424, 434, 302), "aarch64": (129, 130, 131, 424, 434, 261)}
"""kill, tkill, tgkill, pidfd_send_signal, pidfd_open, prlimit64"""


def protect(processes: list[int]) -> None:
    """From here on, neither a signal nor a limit of ours reaches these processes, or everybody at once."""
    kill, tkill, tgkill, _, pidfd_open, prlimit = _SIGNALS[platform.machine()]
    denied = [1, -1 & 0xFFFFFFFF, *processes, *(-process & 0xFFFFFFFF for process in processes)]
    load, equal, leave = 0x20, 0x15, 0x06
    deny, allow = 0x00050001, 0x7FFF0000

    def step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("=HBBI", code, if_true, if_false, value)

    program = [step(load, 0)]
    numbers = (kill, tkill, tgkill, pidfd_open, prlimit)
    for place, number in enumerate(numbers):
        # on a match to the list of processes, which follows after the rest of the numbers and one way out
        program.append(step(equal, number, len(numbers) - place, 0))
    program.append(step(leave, allow))
    program.append(step(load, 16))
    for place, process in enumerate(denied):
        program.append(step(equal, process, len(denied) - place, 0))
    program += [step(leave, allow), step(leave, deny)]
    _install(b"".join(program))
