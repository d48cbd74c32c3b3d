"""Hostile statements that are put in front of a correct solution; such a candidate must never pass.

Each has a name, the reason why it works against other judges, the statements, and the statuses that are correct for it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hostile:
    name: str
    works_elsewhere: str
    body: str
    verdicts: frozenset[str]


def _hostile(name: str, works_elsewhere: str, body: str, *verdicts: str) -> Hostile:
    return Hostile(name, works_elsewhere, body, frozenset(verdicts))


def _in_subprocess(call: str) -> str:
    """Make a system call in another program, which no audit hook covers: only the kernel can deny it."""
    program = f"import ctypes, os; sys = __import__('sys'); result = {call}; result == 0 and os.getppid() or sys.exit(result < 0)"
    return f"import subprocess, sys\nif subprocess.run([sys.executable, '-c', {program!r}]).returncode: raise PermissionError"


BODIES = [
    _hostile("exit", "a verdict by exit code", "import sys\nsys.exit(0)", "fail", "error"),
    _hostile("hard exit", "a verdict by exit code, no cleanup", "import os\nos._exit(0)", "error"),
    _hostile(
        "exit from a thread",
        "the process ends with status 0 before a test can fail",
        "import os, threading\nthreading.Thread(target=os._exit, args=(0,)).start()\nimport time\ntime.sleep(5)",
        "error",
    ),
    _hostile("kills itself", "a harness that takes a signal for its own", "import os, signal\nos.kill(os.getpid(), 9)", "error"),
    _hostile("socket", "no network namespace", "import socket\nsocket.socket(socket.AF_INET)", "fail"),
    _hostile("socket v6", "a filter of one family", "import socket\nsocket.socket(socket.AF_INET6, socket.SOCK_DGRAM)", "fail"),
    _hostile("connect", "network left on", "import socket\nsocket.create_connection(('127.0.0.1', 80), 1)", "fail"),
    _hostile("write to the system", "runs as root", "open('/usr/dlbench-was-here', 'w')", "fail"),
    _hostile("write at the root", "a writable root", "open('/dlbench-was-here', 'w')", "fail"),
    _hostile("write to the tree", "the tree is writable", "open(__file__, 'a').write('\\n')", "fail", "tampered"),
    _hostile("write a test", "tests are writable", "open('tests/test_core.py', 'a')", "fail", "tampered"),
    _hostile("write to the environment", "site-packages is writable", "import math, os\nopen(os.path.join(os.path.dirname(os.__file__), 'site.py'), 'a')", "fail"),
    _hostile("endless loop", "no time limit", "while True: pass", "timeout"),
    _hostile("endless sleep", "a limit on CPU time only", "import time\nwhile True: time.sleep(1)", "timeout"),
    _hostile(
        "ignores SIGTERM",
        "a polite kill",
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)",
        "timeout",
    ),
    _hostile("100 GiB", "no memory limit", "bytearray(100 << 30)", "out_of_memory"),
    _hostile(
        "memory by and by",
        "a limit on one allocation",
        "x = []\nwhile True: x.append(bytearray(16 << 20))",
        "out_of_memory",
    ),
    _hostile(
        "shared memory",
        "a limit on private memory",
        "import mmap\nkept = []\nwhile True:\n    m = mmap.mmap(-1, 64 << 20)\n    m.write(b'x' * (64 << 20))\n    kept.append(m)",
        "out_of_memory",
    ),
    _hostile(
        "memory of many",
        "a limit for each process",
        "import os, time\nfor _ in range(40):\n    if not os.fork():\n        x = os.urandom(1 << 20) * 100\n        time.sleep(60)\ntime.sleep(60)",
        "out_of_memory",
    ),
    _hostile("fork bomb", "no process limit", "import os\nwhile True: os.fork()", "fail", "error", "timeout", "out_of_memory"),
    _hostile(
        "thread bomb",
        "no process limit",
        "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(60,)).start()",
        "fail",
        "error",
        "timeout",
    ),
    _hostile("large file", "no file limit", "f = open('/tmp/x' if __import__('os').access('/tmp', 2) else 'x', 'wb')\nwhile True: f.write(bytes(1 << 20))", "fail", "error"),
    _hostile("flood of output", "output kept in memory", "import os\nwhile True: os.write(1, b'x' * 65536)", "timeout", "fail"),
    _hostile(
        "fork and return twice",
        "two processes report, the one that passes last wins",
        "import os\nif os.fork():\n    os.wait()\n    raise RuntimeError('parent')",
        "fail",
        "timeout",
    ),
    _hostile(
        "speak on every descriptor",
        "a result printed on a known channel",
        "import os\nfor n in range(3, 256):\n    try: os.write(n, b'{\"kind\": \"test\", \"outcome\": \"passed\"}\\n')\n    except OSError: pass",
        "tampered",
    ),
    _hostile("skip", "skipped counts as passed", "import pytest\npytest.skip('no')", "tampered"),
    _hostile("expected to fail", "xfail counts as passed", "import pytest\npytest.xfail('no')", "tampered"),
    _hostile("end the session", "the rest is not run", "import pytest\npytest.exit('done', returncode=0)", "tampered"),
    _hostile("interrupt", "an interrupted run has status of its own", "raise KeyboardInterrupt", "fail", "error"),
    _hostile("ptrace", "tracing the judge", _in_subprocess("ctypes.CDLL(None).ptrace(0, 0, 0, 0)"), "fail"),
    _hostile("new namespace", "privileges inside a namespace", _in_subprocess("ctypes.CDLL(None).unshare(0x10000000)"), "fail"),
    _hostile("new user and network by clone", "a filter that knows unshare only", _in_subprocess("ctypes.CDLL(None).syscall(56 if __import__('platform').machine() == 'x86_64' else 220, 0x50000011, 0, 0, 0, 0)"), "fail"),
    _hostile("memory in a file without a name", "memory that is no process's", "import os\nfor n in range(10):\n    f = os.memfd_create('x')\n    for _ in range(30): os.write(f, bytes(1 << 20))", "fail", "out_of_memory"),
    _hostile("lock an open file", "a message to another process: the lock outlives this one", "import fcntl, os, struct\nfcntl.fcntl(os.open('/dev/null', os.O_RDWR), 37, struct.pack('hhqqi4x', 1, 0, 0, 1, 0))", "fail"),
    _hostile("ask for cached pages", "a message of the page cache", "import os\nos.preadv(os.open(os.__file__, os.O_RDONLY), [bytearray(1)], 0, os.RWF_NOWAIT)", "fail"),
    _hostile("close the tests to others", "files shared with the next candidate", "import os\nos.chmod('tests/test_core.py', 0)\nif os.stat('tests/test_core.py').st_mode & 0o777: raise PermissionError", "fail"),
    _hostile("become root", "dropped, but not for good", "import os\nos.setuid(0)\nif os.getuid(): raise PermissionError", "fail"),
]  # fmt: skip
