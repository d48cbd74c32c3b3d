"""Tracing a project's tests: whatever one of them does, what the others ran is known."""

import pytest

from dlbench.construction.chain import Chain
from dlbench.construction.project import Wish
from dlbench.construction.trace import trace
from dlbench.construction.work import Work
from dlbench.execution import Engine, Limits, choose_confinement
from tests.scaffold import write_project

CORE = """def double(value):
    return add(value, value)


def add(left, right):
    return left + right
"""
TESTS = """import os
import time

import pytest

from slow.core import add, double


@pytest.mark.parametrize("value", range(6))
def test_double(value):
    time.sleep(0.3)
    assert double(value) == 2 * value


def test_ends():
    double(1)
    os._exit(0)


@pytest.mark.parametrize("value", range(3))
def test_add(value):
    assert add(value, 1) == value + 1
"""
FILES = {
    "slow/__init__.py": "",
    "slow/core.py": CORE,
    "tests/test_core.py": TESTS,
    "tests/test_ends.py": "import os\n\nos._exit(0)\n",
    "tests/test_lacks.py": "import nowhere_to_be_found\n",
}


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    root = tmp_path_factory.mktemp("slow")
    write_project(root / "work/benchmark", root / "source", "slow", FILES)
    engine = Engine(choose_confinement(), Limits(load_seconds=60, test_seconds=10))
    return Chain(engine, Work(root / "work"), Wish("slow"), lambda text: None, workers=1)


def test_what_ends_the_interpreter_is_named_and_the_rest_is_traced(chain):
    files = ["tests/test_ends.py", "tests/test_core.py", "tests/test_lacks.py"]
    found = trace(chain.engine, chain.prepared, files)
    assert len(found.tests) == 9
    assert {test.outcome for test in found.tests} == {"passed"}
    reasons = {row["what"]: row["why"] for row in found.left_out}
    assert list(reasons) == ["tests/test_ends.py", "tests/test_lacks.py", "tests/test_core.py::test_ends"]
    assert reasons["tests/test_ends.py"].startswith("on import: ended the interpreter, exit code 0")
    assert reasons["tests/test_lacks.py"].startswith("not collected: ")
    assert reasons["tests/test_core.py::test_ends"].startswith("ended the interpreter, exit code 0")
