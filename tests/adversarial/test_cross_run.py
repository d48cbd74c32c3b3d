"""Cross runs trust neither solutions nor model-written checks: a hostile check affects its own result only."""

import os
import signal
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from dlbench.dataset import load
from dlbench.execution import Engine, Limits, choose_sandbox, find_sandboxes, worker
from dlbench.execution.cross_run import CrossRunWorker
from dlbench.execution.sandbox.base import inside, inside_key
from dlbench.workspace import prepare
from tests.conftest import write_toy

RIGHT = """def scale(values, factor=2):
    if factor == 0:
        raise ValueError("zero")
    return [value * factor for value in values]
"""
# a helper that computes at definition: such a solution must be imported
IMPORTED = "class Helper:\n    one = len('x')\n\n\n" + RIGHT.replace("value * factor", "Helper.one * value * factor")
HONEST = "assert scale([1, 2]) == [2, 4]\n"
WRONG = "assert scale([1, 2]) == [2, 5]\n"

HOSTILE = {
    "hangs": ("while True:\n    pass\n", {"timeout"}),
    "sleeps": ("import time\ntime.sleep(60)\n", {"timeout"}),
    "leaves": ("import os\nos._exit(0)\n", {"crashed"}),
    "exits": ("import sys\nsys.exit(0)\n", {"error"}),
    "dies": ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", {"crashed"}),
    "patches the solution": (
        "import toy.core\ntoy.core.scale = lambda *a: 0\nassert toy.core.scale(1) == 0\n",
        {"passed"},
    ),
    "patches its code": (
        "scale.__code__ = (lambda values, factor=2: 0).__code__\nassert scale([1]) == 0\n",
        {"passed"},
    ),
    "patches Python": (
        "import builtins\nbuiltins.len = None\nimport os\nos.fork = None\nassert scale([1])\n",
        {"passed", "tampered"},
    ),
    "writes files": (
        "import os, tempfile\nfor name in ('a', 'b/c/d'):\n    path = os.path.join(tempfile.gettempdir(), name)\n"
        "    os.makedirs(os.path.dirname(path), exist_ok=True)\n    open(path, 'w').write('x')\nassert scale([1])\n",
        {"passed"},
    ),
    "writes to the project": ("import toy.core\nopen(toy.core.__file__, 'a').write('1/0')\n", {"error"}),
    "kills its parent": ("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n", {"error"}),
    "kills everybody": ("import os, signal\nos.kill(-1, signal.SIGKILL)\n", {"error", "crashed"}),
    "leaves a daemon": (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        while True:\n"
        "            open('/dev/shm/left', 'w').write('x')\n            time.sleep(0.01)\n    os._exit(0)\nassert scale([1])\n",
        {"passed"},
    ),
    "forks for ever": ("import os\nwhile True:\n    os.fork()\n", {"timeout", "error", "crashed", "out_of_memory"}),
    "eats memory": (
        "x = []\nwhile True:\n    x.append(bytearray(1 << 24))\n",
        {"error", "crashed", "out_of_memory", "timeout"},
    ),
    "writes on every descriptor": (
        'import os\nfor number in range(3, 64):\n    try:\n        os.write(number, b\'{"kind": "result", "outcome": "passed"}\\n\')\n'
        "    except OSError:\n        pass\nos._exit(0)\n",
        {"tampered", "crashed"},
    ),
    "prints without end": ("while True:\n    print('x' * 100000)\n", {"timeout"}),
    "closes everything": ("import os\nos.closerange(0, 256)\nassert scale([1])\n", {"crashed"}),
    "asks for input": ("input()\n", {"error"}),
    "reaches the network": ("import socket\nsocket.create_connection(('127.0.0.1', 80), 1)\n", {"error"}),
    "reads the project's tests": ("open('tests/test_core.py').read()\n", {"error"}),
    "reads the reference": ("import toy.core\nopen(toy.core.__file__).read()\n", {"error"}),
    "is not Python": ("assert scale([1]) == \n", {"error"}),
    "is deep": ("x = " + "(" * 5000 + ")" * 5000 + "\n", {"error", "crashed"}),
}


