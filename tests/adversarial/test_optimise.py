"""No answer gains by caches, precision, threads, late or early work, clocks or the reference: docs/optimise.md."""

import hashlib
from datetime import date
from functools import partial

import pytest

from dlbench.dataset import load
from dlbench.dataset.optimise import SIZES, Size, Workload
from dlbench.dataset.target import find_target
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.confirm import record_calls
from dlbench.execution.optimise import Effort, WrongAnswer, load_call, measure
from dlbench.execution.optimise.scale import learn_groups
from dlbench.execution.plus.session import Recorder
from dlbench.workspace import prepare
from tests.adversarial.costs import CHEATS, HONEST, REFERENCE
from tests.scaffold import write_project

NAME = "close/close.core.count_close"
TESTS = """from close.core import count_close


def test_count():
    assert count_close([1, 2, 9, 30, 31, 32, 33, 40, 41, 50]) == [2, 2, 1, 3, 4, 4, 3, 2, 2, 1]


def test_limit():
    assert count_close([1, 5, 9], 4) == [2, 3, 2]


def test_empty():
    assert count_close([]) == []
"""
INSTANCE = f"""id = "{NAME}"
path = "close/core.py"
qualname = "count_close"
sha256 = "{{sha256}}"
introduced = 2026-01-02
prompt = 'Count for each value how many values are at most `limit` away from it, itself included.'
tests = ["tests/test_core.py::test_count", "tests/test_core.py::test_limit", "tests/test_core.py::test_empty"]

[labels]
stage = "pre_post_processing"
task = "general"
data = "structured_array"
"""
NOISE = 1.2
"""A speed-up below this is no gain on a busy machine with as few rounds."""
EFFORT = Effort(least=3, most=5, others=1)


def write_close(root, reference=REFERENCE):
    """A benchmark folder with the function of `costs`, and beside it the project's source."""
    files = {"close/__init__.py": "", "close/core.py": reference.lstrip(), "tests/test_core.py": TESTS}
    folder = root / "benchmark"
    write_project(folder, root / "source", "close", files)
    target = find_target(files["close/core.py"], "count_close")
    assert target.sha256 == hashlib.sha256(target.text.encode()).hexdigest()
    (folder / "instances/close/count_close.toml").write_text(INSTANCE.format(sha256=target.sha256))
    return folder


class Setting:
    def __init__(self, root, reference=REFERENCE, small=20, factors=(20, 60, 40)):
        """`small`: calls together at the size of the recorded call; `factors` of the other sizes."""
        folder = write_close(root, reference)
        self.benchmark = load(folder)
        self.instance = self.benchmark.instances[NAME]
        self.prepared = prepare(self.benchmark.projects["close"], folder)
        plain = Engine(choose_sandbox(), Limits(load_seconds=180, test_seconds=60, memory_mb=1024))
        recorder = Recorder(10, 1 << 18)
        assert record_calls(plain, self.prepared, self.instance, recorder) == ""
        calls = sorted(recorder.calls.values(), key=lambda one: -one.size)
        sizes = dict(zip(SIZES, (Size(factor=1, calls=small, seconds=0.01), *self.grow(*factors)), strict=True))
        self.workload = Workload(
            instance=NAME, call=calls[0].digest, growing=learn_groups(calls)[0], sizes=sizes, made=date(2026, 1, 2)
        )
        self.engine = Engine(plain.confinement, plain.limits, workloads={NAME: self.workload})
        self.call = load_call(
            self.engine, self.prepared, self.instance, partial(record_calls, plain, self.prepared, self.instance)
        )

    def grow(self, *factors):
        return [Size(factor=one, seconds=0.01) for one in factors]

    def measure(self, code, effort=EFFORT):
        candidate = self.engine.target(self.prepared, self.instance).read(code)
        return measure(self.engine, self.prepared, self.instance, candidate, self.call, effort=effort)


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    return Setting(tmp_path_factory.mktemp("costs"))


@pytest.mark.parametrize("name", ["nothing for large inputs", "half of the values"])
def test_a_wrong_answer_ends_the_measurement(setting, name):
    with pytest.raises(WrongAnswer):
        setting.measure(CHEATS[name])


@pytest.mark.timing
@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_gains_nothing(setting, name):
    try:
        found = setting.measure(CHEATS[name])
    except WrongAnswer:
        return
    assert found.speedup < NOISE


@pytest.mark.timing
def test_a_better_algorithm_is_faster_at_every_size_and_gains_with_size(setting):
    found = setting.measure(HONEST)
    assert found.speedup > 3
    assert found.sizes["large"].value > found.sizes["medium"].value


@pytest.mark.timing
def test_the_reference_gains_nothing_over_itself(setting):
    assert 1 / NOISE < setting.measure(REFERENCE).speedup < NOISE
