"""Sandboxes register themselves, the strongest that works is chosen, and none is left out without the user's request."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dlbench.errors import DLBenchError
from dlbench.execution import choose_sandbox, find_sandboxes
from dlbench.execution.inside.child import empty_folders
from dlbench.execution.launch import list_test_files
from dlbench.execution.sandbox.base import SANDBOXES


class Broken:
    warning = ""

    def __init__(self, name: str, confines: bool) -> None:
        self.name, self.confines = name, confines

    def find_obstacle(self) -> str:
        return "broken" if self.confines else ""


@pytest.fixture
def only_broken(monkeypatch):
    broken = {name: (order, Broken(name, SANDBOXES[name].confines)) for order, name in enumerate(SANDBOXES)}
    monkeypatch.setattr(SANDBOXES, "_members", broken)


def test_sandboxes_are_sorted_by_strength():
    assert list(SANDBOXES) == ["bubblewrap", "sandlock", "basic", "unconfined"]
    assert [sandbox.name for sandbox, _ in find_sandboxes()] == ["bubblewrap", "sandlock", "basic"]


def test_unconfined_is_used_on_request_only(only_broken):
    with pytest.raises(DLBenchError, match="there is no sandbox on this machine"):
        choose_sandbox()
    assert choose_sandbox("unconfined").name == "unconfined"


def test_unknown_sandbox_is_rejected_with_the_names_that_exist():
    with pytest.raises(DLBenchError, match="there is no sandbox 'walls'") as raised:
        choose_sandbox("walls")
    assert "sandlock" in raised.value.fix


def test_registered_sandbox_can_be_chosen(monkeypatch):
    monkeypatch.setattr(SANDBOXES, "_members", dict(SANDBOXES._members))
    SANDBOXES.add("new", Broken("new", confines=False), order=5)
    assert choose_sandbox("new").name == "new"
    assert next(iter(SANDBOXES)) == "new"


SCOPED = """
import os, sys, time
from inside import privileges
from inside.child import end_child

privileges._check(privileges.libc.prctl(38, 1, 0, 0, 0), "no_new_privs")
privileges.adopt_orphans()
if not privileges.scope_signals():
    sys.exit(77)
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(writing, str(os.getpid()).encode())
            time.sleep(60)
        os._exit(0)
    time.sleep(60)
daemon = int(os.read(reading, 20))
end_child(child, is_scoped=True)
try:
    os.kill(daemon, 0)
except ProcessLookupError:
    print("gone")
"""


def test_scoped_broadcast_kills_descendants_and_nobody_else():
    """`kill(-1)` must end a daemon that left its session, and spare our other processes."""
    folder = str(Path(empty_folders.__code__.co_filename).parents[1])
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        environment = {**os.environ, "PYTHONPATH": folder}
        ended = subprocess.run(
            [sys.executable, "-c", SCOPED], env=environment, capture_output=True, text=True, check=False
        )
        if ended.returncode == 77:
            pytest.skip("the kernel cannot scope signals")
        assert ended.stdout == "gone\n", ended.stderr
        time.sleep(0.1)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_folders_are_emptied_however_deep(tmp_path):
    (tmp_path / "home").mkdir()
    place = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("b", dir_fd=place)
        inner = os.open("b", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(place)
    (tmp_path / "home/file").touch()
    (tmp_path / "closed").mkdir(mode=0)
    assert empty_folders({str(tmp_path): ["home"]})
    assert [path.name for path in tmp_path.rglob("*")] == ["home"]


def test_files_that_cannot_be_removed_are_reported(tmp_path, monkeypatch):
    """The server ends then, and the next candidate gets a new folder."""
    (tmp_path / "kept").touch()

    def unlink(name, dir_fd):
        raise PermissionError

    monkeypatch.setattr(os, "unlink", unlink)
    assert not empty_folders({str(tmp_path): []})


def test_tests_are_hidden_and_modules_that_are_only_named_like_them_are_not(tmp_path):
    files = {
        "pkg/__init__.py": "from .test_time import predict\n",
        "pkg/test_time.py": "def predict(): ...\n",
        "pkg/test_cases.py": "EXPECTED = 3\n",
        "pkg/core_test.py": "def test_core(): ...\n",
        "pkg/conftest.py": "",
        "tests/test_data.py": "EXPECTED = 3\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "pkg/test_gone.py").symlink_to("nowhere")
    hidden = {"pkg/test_cases.py", "pkg/core_test.py", "pkg/conftest.py", "tests/test_data.py", "pkg/test_gone.py"}
    assert set(list_test_files(tmp_path)) == hidden
