"""How is a confined process watched, from outside and to the end?

Its messages are checked, its output is drained and kept short, its time, memory and processes are counted over all its
descendants. Whatever it does, this returns soon after a limit is reached, and nothing of it is left.
"""

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dlbench.execution.confinement import Cell, Confinement, Launch
from dlbench.execution.limits import Limits

_CHANNEL_BYTES = 16 << 20
_KEPT_OUTPUT = 8 << 10
_LOOK_EVERY = 0.1
_PATIENCE = 15.0


class Interrupted(BaseException):
    """The user asked to stop; what was running has no verdict."""


def stop_all() -> None:
    """Ends every execution that this process has under way, for a user who does not want to wait for their limits."""
    with _lock:
        for watch in _under_way:
            watch.is_stopped = True


@dataclass
class Watched:
    """What was seen of one process: its messages, how it ended, what it used."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    stopped_for: str = ""
    forged: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    memory_mb: float = 0.0
    output: str = ""

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.messages if message["kind"] == kind]


def supervise(confinement: Confinement, cell: Cell, tests: list[str], *, collect_only: bool = False) -> Watched:
    secret = secrets.token_bytes(32)
    reading, writing = os.pipe()
    try:
        launch = confinement.launch(cell, writing)
        process = subprocess.Popen(
            launch.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[writing],
            env=_environment(cell, launch),
            cwd=cell.folder,
            start_new_session=True,
        )
    finally:
        os.close(writing)
    job = _job(cell, launch, tests, secret, collect_only)
    watch = _Watch(process, reading, secret, cell.limits)
    with _lock:
        _under_way.add(watch)
    try:
        return watch.run(json.dumps(job).encode())
    finally:
        with _lock:
            _under_way.remove(watch)
        watch.close()


def _job(cell: Cell, launch: Launch, tests: list[str], secret: bytes, collect_only: bool) -> dict[str, Any]:
    limits, project = cell.limits, cell.prepared.project
    cpu = int(2 * (limits.load_seconds + limits.test_seconds)) + 1
    inner = cell.prepared.import_path.relative_to(cell.prepared.tree)
    return {
        "secret": secret.hex(),
        "tests": tests,
        "tree": str(launch.tree),
        "import_path": str(launch.tree / inner),
        "args": list(project.tests.args),
        "user": launch.user,
        "seccomp": launch.seccomp.hex(),
        "collect_only": collect_only,
        "limits": {
            "RLIMIT_DATA": limits.memory_mb << 20,
            "RLIMIT_FSIZE": limits.file_mb << 20,
            "RLIMIT_NOFILE": limits.open_files,
            "RLIMIT_NPROC": limits.processes + (_own_processes() if os.geteuid() else 0),
            "RLIMIT_CPU": cpu,
            "RLIMIT_CORE": 0,
        },
    }


def _own_processes() -> int:
    """Without a user of its own, a candidate's processes are counted together with ours."""
    count = 0
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if path.stat().st_uid == os.getuid():
                count += sum(1 for _ in (path / "task").iterdir())
    return count


def _environment(cell: Cell, launch: Launch) -> dict[str, str]:
    """Nothing of the user's: no key, no home, no path. The rest is fixed, so that a verdict does not depend on it."""
    temporary = str(launch.temporary)
    inner = cell.prepared.import_path.relative_to(cell.prepared.tree)
    fixed = {
        "PATH": f"{cell.prepared.python.parent}:/usr/bin:/bin",
        "HOME": f"{temporary}/home",
        "TMPDIR": temporary,
        "USER": "dlbench",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONPATH": str(launch.tree / inner),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "NUMEXPR_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "JAX_PLATFORMS": "cpu",
        "MPLBACKEND": "Agg",
        "HF_HUB_OFFLINE": "1",
    }
    return fixed | cell.prepared.project.tests.env


