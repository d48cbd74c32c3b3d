"""Run an agent's command in a sandbox of its own, within limits.

It sees the system's programs, the interpreter with the project's packages, mounted folders and its work folder. Its
network has one port, which the relay serves. No process of it is left when `run_agent` returns.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO, Protocol

from dlbench.errors import DLBenchError
from dlbench.execution.launch import describe_limits
from dlbench.execution.processes import borrow_cpus, borrow_group, find_descendants, is_alive, memory_mb
from dlbench.execution.sandbox import Cell, Sandbox, find_sandboxes, reaper
from dlbench.execution.sandbox.base import inside
from dlbench.execution.sandbox.bubblewrap import Bubblewrap, open_parents
from dlbench.execution.sandbox.landlock import READABLE, Sandlock
from dlbench.execution.sandbox.seccomp import build_filter
from dlbench.execution.supervise import POLL_SECONDS, check_stop, prepare_group
from dlbench.workspace import home

PORT = 8090
RELAY = f"http://127.0.0.1:{PORT}"
"""The relay's address, in the network of each sandbox."""
_WRITABLE = {
    "work": Path("/work"),
    "tmp": Path("/tmp"),
    "var": Path("/var/tmp"),
    "home": Path("/home/agent"),
}
"""Folders of an attempt, and where bubblewrap mounts them."""
_HARNESS, _SHARED = Path("/run/dlbench"), ("--perms", "1777", "--size", str(64 << 20), "--tmpfs", "/dev/shm")
_SITES = ("lib/python3*/site-packages", "lib/python3*/dist-packages", "local/lib/python3*/dist-packages")
_MOST_OUTPUT, _PASSWD = 16 << 20, "agent:x:{user}:{user}::/home/agent:/bin/bash\n"


@dataclass(frozen=True)
class Ended:
    """How an agent ended. `stopped`: the limit that ended it, or nothing."""

    exit: int | None
    stopped: str
    seconds: float
    memory_mb: float


def describe_proxy() -> dict[str, str]:
    """Variables by which programs send what leaves the sandbox to the relay."""
    found = {"http_proxy": RELAY, "https_proxy": RELAY, "no_proxy": "127.0.0.1,localhost"}
    return found | {name.upper(): value for name, value in found.items()} | {"NODE_USE_ENV_PROXY": "1"}


def choose_agent_sandbox(name: str = "auto") -> Sandbox:
    """The strongest sandbox that also gives an agent a network of its own."""
    reasons = []
    for sandbox, obstacle in find_sandboxes():
        if isinstance(sandbox, Bubblewrap | Sandlock) and name in ("auto", sandbox.name):
            obstacle = obstacle or ("" if isinstance(sandbox, Bubblewrap) else _find_unshare_obstacle())
            if not obstacle:
                return sandbox
            reasons.append(f"{sandbox.name}: {obstacle}")
    what = f"no sandbox for agents works here ({'; '.join(reasons) or f'{name} gives them no network of their own'})"
    raise DLBenchError(what, fix="install bubblewrap, and use --sandbox auto")


def _unshare() -> list[str]:
    """Namespaces that end with this process, with their first process and so with all others."""
    command = ["setpriv", "--pdeathsig", "SIGKILL", "unshare", "--kill-child", "--fork", "--mount-proc"]
    command += ["--net", "--pid", "--ipc", "--uts"]
    return command if os.geteuid() == 0 else [*command, "--map-root-user"]


@cache
def _find_unshare_obstacle() -> str:
    try:
        return subprocess.run([*_unshare(), "true"], capture_output=True, text=True, check=False).stderr.strip()
    except OSError:
        return "util-linux (setpriv, unshare) is not installed"


