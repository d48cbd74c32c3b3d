"""Kill every process of a candidate when its execution ends, without a process namespace.

This script runs between the engine and the harness. It gives the harness its user and its Landlock rules, and kills all
it started when the harness ends or the engine dies. Arguments: JSON, then a command.
"""

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

_PDEATHSIG, _KEEPCAPS, _SUBREAPER, _AMBIENT, _AMBIENT_RAISE, _BOUNDING_DROP = 1, 8, 36, 47, 2, 24
_READ_SEARCH = 2  # CAP_DAC_READ_SEARCH
_CAPABILITY_VERSION = 0x20080522

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    plan = json.loads(sys.argv[1])
    libc.prctl(_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda number, frame: _stop(1))
    libc.prctl(_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _confine(plan)
        os.execv(sys.argv[2], sys.argv[2:])
    pid = 0
    while pid != child:
        pid, ended = os.wait()
    status = os.waitstatus_to_exitcode(ended)
    _stop(status if status >= 0 else 128 - status)


def _stop(status: int) -> None:
    """Kill children until none is left, then end. We adopt orphans, so this reaches every descendant."""
    while True:
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
                if int(fields[1]) == os.getpid():
                    os.kill(int(path.parent.name), signal.SIGKILL)
            except (OSError, ValueError):
                continue
        try:
            os.wait()
        except ChildProcessError:
            os._exit(status)


def _confine(plan: dict[str, Any]) -> None:
    user, landlock = plan["user"], plan["landlock"]
    if landlock is not None:
        sys.path.append(landlock["packages"])  # this script runs isolated (-I)

        from sandlock import Sandbox, confine

        readable = [*landlock["readable"], f"/proc/{os.getpid()}"]
        confine(Sandbox(fs_readable=readable, fs_writable=landlock["writable"]))
    if user is not None and os.geteuid() == 0:
        # the capability to enter closed folders of root is safe only under Landlock
        _change_user(user, keep=_READ_SEARCH if landlock is not None else None)


def _change_user(user: int, keep: int | None) -> None:
    libc.prctl(_KEEPCAPS, 1 if keep is not None else 0, 0, 0, 0)
    for capability in range(64):
        if capability != keep:
            libc.prctl(_BOUNDING_DROP, capability, 0, 0, 0)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    if keep is None:
        return
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    data = (ctypes.c_uint32 * 6)(1 << keep, 1 << keep, 1 << keep, 0, 0, 0)
    if libc.capset(header, data) or libc.prctl(_AMBIENT, _AMBIENT_RAISE, keep, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot keep CAP_DAC_READ_SEARCH")


if __name__ == "__main__":
    main()