class _Watch:
    def __init__(self, process: subprocess.Popen[bytes], channel: int, secret: bytes, limits: Limits) -> None:
        self.process = process
        self.channel = channel
        self.secret = secret
        self.limits = limits
        self.seen = Watched()
        self.buffer = b""
        self.received = 0
        self.output = b""
        self.is_stopped = False
        self.family: set[int] = set()
        self.phase_began = time.monotonic()
        self.phase_seconds = limits.load_seconds

    def run(self, job: bytes) -> Watched:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        began = time.monotonic()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(job)
            self.process.stdin.close()
        with selectors.DefaultSelector() as selector:
            selector.register(self.channel, selectors.EVENT_READ, self._take_messages)
            selector.register(self.process.stdout, selectors.EVENT_READ, self._take_output)
            looked = 0.0
            ended_at: float | None = None
            while True:
                for key, _ in selector.select(timeout=0.02):
                    if not key.data():
                        selector.unregister(key.fileobj)
                now = time.monotonic()
                if ended_at is None and self._has_ended():
                    ended_at = now
                # a descendant that kept the pipes open is killed below; its last words are not waited for
                if ended_at is not None and (not selector.get_map() or now - ended_at > 0.2):
                    break
                if ended_at is None and now - looked > _LOOK_EVERY:
                    looked = now
                    self._look(now)
                if self.seen.stopped_for or self.seen.forged or self.is_stopped:
                    break
        self._kill()
        if self.is_stopped:
            raise Interrupted
        self.seen.seconds = time.monotonic() - began
        self.seen.output = self.output[-_KEPT_OUTPUT:].decode(errors="replace")
        return self.seen

    def _take_output(self) -> bool:
        assert self.process.stdout is not None
        data = os.read(self.process.stdout.fileno(), 1 << 16)
        self.output = (self.output + data)[-4 * _KEPT_OUTPUT :]
        return bool(data)

    def _take_messages(self) -> bool:
        data = os.read(self.channel, 1 << 16)
        self.received += len(data)
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for line in lines:
            self._take_message(line)
        if self.received > _CHANNEL_BYTES or (not data and self.buffer):
            self.seen.forged = "the judge's channel was flooded or cut inside a message"
        return bool(data)

    def _take_message(self, line: bytes) -> None:
        mac, _, body = line.partition(b" ")
        expected = hmac.new(self.secret, body, hashlib.sha256).hexdigest().encode()
        if not hmac.compare_digest(mac, expected):
            self.seen.forged = "something else than the judge wrote on its channel"
            return
        message = json.loads(body)
        if message["n"] != len(self.seen.messages) + 1:
            self.seen.forged = "a message of the judge was repeated or left out"
            return
        self.seen.messages.append(message)
        if message["kind"] == "ready":
            self.family = set(find_descendants(self.process.pid)) - {self.process.pid}
        if message["kind"] == "collected":
            self.phase_began, self.phase_seconds = time.monotonic(), self.limits.test_seconds

    def _has_ended(self) -> bool:
        if self.seen.exit_code is not None:
            return True
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if pid == 0:
            return False
        self.seen.exit_code = self.process.returncode = os.waitstatus_to_exitcode(status)
        self.seen.memory_mb = max(self.seen.memory_mb, usage.ru_maxrss / 1024)
        return True

    def _look(self, now: float) -> None:
        if now - self.phase_began > self.phase_seconds:
            self.seen.stopped_for = "timeout"
            return
        processes = find_descendants(self.process.pid)
        resident = sum(map(_resident_mb, processes))
        if resident > self.limits.memory_mb:  # shared pages count once
            resident = sum(map(_proportional_mb, processes))
        self.seen.memory_mb = max(self.seen.memory_mb, resident)
        if resident > self.limits.memory_mb:
            self.seen.stopped_for = "memory"
        elif len(processes) > self.limits.processes:
            self.seen.stopped_for = "processes"

    def _kill(self) -> None:
        """Ends what still runs and waits until it is gone: a verdict is given over an empty room."""
        if self.seen.exit_code is None:
            self.family |= set(find_descendants(self.process.pid))
            # a warden ends its family before itself. Not by Popen: that would wait for it behind our back
            os.kill(self.process.pid, signal.SIGTERM)
            self._wait_until(self._has_ended)
            for pid in self.family if self.seen.exit_code is None else ():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        # the first process of a namespace goes last, when the kernel has taken all others from it
        self._wait_until(lambda: self._has_ended() and not any(map(_is_alive, self.family)))

    def _wait_until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.002)

    def close(self) -> None:
        if self.seen.exit_code is None:
            self._kill()
        os.close(self.channel)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


_lock = threading.Lock()
_under_way: set[_Watch] = set()


def find_descendants(root: int) -> list[int]:
    """The process and everything that came of it."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = path.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found, pending = [root], [root]
    while pending:
        for child in children.get(pending.pop(), []):
            found.append(child)
            pending.append(child)
    return found


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False


def _resident_mb(pid: int) -> float:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    return 0.0


def _proportional_mb(pid: int) -> float:
    """Where the kernel does not tell, as of a process that made itself opaque, the whole counts."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return _resident_mb(pid)
