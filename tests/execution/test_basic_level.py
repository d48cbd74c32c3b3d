"""Where neither bubblewrap nor Landlock can be had, the basic level still keeps a candidate off network and root's files.

It needs root, and an interpreter and a home that another user may enter; the command runs under such an interpreter.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.cli.test_judging import ID, RIGHT

BODIES = {
    "honest": ("", "pass"),
    "socket": ("import socket\n    socket.socket()", "fail"),
    "local socket": ("import socket\n    socket.socket(socket.AF_UNIX)", "fail"),
    "root's files": ("open('/etc/shadow').read()", "fail"),
    "write to the system": ("open('/usr/dlbench-was-here', 'w')", "fail"),
    "write to the tree": ("open(__file__, 'a')", "fail"),
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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(find_open_interpreter() is None, reason="no interpreter that another user may start")
def test_the_basic_level_confines(toy_root, tmp_path, open_home):
    records = []
    for number, (body, _) in enumerate(BODIES.values()):
        code = RIGHT.replace("    if not factor", f"    {body}\n    if not factor" if body else "    if not factor", 1)
        records.append({"instance": ID, "sample": number, "code": code})
    samples = tmp_path / "samples.jsonl"
    samples.write_text("".join(json.dumps(record) + "\n" for record in records))
    paths = [path for path in sys.path if path and Path(path).is_dir()]
    packages = [path for path in paths if "site-packages" in path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2] / "src"), *packages])}
    environment["DLBENCH_HOME"] = str(open_home)
    command = [find_open_interpreter(), "-m", "dlbench", "evaluate", samples, "--out", tmp_path / "out"]
    command += ["--benchmark", toy_root, "--sandbox", "basic", "--timeout", "5", "--memory", "1024"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("warning: the basic level") == 1
    verdicts = [json.loads(line) for line in (tmp_path / "out/verdicts.jsonl").read_text().splitlines()]
    for (name, (_, expected)), verdict in zip(BODIES.items(), verdicts, strict=True):
        assert verdict["status"] in expected.split(), (name, verdict)
        assert verdict["sandbox"] == "basic"
    assert not Path("/usr/dlbench-was-here").exists()
    users = {path.stat().st_uid for path in Path("/proc").glob("[0-9]*")}
    assert not {user for user in users if user >= 1_000_000_000}, "a process of a candidate is still there"
