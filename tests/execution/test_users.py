"""Confinement holds for an ordinary user with bubblewrap or sandlock, and for root at the basic level.

All of them need an interpreter and a home that any user may enter; the command runs under such an interpreter.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dlbench.execution import find_sandboxes
from tests.cli.test_judging import ID, RIGHT
from tests.conftest import write_toy

NOBODY = 65534
SEMAPHORE = """import multiprocessing, os
    try:
        multiprocessing.Lock()
    except OSError:  # no semaphores: joblib must be told
        assert os.environ["JOBLIB_MULTIPROCESSING"] == "0"
    else:
        assert "JOBLIB_MULTIPROCESSING" not in os.environ"""
BODIES = {
    "honest": ("", "pass"),
    "semaphore": (SEMAPHORE, "pass"),
    "socket": ("import socket\n    socket.socket()", "fail"),
    "root's files": ("open('/etc/shadow').read()", "fail"),
    "write to the system": ("open('/usr/dlbench-was-here', 'w')", "fail"),
    "write to the tree": ("open(__file__, 'a')", "fail tampered"),
    "endless loop": ("while True: pass", "timeout"),
    "fork bomb": ("import os\n    while True: os.fork()", "timeout fail error out_of_memory"),
    "100 GiB": ("bytearray(100 << 30)", "out_of_memory"),
    "hard exit": ("import os\n    os._exit(0)", "error"),
    "orphan": ("import os, time\n    if not os.fork():\n        os.setsid()\n        time.sleep(999)", "pass"),
}


def find_open_interpreter() -> str | None:
    for name in (sys.executable, shutil.which("python3.11", path="/usr/bin:/usr/local/bin")):
        if name and all(parent.stat().st_mode & 0o001 for parent in Path(name).resolve().parents):
            return name
    return None


@pytest.fixture
def open_home():
    folder = Path(tempfile.mkdtemp(prefix="dlbench-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def usable(sandbox: str) -> bool:
    return sandbox == "basic" or not {kind.name: obstacle for kind, obstacle in find_sandboxes()}[sandbox]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(find_open_interpreter() is None, reason="no interpreter that another user may start")
@pytest.mark.slow
@pytest.mark.parametrize(("user", "sandbox"), [(0, "basic"), (NOBODY, "bubblewrap"), (NOBODY, "sandlock")])
def test_confinement_holds_for(user, sandbox, open_home):
    if not usable(sandbox):
        pytest.skip(f"{sandbox} cannot be used on this machine")
    records = []
    for number, (body, _) in enumerate(BODIES.values()):
        code = RIGHT.replace("    if not factor", f"    {body}\n    if not factor" if body else "    if not factor", 1)
        records.append({"instance": ID, "sample": number, "code": code})
    samples, out, benchmark = open_home / "samples.jsonl", open_home / "out", write_toy(open_home)
    samples.write_text("".join(json.dumps(record) + "\n" for record in records))
    for folder, _, _ in os.walk(open_home):
        os.chown(folder, user, user)
    packages = [path for path in sys.path if "site-packages" in path]
    source = str(Path(__file__).parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, *packages]), "HOME": str(open_home)}
    environment |= {"DLBENCH_HOME": str(open_home / "home")}
    command = [find_open_interpreter(), "-m", "dlbench", "evaluate", samples, "--out", out]
    command += ["--benchmark", benchmark, "--sandbox", sandbox, "--timeout", "10", "--memory", "1024"]
    ended = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        user=user,
        group=user,
        extra_groups=[],
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("warning: the basic level") == (sandbox == "basic")
    verdicts = [json.loads(line) for line in (out / "verdicts.jsonl").read_text().splitlines()]
    for (name, (_, expected)), verdict in zip(BODIES.items(), verdicts, strict=True):
        assert verdict["status"] in expected.split(), (name, verdict["status"], verdict["mode"], verdict["message"])
        assert verdict["sandbox"] == sandbox
    assert not Path("/usr/dlbench-was-here").exists()
    assert find_processes(open_home) == []


def find_processes(folder: Path) -> list[str]:
    """Processes started from the folder; other candidates may run on this machine at the same time."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (path / "cmdline").read_text()  # empty where a process has ended
            if str(folder) in command:
                found.append(f"{path.name}: {command[:200]}")
    return found
