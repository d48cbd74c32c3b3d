"""Drop privileges for good: resource limits, the user, system calls, readable files and signals.

The process of a candidate also loses the files that show the tests or the reference, and the means to signal the
processes that serve it.
"""

import contextlib
import ctypes
import os
import platform
import resource
import socket
import struct
from pathlib import Path
from typing import Any

_PDEATHSIG, _DUMPABLE, _SECCOMP, _SUBREAPER, _NO_NEW_PRIVS, _FILTER = 1, 4, 22, 36, 38, 2
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_READ_FILE, _REFER, _PATH_BENEATH, _SCOPE_SIGNAL = 1 << 2, 1 << 13, 1, 2
_SIGNAL_CALLS = {"x86_64": (62, 200, 234, 434, 302), "aarch64": (129, 130, 131, 434, 261)}
"""kill, tkill, tgkill, pidfd_open, prlimit64"""

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
    die_with_parent()
    _check(libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    if seccomp:
        _install_filter(seccomp)


def _check(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), what)
    return result


def _install_filter(program: bytes) -> None:
    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))

    filled = Program(len(program) // 8, program)
    _check(libc.prctl(_SECCOMP, _FILTER, ctypes.byref(filled), 0, 0), "seccomp")


def make_undumpable() -> None:
    """Keep processes of the same user, and this one, from reading its memory, descriptors and environment in /proc."""
    libc.prctl(_DUMPABLE, 0, 0, 0, 0)


def die_with_parent() -> None:
    """End this process when its parent ends, as a process namespace does for all its processes."""
    libc.prctl(_PDEATHSIG, 9, 0, 0, 0)


def adopt_orphans() -> None:
    libc.prctl(_SUBREAPER, 1, 0, 0, 0)


def describe_confinement() -> dict[str, Any]:
    """Try from inside what the sandbox prevents; the engine refuses to go on if it does not."""
    network = False
    with contextlib.suppress(OSError):
        socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
        network = True
    return {"user": os.getuid(), "network": network, "landlock": _landlock_version()}


def _landlock_version() -> int:
    version: int = libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
    return max(version, 0)


def _create_ruleset(handled: int) -> int | None:
    """Create a Landlock rule set that also scopes signals, if the kernel can; None without Landlock."""
    version = _landlock_version()
    if not version:
        return None
    scoped = _SCOPE_SIGNAL if version >= 6 else 0
    attributes = struct.pack("=QQQ", handled, 0, scoped)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    return _check(libc.syscall(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0), "landlock")


def build_ruleset(hidden: list[str], readable: list[str]) -> int | None:
    """Build a Landlock rule set under which every file but the hidden ones is readable; None without Landlock.

    Landlock only knows what is allowed. So for a folder that holds a hidden file, everything else in it is allowed.
    So are renames from one folder to another, which it denies otherwise, except where they would open a file.
    `readable`: readable places inside folders that may not be listed.
    """
    ruleset = _create_ruleset(_READ_FILE | _rename())
    if ruleset is None:
        return None
    closed = {os.path.realpath(path) for path in hidden}
    opened = {str(parent) for path in closed for parent in Path(path).parents}
    _allow(ruleset, "/", closed, opened, [*readable, *opened])
    return ruleset


def _rename() -> int:
    return _REFER if _landlock_version() >= 2 else 0


def _allow(ruleset: int, folder: str, closed: set[str], opened: set[str], readable: list[str]) -> None:
    for path in _list_folder(folder, readable):
        if path in closed or os.path.islink(path):
            continue
        if path in opened:
            _allow(ruleset, path, closed, opened, readable)
            continue
        _add(ruleset, path, _READ_FILE | (_rename() if os.path.isdir(path) else 0))


def _add(ruleset: int, path: str, rights: int) -> None:
    with contextlib.suppress(OSError):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        libc.syscall(_LANDLOCK_ADD, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, place), 0)
        os.close(place)


def _list_folder(folder: str, readable: list[str]) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder)]
    except OSError:
        below = folder.rstrip("/") + "/"
        inner = [path[len(below) :] for path in readable if path.startswith(below) and path != below]
        return sorted({below + path.partition("/")[0] for path in inner})


def enforce(ruleset: int) -> bool:
    """Enforce a Landlock rule set. True if from now on only this process and its descendants can be signalled."""
    _check(libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0), "landlock")
    os.close(ruleset)
    try:
        os.kill(os.getppid(), 0)
    except PermissionError:
        return _landlock_version() >= 6
    except ProcessLookupError:
        pass
    return False


def scope_signals() -> bool:
    """Restrict this process to signalling its descendants, so that `kill(-1)` reaches them and nobody else; False if
    the kernel cannot. Where /proc may not be read, no other call reaches every descendant."""
    ruleset = _create_ruleset(_REFER) if _landlock_version() >= 6 else None
    if ruleset is None:
        return False
    _add(ruleset, "/", _REFER)  # otherwise no rename from one folder to another would work once files are hidden
    return enforce(ruleset)


def protect(processes: list[int], *, broadcast: bool = False) -> None:
    """Deny this process signals to, and limits on, these processes and init. `broadcast`: `kill(-1)` stays allowed."""
    everybody = -1 & 0xFFFFFFFF
    denied = {1, everybody, *processes, *(-process & 0xFFFFFFFF for process in processes)}
    denied -= {everybody} if broadcast else set()
    load, equal, leave = 0x20, 0x15, 0x06
    deny, allow = 0x00050001, 0x7FFF0000

    def step(code: int, value: int, if_true: int = 0) -> bytes:
        return struct.pack("=HBBI", code, if_true, 0, value)

    calls = _SIGNAL_CALLS[platform.machine()]
    # a match jumps behind the rest of its list and one exit: of the calls to the processes, of these to the denial
    program = [step(load, 0), *(step(equal, call, len(calls) - place) for place, call in enumerate(calls))]
    program += [step(leave, allow), step(load, 16)]
    program += [step(equal, process, len(denied) - place) for place, process in enumerate(denied)]
    program += [step(leave, allow), step(leave, deny)]
    _install_filter(b"".join(program))