def find_installed(names: Collection[str], places: Iterable[Path]) -> list[Path]:
    """What is installed under one of these names in the visible places: copies of the project."""
    wanted = {re.sub(r"[-_.]+", "_", name).lower() for name in names}
    sites = {site.resolve() for place in places for pattern in _SITES for site in place.glob(pattern)}
    entries = [entry for site in sites for entry in site.iterdir()]
    return sorted(one for one in entries if re.split(r"\.|-\d", one.name)[0].lower().replace("-", "_") in wanted)


@dataclass(frozen=True)
class AgentCell:
    """The folders of one attempt, and what its sandbox shows besides."""

    cell: Cell
    sandbox: Sandbox
    mounts: tuple[Path, ...]
    hidden: tuple[Path, ...]

    @classmethod
    def make(cls, cell: Cell, sandbox: Sandbox, mounts: Sequence[Path], names: Collection[str]) -> "AgentCell":
        """`names`: of the project and its packages; installed copies of it are hidden."""
        visible = (cell.prepared.environment, cell.interpreter_root, *mounts, Path("/usr"), Path("/usr/local"))
        hidden = find_installed(names, visible)
        kept = home().resolve()
        inside_it = [place for place in mounts if place.is_relative_to(kept)]
        if shown := [*inside_it, *(place for place in visible if kept.is_relative_to(place))]:
            raise DLBenchError(
                "the agent would see the workspace", where=str(shown[0]), fix="do not --mount this folder"
            )
        if hidden and not isinstance(sandbox, Bubblewrap):
            what = "the agent would see an installed copy of the project"
            raise DLBenchError(what, where=str(hidden[0]), fix="install bubblewrap, which can hide it")
        for name in _WRITABLE:
            (cell.folder / name).mkdir()
        shutil.copytree(inside() / "inside", cell.folder / "harness/inside")
        for script in ("start.py", "builtin.py"):
            shutil.copy(Path(__file__).parent / script, cell.folder / "harness")
        return cls(cell, sandbox, tuple(mounts), tuple(hidden))

    @property
    def is_mounted(self) -> bool:
        return isinstance(self.sandbox, Bubblewrap)

    @property
    def user(self) -> int | None:
        return self.cell.user if os.geteuid() == 0 else None

    @property
    def work(self) -> Path:
        """The work folder, on this machine."""
        return self.cell.folder / "work"

    @property
    def writable(self) -> list[str]:
        return [str(self.cell.folder / name) for name in _WRITABLE]

    def show(self, name: str) -> Path:
        """A folder of the attempt, as the agent sees it."""
        return {**_WRITABLE, "harness": _HARNESS}[name] if self.is_mounted else self.cell.folder / name

    @property
    def environment(self) -> dict[str, str]:
        fixed = {"USER": "agent", "LANG": "C.UTF-8", "TERM": "dumb", "PAGER": "cat", "GIT_CONFIG_NOSYSTEM": "1"}
        fixed["PYTHONDONTWRITEBYTECODE"] = "1"  # bytecode is no part of an answer
        path = f"{self.cell.prepared.python.parent}:/usr/local/bin:/usr/bin:/bin"
        return fixed | {"PATH": path, "HOME": str(self.show("home")), "TMPDIR": str(self.show("tmp"))}

    def build_command(self, channel: int) -> list[str]:
        python, start = str(self.cell.prepared.python), str(self.show("harness") / "start.py")
        listen, run = ["-B", "-s", start, "listen", str(channel), str(PORT)], [python, "-B", "-s", start, "run"]
        places = [self.cell.interpreter_root, self.cell.prepared.environment, *self.mounts]
        if isinstance(self.sandbox, Bubblewrap):
            return [*self._mount(self.sandbox, places), python, *listen, *run]
        import sandlock

        readable = [str(one) for one in (*map(Path, READABLE), *places, self.show("harness")) if one.exists()]
        files: dict[str, object] = {"readable": [*readable, "/proc"], "writable": [*self.writable, "/dev/null"]}
        files["packages"] = str(Path(sandlock.__file__).parent.parent)
        plan = json.dumps({"user": self.user, "landlock": files})
        return [*_unshare(), sys.executable, *listen, sys.executable, "-I", reaper.__file__, plan, *run]

    def _mount(self, sandbox: Bubblewrap, places: Iterable[Path]) -> list[str]:
        for name, text in {"passwd": _PASSWD.format(user=self.user or 1000), "hosts": "127.0.0.1 localhost\n"}.items():
            (self.cell.folder / name).write_text(text, encoding="utf-8")
        command = [*sandbox.begin(), *_SHARED, "--chmod", "0755", "/etc"]
        command += ["--ro-bind-try", "/etc/os-release", "/etc/os-release"]
        for name, place in _WRITABLE.items():
            command += [*open_parents(place), "--bind", str(self.cell.folder / name), str(place)]
        shown = {place: place for place in places if not place.is_relative_to("/usr")}
        shown |= {Path("/etc", name): self.cell.folder / name for name in ("passwd", "hosts")}
        for place, source in {**shown, _HARNESS: self.cell.folder / "harness"}.items():
            command += [*open_parents(place), "--ro-bind", str(source), str(place)]
        for place in self.hidden:
            command += ["--tmpfs"] if place.is_dir() else ["--ro-bind", str(self.cell.empty_file)]
            command.append(str(place))
        return [*command, "--remount-ro", "/dev", "--remount-ro", "/"]

    def describe(self, command: Sequence[str], environment: Mapping[str, str]) -> bytes:
        user = self.user if self.is_mounted else None  # otherwise the reaper changes the user
        plan: dict[str, object] = {
            "command": list(command),
            "environment": dict(environment),
            "folder": str(self.show("work")),
        }
        plan |= {"limits": describe_limits(self.cell.limits), "user": user}
        plan["seccomp"] = build_filter(mounted=self.is_mounted, network=True).hex()
        return json.dumps(plan).encode()

    def measure_mb(self, *names: str) -> float:
        """Apparent size, since a file with holes is read as a whole; and 4 KiB for each entry."""
        total, folders = 0, [str(self.cell.folder / name) for name in names]
        while folders:  # not by recursion, which an agent could exhaust by nested folders
            with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
                for entry in entries:
                    folders += [entry.path] if entry.is_dir(follow_symlinks=False) else []
                    with contextlib.suppress(OSError):
                        total += 4096 + entry.stat(follow_symlinks=False).st_size
        return total / (1 << 20)


