"""Sandbox by bubblewrap: a candidate sees only what is mounted for it.

As root, bubblewrap mounts with root's rights and the harness then becomes an unprivileged user, so that process limits
hold and root's files cannot be read. Otherwise it uses a user namespace.
"""

import os
import shutil
import subprocess
from functools import cache, cached_property
from pathlib import Path

from dlbench.execution.sandbox.base import ENTRY, SANDBOXES, Cell, Launch, inside, list_compiled
from dlbench.execution.sandbox.seccomp import build_filter, find_filter_obstacle

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_SETTINGS = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime")
_PROCESSORS = Path("/sys/devices/system/cpu")
"""Features of the processor. On ARM, torch reads them here and multiplies no half-precision matrices without them."""
_INSIDE = Path("/run/dlbench")
_TEMPORARY = (Path("/tmp"), Path("/var/tmp"), Path("/run/dlbench-tmp"))
_SHARED_MEMORY = "/dev/shm"
_SHOWN = {"cpuinfo", "version", "filesystems", "cmdline", "self", "thread-self", "mounts", "net", "sys", "uptime"}
"""What a candidate sees in /proc, besides processes. All else counts what every process of the machine does, and could
carry what one candidate saw of the tests to the next."""
_FROZEN = ("meminfo", "stat")
"""Files there that libraries need: copies, read once."""
_COUNTERS = ("fs/file-nr", "fs/inode-nr", "fs/inode-state", "fs/dentry-state", "fs/aio-nr", "kernel/pty/nr")


class Bubblewrap:
    name = "bubblewrap"
    confines = True
    warning = ""

    def find_obstacle(self) -> str:
        if obstacle := find_filter_obstacle():
            return obstacle
        if shutil.which("bwrap") is None:
            return "bwrap is not installed (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap)"
        return "" if self._privileges is not None else "bwrap cannot make namespaces here"

    @cached_property
    def _privileges(self) -> tuple[str, ...] | None:
        """The options that work here, if any do.

        Root never uses a user namespace: the kernel still counts a candidate inside as root, whose processes have no
        limit, and a fork bomb would take the machine.
        """
        options = _AS_ROOT if os.geteuid() == 0 else _AS_USER
        command = [*_base(options), "--size", "4096", "--tmpfs", "/tmp", "--remount-ro", "/", "true"]
        ended = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
        return options if ended.returncode == 0 else None

    def begin(self) -> list[str]:
        """The beginning of every command: namespaces, the system's files, and no others."""
        assert self._privileges is not None
        return _base(self._privileges)

    def launch(self, cell: Cell, channel: int) -> Launch:
        prepared, tree = cell.prepared, str(cell.prepared.tree)
        places = list(dict.fromkeys([cell.interpreter_root, prepared.environment, prepared.tree]))
        # not above the project: a mount there would hide the project, or could replace it
        temporary = next(folder for folder in _TEMPORARY if not any(place.is_relative_to(folder) for place in places))
        writable = (str(temporary), _SHARED_MEMORY)
        command = [*self.begin(), *open_parents(temporary)]
        for folder in writable:
            command += ["--perms", "1777", "--size", str(cell.limits.disk_mb << 20), "--tmpfs", folder]
        command += ["--perms", "1777", "--dir", f"{temporary}/home"]
        for place in places:
            if not place.is_relative_to("/usr"):
                command += [*open_parents(place), "--ro-bind", str(place), str(place)]
        if cell.path is not None:
            command += ["--ro-bind", str(cell.spliced), f"{tree}/{cell.path}"]
            for path in list_compiled(prepared.tree, cell.path):
                command += ["--ro-bind", str(cell.empty_file), f"{tree}/{path}"]
        command += [*open_parents(_INSIDE), "--ro-bind", str(inside()), str(_INSIDE)]
        for name in _FROZEN:
            frozen = cell.folder / name
            frozen.write_text(_read_once(f"/proc/{name}"))
            frozen.chmod(0o644)
            command += ["--ro-bind", str(frozen), f"/proc/{name}"]
        command += ["--remount-ro", "/dev", "--remount-ro", "/"]
        command += ["--chdir", tree, str(prepared.python), "-B", "-s", str(_INSIDE / ENTRY), str(channel)]
        user = cell.user if self._privileges is _AS_ROOT else None
        return Launch(command, prepared.tree, temporary, writable, user, build_filter(mounted=True))


_AS_ROOT = ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
_AS_USER = ("--unshare-user", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL")


def open_parents(place: Path) -> list[str]:
    """Make the parents of a mount point; those that bwrap makes itself can be entered by root only."""
    parents = [str(parent) for parent in reversed(place.parents) if str(parent) != "/"]
    return [word for parent in parents for word in ("--perms", "0755", "--dir", parent)]


@cache
def _read_once(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


@cache
def _hide_counters() -> list[str]:
    shown = {*_SHOWN, *_FROZEN}
    places = [place for place in Path("/proc").iterdir() if not place.name.isdigit() and place.name not in shown]
    places += [place for name in _COUNTERS if (place := Path("/proc/sys", name)).exists()]
    words: list[str] = []
    for place in places:
        hide = ["--tmpfs", str(place), "--remount-ro"] if place.is_dir() else ["--ro-bind", "/dev/null"]
        words += [*hide, str(place)]
    return words


def _base(privileges: tuple[str, ...]) -> list[str]:
    command = [shutil.which("bwrap") or "bwrap", *privileges]
    command += ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    command += ["--die-with-parent", "--new-session", "--hostname", "dlbench", "--proc", "/proc", "--dev", "/dev"]
    for place in _SYSTEM:
        path = Path(place)
        if path.is_symlink():
            command += ["--symlink", str(path.readlink()), place]
        elif path.exists():
            command += ["--ro-bind", place, place]
    for place in _SETTINGS:
        command += ["--ro-bind-try", place, place]
    command += _hide_counters()
    return [*command, *open_parents(_PROCESSORS), "--ro-bind-try", str(_PROCESSORS), str(_PROCESSORS)]


SANDBOXES.add(Bubblewrap.name, Bubblewrap(), order=10)
