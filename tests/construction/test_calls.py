"""The static graph comes to the functions that the text leads to, and to no others; its agreement is counted right."""

import math
from pathlib import Path

import pytest

from dlbench.construction.calls.agreement import Agreement, Comparison, compare
from dlbench.construction.calls.graph import Graph, Reach, build_graph, list_written
from dlbench.construction.trace import TracedTest

FILES = {
    "net/__init__.py": "from .layers import Dense, Wide as Broad\nfrom .ops import *\nfrom . import ops as operations\n",
    "net/ops.py": """
import numpy as np
from .deep import inner
def relu(x): return np.maximum(x, 0)
def scale(x, by): return inner(x) * by
def unused(x): return scale(x, 2)
def _hidden(x): return x
ACTIVATIONS = {"relu": relu}
def apply(x, name): return ACTIVATIONS[name](x)
def lifted(x): return np.vectorize(_hidden)(x)
""",
    "net/deep.py": "def inner(x): return x\n",
    "net/layers.py": """
from net.ops import relu
class Base:
    def __init__(self): self.built = False
    def __call__(self, x): return self.forward(x)
    def forward(self, x): raise NotImplementedError
    @property
    def size(self): return self.count()
    def count(self): return 0
class Dense(Base):
    def __init__(self):
        super().__init__()
        self.part = Part()
    def forward(self, x): return relu(self.part.work(x))
    def count(self): return 1
class Wide(Base):
    def forward(self, x): return x
    @staticmethod
    def make(): return Wide()
    @classmethod
    def of(cls): return cls()
    class Inner:
        def go(self): return 1
class Part:
    def work(self, x): return x
    def __add__(self, other): return self
    def __len__(self): return 3
""",
    "tests/conftest.py": """
import pytest
from net import Dense
@pytest.fixture
def dense():
    yield Dense()
""",
    "tests/helpers.py": "from net.ops import scale\ndef check(x): assert scale(x, 1) == x\n",
    "tests/test_net.py": """
import functools, unittest
import pytest
import net
import net.ops as o
from net import Broad, Dense, operations
from net.layers import Part
from tests.helpers import check
def test_alias(): o.relu(1)
def test_reexport(): net.scale(1, 2)
def test_renamed(): Broad()(1)
def test_through_a_module(): operations.scale(1, 2)
def test_helper(): check(1)
def test_fixture(dense): dense(1)
def test_property(): assert Dense().size
def test_table(): net.apply(1, "relu")
def test_handed_over(): functools.partial(o.relu)(1)
def test_inside_a_library(): o.lifted(1)
def test_operators(): assert len(Part() + Part())
def test_static(): Broad.make()(1)
def test_class_method(): Broad.of()(1)
def test_nested(): Broad.Inner().go()
@pytest.mark.parametrize("make, value", [(Dense, 1), (Broad, 2)])
def test_parameters(make, value): make().count()
def test_nothing(): assert sum([1, 2]) == 3
class TestGroup:
    def setup_method(self): self.part = Part()
    def test_work(self): self.part.work(1)
class Common(unittest.TestCase):
    made = Dense
    def test_count(self): self.made().count()
class TestOther(Common):
    made = Broad
""",
}
OPS, LAYERS = "net/ops.py::", "net/layers.py::"
WIDE = {f"{LAYERS}Base.__init__", f"{LAYERS}Base.__call__", f"{LAYERS}Wide.forward"}
DENSE = {f"{LAYERS}Dense.__init__", f"{LAYERS}Base.__init__"}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    tree = tmp_path_factory.mktemp("tree")
    write(tree)
    return build_graph(tree, ".", ["tests/test_net.py"])


def write(tree: Path) -> None:
    for path, text in FILES.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)


