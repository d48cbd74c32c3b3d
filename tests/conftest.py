"""Fixtures: a small real project as a benchmark folder, an engine, a browser; the hypothesis profile of all tests."""

import hashlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from dlbench.dataset import Benchmark, load
from dlbench.dataset.target import find_target
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.workspace import Prepared, prepare
from tests.scaffold import write_project

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# no deadline: tests hold on a loaded machine. In CI the same examples run every time.
settings.register_profile("dlbench", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("dlbench")

# a shell's background jobs ignore Ctrl-C, and so would every program that a test interrupts
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

MODULE = '''"""A toy project."""

from toy.base import OFFSET


def scale(values, factor=2):
    """Multiplies every one of the given values by a factor and returns them all as a new list again."""
    if factor == 0:
        raise ValueError("factor must not be zero")
    return [value * factor + OFFSET for value in values]


class Counter:
    def __init__(self, start=0):
        self.count = start

    def step(self, by=1):
        """Adds to the count."""
        self.count += by
        return self.count
'''

TESTS = """import pytest

from toy.core import Counter, scale


@pytest.mark.parametrize("factor", [1, 2, 3])
def test_scale(factor):
    assert scale([1, 2], factor) == [factor, 2 * factor]


def test_scale_empty():
    assert scale([]) == []


def test_scale_zero():
    with pytest.raises(ValueError):
        scale([1], 0)


class TestCounter:
    def test_step(self):
        assert Counter().step() == 1

    def test_step_by(self):
        counter = Counter(3)
        assert [counter.step(2), counter.step(2)] == [5, 7]

    def test_unrelated(self):
        assert Counter(1).count == 1
"""

INSTANCE = """id = "toy/toy.core.{qualname}"
path = "toy/core.py"
qualname = "{qualname}"
sha256 = "{sha256}"
introduced = 2026-01-02
prompt = '''{prompt}'''
tests = [{tests}]

[labels]
stage = "pre_post_processing"
task = "general"
data = "structured_array"
"""

PROMPTS = {
    "scale": "Give back a list in which each number of `values` is multiplied by `factor`; zero is refused by ValueError.",
    "Counter.step": "Raise the attribute `count` by `by` and give back its new value.",
}
TEST_IDS = {
    "scale": [f"tests/test_core.py::test_scale[{n}]" for n in (1, 2, 3)]
    + ["tests/test_core.py::test_scale_empty", "tests/test_core.py::test_scale_zero"],
    "Counter.step": ["tests/test_core.py::TestCounter::test_step", "tests/test_core.py::TestCounter::test_step_by"],
}


def write_toy(root: Path, scale: str = "") -> Path:
    """A benchmark folder `toys` and, beside it, the project's source. `scale`: another reference of that function."""
    module = MODULE.replace(find_target(MODULE, "scale").text, scale or find_target(MODULE, "scale").text)
    files = {
        "toy/__init__.py": "",
        "toy/base.py": "OFFSET = 0\n",
        "toy/core.py": module,
        # imported before any test is collected, as many projects do
        "tests/conftest.py": "import toy.core  # noqa: F401\n",
        "tests/test_core.py": TESTS,
        "tests/data.txt": "data\n",
    }
    benchmark = root / "toys"
    write_project(benchmark, root / "source", "toy", files)
    for qualname, prompt in PROMPTS.items():
        target = find_target(module, qualname)
        assert target.sha256 == hashlib.sha256(target.text.encode()).hexdigest()
        tests = ", ".join(f'"{test}"' for test in TEST_IDS[qualname])
        text = INSTANCE.format(qualname=qualname, sha256=target.sha256, prompt=prompt, tests=tests)
        (benchmark / f"instances/toy/{qualname}.toml").write_text(text)
    (benchmark / "splits/demo.txt").write_text("toy/toy.core.scale\n")
    return benchmark


@pytest.fixture
def toy_root(tmp_path: Path) -> Path:
    return write_toy(tmp_path)


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return load(write_toy(tmp_path_factory.mktemp("toy")))


@pytest.fixture(scope="session")
def toy_prepared(toy: Benchmark) -> Prepared:
    return prepare(toy.projects["toy"], toy.root)


@pytest.fixture(scope="session")
def engine() -> Engine:
    return Engine(choose_sandbox(), Limits(load_seconds=120, test_seconds=20, memory_mb=1024))


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """For one module: while it is open, nothing else can run an event loop here."""
    from tests.browser import start_browser

    with start_browser() as started:
        yield started