class PortServer(Protocol):
    def serve(self, listener: socket.socket) -> AbstractContextManager[None]:
        """Serve the port of the sandbox as long as the context is open."""
        ...

    def find_reason(self) -> str:
        """Why the attempt must end, if it must."""
        ...


def run_agent(
    cell: AgentCell,
    plan: bytes,
    output: Path,
    server: PortServer,
    errors: Path | None = None,
    stdin: BinaryIO | None = None,
) -> Ended:
    """Run the command of `AgentCell.describe` to its end or to a limit. `output`: the file for what it prints;
    `errors`: one of its own for the error stream."""
    if cell.user is not None:
        subprocess.run(["chown", "-hR", f"{cell.user}:{cell.user}", *cell.writable], check=True)
    host, child = socket.socketpair()
    with host, child, borrow_group() as group, contextlib.ExitStack() as stack:
        cpus = stack.enter_context(borrow_cpus(cell.cell.limits.cpus))
        files = [stack.enter_context(place.open("wb", buffering=0)) for place in (output, errors) if place]
        is_full = prepare_group(group, cell.cell.limits)
        process = subprocess.Popen(
            cell.build_command(child.fileno()),
            stdin=stdin or subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if errors else subprocess.STDOUT,
            pass_fds=[child.fileno()],
            env={"PATH": os.defpath, "LANG": "C.UTF-8"},
            start_new_session=True,
        )
        child.close()
        began, room, failures = time.monotonic(), [_MOST_OUTPUT] * len(files), list[OSError]()
        pipes = [stack.enter_context(pipe) for pipe in (process.stdout, process.stderr) if pipe is not None]

        def record(number: int) -> None:
            """From a pipe, so that the agent cannot change what it wrote."""
            while data := os.read(pipes[number].fileno(), 1 << 16):
                try:
                    files[number].write(data[: room[number]])
                    room[number] = max(0, room[number] - len(data))
                except OSError as error:  # a full disk ends the attempt; a pipe that nobody reads would block it
                    failures.append(error)
                    room[number] = 0

        recorders = [threading.Thread(target=record, args=(number,)) for number in range(len(pipes))]
        for recorder in recorders:
            recorder.start()
        try:
            listener = _receive(host, errors or output)
            for pid in find_descendants(process.pid):
                if cpus:
                    with contextlib.suppress(ProcessLookupError):
                        os.sched_setaffinity(pid, cpus)
                if group is not None:
                    group.add(pid)
            with listener, server.serve(listener):
                host.sendall(plan)
                host.shutdown(socket.SHUT_WR)
                watch = _Watch(process, cell, room)
                watch.run(lambda: "memory" if is_full() else server.find_reason())
        finally:
            _end(process)
            for recorder in recorders:
                recorder.join()
            subprocess.run(["chmod", "-R", "u+rwX", *cell.writable], check=False, capture_output=True)
    check_stop()
    if failures:
        raise failures[0]
    exit_status = None if watch.stopped else process.returncode
    return Ended(exit_status, watch.stopped, time.monotonic() - began, watch.memory_mb)


