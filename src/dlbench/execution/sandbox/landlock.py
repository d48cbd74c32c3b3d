"""Sandboxes without bubblewrap: sandlock, basic and unconfined.

`sandlock` (Landlock) lists the files that may be read and the one folder that may be written, without namespaces.
`basic` must start as root, then drops to an unprivileged user; its only kernel requirement is seccomp.
"""

import json
import os
import shutil
import sys
from pathlib import Path

from dlbench.execution.sandbox import reaper
from dlbench.execution.sandbox.base import ENTRY, SANDBOXES, Cell, Launch, build_tree, inside, make_private_folder
from dlbench.execution.sandbox.seccomp import build_filter, find_filter_obstacle
from dlbench.workspace import home

READABLE = (
    "/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives",
    "/sys/devices/system/cpu", "/dev/urandom", "/dev/random", "/dev/zero",
    # not all of /proc, which shows the command lines of other processes
    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/filesystems", "/proc/sys",
)  # fmt: skip


def _launch(cell: Cell, channel: int, *, landlock: bool, user: int | None, filtered: bool) -> Launch:
    tree = cell.prepared.tree
    if cell.path is not None or not landlock:  # a candidate that runs as our user could change a file by a hard link
        tree = build_tree(cell, shared=user is not None)
    temporary = make_private_folder(cell)
    package = cell.folder / "judge"  # another user may not be able to enter the home
    shutil.copytree(inside(), package)
    files = None
    readable: list[str] = []
    if landlock:
        places = [*map(Path, READABLE), cell.interpreter_root, cell.prepared.environment, tree, package]
        readable = [str(place) for place in places if place.exists()]
        import sandlock

        packages = str(Path(sandlock.__file__).parent.parent)
        files = {"packages": packages, "readable": readable, "writable": [str(temporary), "/dev/null"]}
    command = [sys.executable, "-I", reaper.__file__, json.dumps({"user": user, "landlock": files})]
    command += [str(cell.prepared.python), "-B", "-s", str(package / ENTRY), str(channel)]
    seccomp = build_filter(mounted=False) if filtered else b""
    readable += [str(temporary), "/dev/null", "/proc/self"]
    # /dev/shm, which all processes of the machine share, is closed: no semaphores. joblib warns of that when imported,
    # and a project may turn warnings into errors; told beforehand, it is silent and works in one process
    environment = {"JOBLIB_MULTIPROCESSING": "0"} if landlock else {}
    return Launch(command, tree, temporary, (str(temporary),), None, seccomp, tuple(readable), environment)


class Sandlock:
    name = "sandlock"
    confines = True
    warning = ""

    def find_obstacle(self) -> str:
        if obstacle := find_filter_obstacle():
            return obstacle
        try:
            from sandlock import landlock_abi_version
        except ImportError:
            return "sandlock is not installed (pip install sandlock)"
        too_old = "the kernel's Landlock is too old (ABI 6, Linux 6.12, is needed) or switched off"
        return too_old if landlock_abi_version() < 6 else ""

    def launch(self, cell: Cell, channel: int) -> Launch:
        user = cell.user if os.geteuid() == 0 else None
        return _launch(cell, channel, landlock=True, user=user, filtered=True)


class Basic:
    name = "basic"
    confines = True
    warning = (
        "the basic level keeps candidates off the network and away from your files, but they see what any user of this "
        "machine may read and write; install bubblewrap for real confinement"
    )

    def find_obstacle(self) -> str:
        if obstacle := find_filter_obstacle():
            return obstacle
        if os.geteuid() != 0:
            return "only root can become another user; it is meant for containers that run as root"
        for name, place in (("DLBENCH_HOME", home()), ("the interpreter", Path(sys.executable).resolve())):
            for folder in (place, *place.parents):
                if not folder.stat().st_mode & 0o001:
                    return f"{name} is in {folder}, which only root may enter; choose a place open to all"
        return ""

    def launch(self, cell: Cell, channel: int) -> Launch:
        for name in ("sources", "archives"):  # they hold the reference, and a candidate may read what any user may
            folder = home() / name
            if folder.is_dir():
                folder.chmod(0o700)
        return _launch(cell, channel, landlock=False, user=cell.user, filtered=True)


class Unconfined:
    name = "unconfined"
    confines = False
    warning = "candidates run UNCONFINED, with your rights, as requested"

    def find_obstacle(self) -> str:
        return ""

    def launch(self, cell: Cell, channel: int) -> Launch:
        return _launch(cell, channel, landlock=False, user=None, filtered=False)


SANDBOXES.add(Sandlock.name, Sandlock(), order=20)
SANDBOXES.add(Basic.name, Basic(), order=30)
SANDBOXES.add(Unconfined.name, Unconfined(), order=1000)
