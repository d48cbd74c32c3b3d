"""Limits hold for the whole process tree of a candidate, and only a real lack of memory is reported as one."""

import os
import subprocess
import threading
from pathlib import Path

import pytest

from dlbench.execution import Limits, judge, launch
from dlbench.execution.fresh import is_memory_failure
from dlbench.execution.processes import find_descendants
from tests.cli.test_judging import ID


def test_descendants_are_found_without_a_scan_of_all_processes(monkeypatch):
    """Every worker polls; on a machine with thousands of processes a scan each time would take most of a core."""
    listed = []
    original = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda path: listed.append(path) or original(path))
    started = []
    thread = threading.Thread(
        target=lambda: started.append(
            subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
        )
    )
    thread.start()
    thread.join()
    (process,) = started
    try:
        grandchild = int(process.stdout.readline())
        assert {os.getpid(), process.pid, grandchild} <= set(find_descendants(os.getpid()))
        assert find_descendants(process.pid) == [process.pid, grandchild]
        assert find_descendants(process.pid, 0) == [process.pid], "a tree over the limit is not read to its end"
        assert Path("/proc") not in listed
    finally:
        os.kill(grandchild, 9)
        process.communicate()


def test_process_limit_of_a_user_covers_all_workers(monkeypatch):
    """Processes of all workers count for one user, and many workers may start after the count was taken."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(launch, "_count_own_threads", lambda: 10)
    workers = max(8, os.cpu_count() or 1)
    limit = launch.describe_limits(Limits(processes=64))["RLIMIT_NPROC"]
    assert limit >= 10 + 64 + 32 * workers, "an honest candidate beside as many that import a framework"
    monkeypatch.setattr(os, "geteuid", lambda: 0)  # each candidate then has its own user
    assert launch.describe_limits(Limits(processes=64))["RLIMIT_NPROC"] == 64


@pytest.mark.parametrize(
    ("error", "is_memory"),
    [
        ("MemoryError", True),
        ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8.00 TiB", True),
        ("RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes.", True),
        ("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory", True),
        ("tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating", True),
        ("ValueError: no\nE   caused by MemoryError", True),
        ("AssertionError: assert 'a' == 'MemoryError'", False),
        ("Failed: DID NOT RAISE <class 'MemoryError'>", False),
        ("ValueError: MemoryError: Unable to allocate", False),
        ("AssertionError: two lines\nE   MemoryError", False),
        ("assert x is MemoryError", False),
        ("", False),
    ],
)
def test_memory_failure_is_told_by_the_type_of_the_exception(error, is_memory):
    assert is_memory_failure(f"tests/test_x.py:3: in test_x\nE   {error}") is is_memory


@pytest.mark.parametrize(
    ("statement", "status"),
    [("raise ValueError('MemoryError: bad_alloc')", "fail"), ("raise MemoryError", "out_of_memory")],
)
def test_message_that_mentions_memory_is_a_plain_failure(statement, status, engine, toy, toy_prepared):
    code = f"def scale(values, factor=2):\n    {statement}\n"
    assert judge(engine, toy_prepared, toy.instances[ID], code).status == status