def _receive(host: socket.socket, output: Path) -> socket.socket:
    """The sandbox's port, if its network is not ours."""
    host.settimeout(60)
    network, descriptors = b"", list[int]()
    with contextlib.suppress(OSError):
        network, descriptors, _, _ = socket.recv_fds(host, 4096, 1)
    if not descriptors:
        time.sleep(POLL_SECONDS)
        where = output.read_text(encoding="utf-8", errors="replace").strip()[-500:]
        raise DLBenchError("the agent's sandbox did not start", where=where, fix="see `dlbench doctor`")
    if network == bytes(Path("/proc/self/ns/net").readlink()):
        os.close(descriptors[0])
        raise DLBenchError("the agent's sandbox has the network of this machine", fix="install bubblewrap")
    return socket.socket(fileno=descriptors[0])


@dataclass
class _Watch:
    process: "subprocess.Popen[bytes]"
    cell: AgentCell
    room: list[int]
    stopped: str = ""
    memory_mb: float = 0.0

    def run(self, find_reason: Callable[[], str]) -> None:
        """Until the agent has ended, or has reached a limit."""
        limits, began, measured, cost = self.cell.cell.limits, time.monotonic(), 0.0, 0.0
        while self.process.poll() is None and not self.stopped:
            time.sleep(POLL_SECONDS)
            check_stop()
            now = time.monotonic()
            processes = find_descendants(self.process.pid, limits.processes)
            if len(processes) > limits.processes:  # first: to measure them all takes long
                self.stopped = "processes"
                return
            self.memory_mb = max(self.memory_mb, memory_mb(processes, limits.memory_mb))
            reached = {"memory": self.memory_mb > limits.memory_mb, "output": not all(self.room)}
            reached["time"] = now - began > limits.test_seconds
            if now - measured > max(0.5, 10 * cost):
                reached["disk"] = self.cell.measure_mb(*_WRITABLE) > limits.disk_mb
                measured = time.monotonic()
                cost = measured - now
            self.stopped = next((name for name, is_reached in reached.items() if is_reached), find_reason())
        self.stopped = self.stopped or find_reason()


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill the first process of the namespace, with which the kernel ends all others, and wait until they are gone."""
    family = find_descendants(process.pid) if process.poll() is None else []
    for pid in family:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    while any(map(is_alive, family)):
        time.sleep(0.01)