EXPECTED = {
    "test_alias": {f"{OPS}relu"},
    "test_reexport": {f"{OPS}scale", "net/deep.py::inner"},
    "test_renamed": WIDE,
    "test_through_a_module": {f"{OPS}scale", "net/deep.py::inner"},
    "test_helper": {f"{OPS}scale", "net/deep.py::inner"},
    "test_fixture": DENSE | {f"{LAYERS}Base.__call__", f"{LAYERS}Dense.forward", f"{LAYERS}Part.work", f"{OPS}relu"},
    "test_property": DENSE | {f"{LAYERS}Base.size", f"{LAYERS}Dense.count"},
    "test_table": {f"{OPS}apply", f"{OPS}relu"},
    "test_handed_over": {f"{OPS}relu"},
    "test_inside_a_library": {f"{OPS}lifted", f"{OPS}_hidden"},
    "test_operators": {f"{LAYERS}Part.__add__", f"{LAYERS}Part.__len__"},
    "test_static": WIDE | {f"{LAYERS}Wide.make"},
    "test_class_method": WIDE | {f"{LAYERS}Wide.of"},
    "test_nested": {f"{LAYERS}Wide.Inner.go"},
    "test_parameters": DENSE | {f"{LAYERS}Base.count", f"{LAYERS}Dense.count"},
    "test_nothing": set(),
    "TestGroup::test_work": {f"{LAYERS}Part.work"},
    "Common::test_count": DENSE | {f"{LAYERS}Dense.count"},
    "TestOther::test_count": {f"{LAYERS}Base.__init__", f"{LAYERS}Base.count"},
}


@pytest.mark.parametrize("test", EXPECTED)
def test_a_test_comes_to_exactly_what_its_text_leads_to(graph: Graph, test: str):
    assert graph.is_complete
    assert graph.tests[f"tests/test_net.py::{test}"].all == EXPECTED[test]


def test_every_written_test_is_found(graph: Graph):
    assert {name.partition("::")[2] for name in graph.tests} == set(EXPECTED)


def test_what_test_code_calls_itself_is_told_apart(graph: Graph):
    assert graph.tests["tests/test_net.py::test_helper"].direct == {f"{OPS}scale"}
    assert graph.tests["tests/test_net.py::test_table"].direct == {f"{OPS}apply"}


def test_tests_of_a_file_that_cannot_be_collected_are_listed(tmp_path: Path):
    write(tmp_path)
    (tmp_path / "tests/test_broken.py").write_text(
        "import nowhere\ndef test_a(): nowhere.go()\nclass TestB:\n    def test_c(self): pass\n"
    )
    (tmp_path / "tests/test_wrong.py").write_text("def test_(:\n")
    found = list_written(tmp_path, ".", ["tests/test_broken.py", "tests/test_wrong.py"])
    assert found["tests/test_broken.py"] == ["tests/test_broken.py::test_a", "tests/test_broken.py::TestB::test_c"]
    assert found["tests/test_wrong.py"] == []


def ran(test: str, direct: tuple[int, ...], deeper: tuple[int, ...] = (), outcome: str = "passed") -> TracedTest:
    return TracedTest(test, outcome, 0.1, direct, deeper)


def test_precision_and_recall_of_a_case_worked_by_hand():
    graph = Graph(
        {
            "t.py::test_a": Reach(frozenset("a"), frozenset("abx")),
            "t.py::A::test_b": Reach(frozenset(), frozenset("c")),
        },
        True,
    )
    tests = [
        ran("t.py::test_a[1]", (0,), (1,)),
        ran("t.py::test_a[2]", (0, 2)),
        ran("t.py::A::test_b12", (3,), (9,)),  # expanded by name; 9 is a function nobody asks about
        ran("t.py::test_a[3]", (3,), outcome="failed"),
        ran("t.py::test_made", (0,)),
    ]
    found = compare(graph, tests, {0: "a", 1: "b", 2: "c", 3: "c"})
    assert found == Comparison(2, 1, Agreement(1, 3, 1), Agreement(4, 4, 3), True)
    assert found.all.precision == found.all.recall == 0.75
    assert Comparison.from_row(found.to_row()) == found
    assert math.isnan(Agreement(0, 0, 0).precision)
