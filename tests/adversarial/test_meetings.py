"""Where solutions meet a model's own tests, neither is trusted: what one meeting does costs that meeting and no other."""

import os
import signal
import tempfile
import threading
from pathlib import Path

import pytest

from dlbench.dataset import load
from dlbench.execution import Engine, Limits, choose_confinement, worker
from dlbench.execution.cross_run import CrossRunWorker
from dlbench.execution.sandbox.base import inside, inside_key
from dlbench.workspace import prepare
from tests.conftest import write_toy

RIGHT = """def scale(values, factor=2):
    if factor == 0:
        raise ValueError("zero")
    return [value * factor for value in values]
"""
# a helper that computes when it is made: such a solution must be imported
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


@pytest.fixture(scope="module")
def room():
    toy = load(write_toy(Path(tempfile.mkdtemp(prefix="dlbench-meetings-"))))
    engine = Engine(
        choose_confinement(), Limits(load_seconds=90, test_seconds=5, memory_mb=512, processes=64, file_mb=32)
    )
    room = CrossRunWorker(engine, prepare(toy.projects["toy"], toy.root))
    room.instance = toy.instances["toy/toy.core.scale"]
    yield room
    room.close()


@pytest.mark.parametrize("code", [RIGHT, pytest.param(IMPORTED, marks=pytest.mark.slow)], ids=["in place", "imported"])
def test_a_hostile_check_costs_its_own_meeting_only(room, code):
    checks = [part for hostile, _ in HOSTILE.values() for part in (hostile, HONEST, WRONG)]
    found = [met.result for met in room.run_checks(room.instance, code, checks, seconds=1.0)]
    assert set(found[1::3]) == {"passed"}
    assert set(found[2::3]) == {"failed"}
    results = dict(zip(HOSTILE, found[0::3], strict=True))
    assert {name: result for name, result in results.items() if result not in HOSTILE[name][1]} == {}
    assert room.losses == []


def test_nothing_that_a_check_wrote_is_found_by_the_next(room):
    look = "import os, tempfile\nassert not {'a', 'b'} & set(os.listdir(tempfile.gettempdir()))\n"
    look += "assert not os.path.exists('/dev/shm/left')\nassert scale([1])\n"
    deep = "import os, tempfile\nos.chdir(tempfile.gettempdir())\nfor _ in range(1500):\n    os.mkdir('b')\n    os.chdir('b')\n"
    deep += "open('x', 'w').write('x')\nos.chmod('.', 0)\nassert scale([1])\n"
    checks = [HOSTILE["writes files"][0], look, HOSTILE["leaves a daemon"][0], look, deep, look]
    assert [met.result for met in room.run_checks(room.instance, RIGHT, checks, seconds=4.0)] == ["passed"] * 6


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


def test_a_check_is_not_blamed_for_the_memory_of_the_one_before_it(room):
    """Use is seen from time to time: when the greedy one is found out, an honest one may be under way already."""
    for step in range(10):
        checks = [GREEDY.format(before=0.3 + 0.01 * step), *[HONEST] * 40]
        found = room.run_checks(room.instance, RIGHT, checks, seconds=4.0)
        assert {met.result for met in found[1:]} == {"passed"}


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
def test_a_solution_that_lies_passes_nothing(room, name):
    found = room.run_checks(room.instance, LYING[name], [HONEST, WRONG], seconds=2.0)
    assert "passed" not in {met.result for met in found}


def test_a_solution_that_cannot_take_the_place_is_said_to_be_unusable(room):
    assert [met.result for met in room.run_checks(room.instance, "def other():\n    pass\n", [HONEST])] == ["unusable"]
    broken = "class Helper:\n    one = 1 / 0\n\n\n" + RIGHT.replace("value *", "Helper.one * value *")
    (met,) = room.run_checks(room.instance, broken, [HONEST])
    assert met.result == "unusable"
    assert "ZeroDivisionError" in met.message


def test_what_solutions_return_is_described(room):
    (met,) = room.run_checks(room.instance, RIGHT, ["scale([1.5])\nscale((), 3)\nassert scale([1])\n"], outputs=True)
    assert met.outputs == [[3.0], [], [2]]


def test_a_solution_that_raises_is_not_described_as_one_that_returns_nothing(room):
    raising = "def scale(values, factor=2):\n    raise ValueError('no')\n"
    nothing = "def scale(values, factor=2):\n    values.clear()\n"
    check = "try:\n    scale([1])\nexcept ValueError:\n    pass\n"
    assert room.run_checks(room.instance, raising, [check], outputs=True)[0].outputs == [{"raised": True}]
    assert room.run_checks(room.instance, nothing, [check], outputs=True)[0].outputs == [None]


def test_large_outputs_cost_neither_their_own_meeting_nor_others(room):
    """A line of the channel is read up to its limit only, and all lines of a solution together, too."""
    large = "def scale(values, factor=2):\n    return [[['text' * 50] * 64] * 64] * 64\n"
    found = room.run_checks(room.instance, large, ["assert scale([1])\n"] * 30, outputs=True)
    assert {met.result for met in found} == {"passed"}


def test_a_lost_worker_costs_another_attempt_and_nothing_else(room):
    room.run_checks(room.instance, RIGHT, [HONEST])
    room.worker.process.kill()
    assert [met.result for met in room.run_checks(room.instance, RIGHT, [HONEST, WRONG])] == ["passed", "failed"]


def test_a_server_that_the_kernel_ends_with_its_candidate_is_no_lost_worker(room, monkeypatch):
    """Where a candidate has all memory, the kernel may end the server beside it: here we do both in the kernel's place."""
    room.run_checks(room.instance, RIGHT, [HONEST])
    (server,) = room.worker.servers.values()
    ended = threading.Event()

    def end():
        ended.set()
        os.kill(server.pid, signal.SIGKILL)

    monkeypatch.setattr(worker, "prepare_group", lambda group, limits: ended.is_set)
    before = list(room.losses)
    timer = threading.Timer(0.5, end)
    timer.start()
    (met,) = room.run_checks(room.instance, RIGHT, ["import time\ntime.sleep(60)\n"], seconds=10.0)
    timer.join()
    assert met.result == "out_of_memory"
    assert room.losses == before


def test_what_decides_verdicts_does_not_depend_on_meetings():
    """Rehearsals are kept under this key; they stay valid while only the meetings' files change."""
    assert inside().name.startswith(inside_key())
    assert inside().name != inside_key()
    assert (inside() / "inside/meeting/start.py").is_file()