@contextmanager
def open_runner(sandbox):
    toy = load(write_toy(Path(tempfile.mkdtemp(prefix="dlbench-cross-run-"))))
    limits = Limits(load_seconds=180, test_seconds=30, memory_mb=512, processes=64, file_mb=32)
    runner = CrossRunWorker(Engine(choose_sandbox(sandbox), limits), prepare(toy.projects["toy"], toy.root))
    runner.instance = toy.instances["toy/toy.core.scale"]
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def runner():
    with open_runner("auto") as runner:
        yield runner


def run_hostile_checks(runner, code, names):
    """Only checks that may end in a timeout have a limit that a busy machine can reach."""
    endless = [name for name in names if "timeout" in HOSTILE[name][1]]
    for part, seconds in ((endless, 3.0), ([name for name in names if name not in endless], 60.0)):
        checks = [check for name in part for check in (HOSTILE[name][0], HONEST, WRONG)]
        found = [one.result for one in runner.run_checks(runner.instance, code, checks, seconds=seconds)]
        assert set(found[1::3]) <= {"passed"}
        assert set(found[2::3]) <= {"failed"}
        results = dict(zip(part, found[0::3], strict=True))
        assert {name: result for name, result in results.items() if result not in HOSTILE[name][1]} == {}
    assert runner.losses == []


@pytest.mark.parametrize("code", [RIGHT, pytest.param(IMPORTED, marks=pytest.mark.slow)], ids=["in place", "imported"])
def test_hostile_check_affects_only_its_own_result(runner, code):
    run_hostile_checks(runner, code, list(HOSTILE))


@pytest.mark.parametrize("code", [RIGHT, IMPORTED], ids=["in place", "imported"])
def test_processes_of_a_check_are_ended_without_reading_proc(code):
    """sandlock hides /proc, so that the children of a process cannot be listed there."""
    if {kind.name: obstacle for kind, obstacle in find_sandboxes()}["sandlock"]:
        pytest.skip("sandlock cannot be used on this machine")
    with open_runner("sandlock") as runner:
        run_hostile_checks(runner, code, ["hangs", "leaves a daemon", "forks for ever", "kills everybody"])


def test_files_of_a_check_are_removed_before_the_next(runner):
    look = "import os, tempfile\nassert not {'a', 'b'} & set(os.listdir(tempfile.gettempdir()))\n"
    look += "assert not os.path.exists('/dev/shm/left')\nassert scale([1])\n"
    deep = "import os, tempfile\nos.chdir(tempfile.gettempdir())\nfor _ in range(1500):\n    os.mkdir('b')\n    os.chdir('b')\n"
    deep += "open('x', 'w').write('x')\nos.chmod('.', 0)\nassert scale([1])\n"
    checks = [HOSTILE["writes files"][0], look, HOSTILE["leaves a daemon"][0], look, deep, look]
    assert [one.result for one in runner.run_checks(runner.instance, RIGHT, checks, seconds=30.0)] == ["passed"] * 6


GREEDY = """import os, signal, time
def take(size):
    child = os.fork()
    if child == 0:
        kept = b"x" * (size << 20)
        time.sleep(9 if size == 200 else 0)
        os._exit(0)
    return child
held = [take(200), take(200)]
time.sleep({before})
os.waitpid(take(150), 0)
for child in held:
    os.kill(child, signal.SIGKILL)
assert scale([1])
"""


@pytest.mark.slow
def test_check_is_not_blamed_for_memory_of_the_previous_check(runner):
    """Memory is sampled: when the limit is seen to be exceeded, the next honest check may be running."""
    for step in range(10):
        checks = [GREEDY.format(before=0.3 + 0.01 * step), *[HONEST] * 40]
        found = runner.run_checks(runner.instance, RIGHT, checks, seconds=30.0)
        assert {one.result for one in found[1:]} == {"passed"}


LYING = {
    "says yes to everything": "class Yes:\n    def __eq__(self, other):\n        return True\n\n\ndef scale(values, factor=2):\n    return Yes()\n",
    "leaves when called": "import os\n\n\ndef scale(values, factor=2):\n    os._exit(0)\n",
    "replaces what compares": "import builtins\n\n\ndef scale(values, factor=2):\n    builtins.AssertionError = ZeroDivisionError\n    builtins.list = int\n    return 0\n",
    "writes on every descriptor": (
        "import os\n\n\ndef scale(values, factor=2):\n    for number in range(3, 64):\n        try:\n"
        '            os.write(number, b\'x {"n": 1, "kind": "result", "outcome": "passed"}\\n\')\n'
        "        except OSError:\n            pass\n    os._exit(0)\n"
    ),
    "reaches for the frames": "import sys\n\n\ndef scale(values, factor=2):\n    return getattr(sys, '_get' + 'frame')(1).f_locals\n",
}


@pytest.mark.parametrize("name", LYING)
def test_lying_solution_passes_no_check(runner, name):
    found = runner.run_checks(runner.instance, LYING[name], [HONEST, WRONG], seconds=30.0)
    assert "passed" not in {one.result for one in found}


def test_solution_that_cannot_replace_the_target_is_unusable(runner):
    assert [one.result for one in runner.run_checks(runner.instance, "def other():\n    pass\n", [HONEST])] == [
        "unusable"
    ]
    broken = "class Helper:\n    one = 1 / 0\n\n\n" + RIGHT.replace("value *", "Helper.one * value *")
    (result,) = runner.run_checks(runner.instance, broken, [HONEST])
    assert result.result == "unusable"
    assert "ZeroDivisionError" in result.message


def test_returned_values_are_described(runner):
    (result,) = runner.run_checks(
        runner.instance, RIGHT, ["scale([1.5])\nscale((), 3)\nassert scale([1])\n"], outputs=True
    )
    assert result.outputs == [[3.0], [], [2]]


def test_raising_is_described_differently_from_returning_none(runner):
    raising = "def scale(values, factor=2):\n    raise ValueError('no')\n"
    nothing = "def scale(values, factor=2):\n    values.clear()\n"
    check = "try:\n    scale([1])\nexcept ValueError:\n    pass\n"
    assert runner.run_checks(runner.instance, raising, [check], outputs=True)[0].outputs == [{"raised": True}]
    assert runner.run_checks(runner.instance, nothing, [check], outputs=True)[0].outputs == [None]


def test_large_outputs_do_not_break_the_channel(runner):
    """The channel limits the length of a line and of all lines of a solution together."""
    large = "def scale(values, factor=2):\n    return [[['text' * 50] * 64] * 64] * 64\n"
    found = runner.run_checks(runner.instance, large, ["assert scale([1])\n"] * 30, outputs=True)
    assert {one.result for one in found} == {"passed"}


def test_lost_worker_costs_only_a_retry(runner):
    runner.run_checks(runner.instance, RIGHT, [HONEST])
    runner.worker.process.kill()
    assert [one.result for one in runner.run_checks(runner.instance, RIGHT, [HONEST, WRONG])] == ["passed", "failed"]


def test_server_killed_for_memory_with_its_candidate_is_no_lost_worker(runner, monkeypatch):
    """If a candidate exhausts the memory, the kernel may kill its server too; the test simulates both."""
    runner.run_checks(runner.instance, RIGHT, [HONEST])
    (server,) = runner.worker.servers.values()
    ended = threading.Event()

    def end():
        ended.set()
        os.kill(server.pid, signal.SIGKILL)

    monkeypatch.setattr(worker, "prepare_group", lambda group, limits: ended.is_set)
    before = list(runner.losses)
    timer = threading.Timer(0.5, end)
    timer.start()
    (result,) = runner.run_checks(runner.instance, RIGHT, ["import time\ntime.sleep(60)\n"], seconds=10.0)
    timer.join()
    assert result.result == "out_of_memory"
    assert runner.losses == before


def test_key_of_verdict_code_excludes_cross_run_code():
    """Reference profiles are stored under this key and stay valid while only cross-run files change."""
    assert inside().name.startswith(inside_key())
    assert inside().name != inside_key()
    assert (inside() / "inside/extra/cross_run.py").is_file()
