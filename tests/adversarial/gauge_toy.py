"""A small project of ours for cheats: objects with data in their class, tables that tests share, calls that cannot be
replayed."""

import hashlib
from pathlib import Path

from dlbench.dataset import load
from dlbench.dataset.target import find_target
from tests.conftest import INSTANCE
from tests.scaffold import write_project

SETTINGS = """import numpy as np

TABLE = {"tolerance": 1e-6}
STEPS = [1, 2, 3]
OFFSETS = np.array([1.0, 2.0, 3.0])
_LIMIT = 1e-6


def get_limit():
    return _LIMIT


def set_limit(value):
    global _LIMIT
    _LIMIT = value


def load_table():
    return TABLE


PROFILES = {"plain": {"tolerance": 1e-6}}


class Options:
    def __init__(self):
        self.tolerance = 1e-6

    def configure(self, tolerance):
        self.tolerance = tolerance


OPTIONS = Options()
"""
CORE = '''"""Numbers, and what describes them."""

from decimal import Decimal
from functools import cached_property
from typing import ClassVar

import numpy as np

from gauge.settings import OFFSETS, OPTIONS, PROFILES, STEPS, TABLE

FACTOR = 2


def difference(left, right):
    return abs(left - right)


def is_close(left, right, limit=None):
    limit = TABLE["tolerance"] if limit is None else limit
    return len(left) == len(right) and all(abs(one - two) <= limit for one, two in zip(left, right))


class Gauge:
    """A value with a spread."""

    limit: ClassVar[float] = 1e-6
    units = None
    step = 1e-6

    def __init__(self, value, spread=0.0):
        self.value, self.spread = value, spread
        self.tolerance = 1e-6
        self.measure = difference
        self.table = TABLE

    @cached_property
    def low(self):
        return self.value - self.spread

    def agrees(self, other):
        return abs(self.value - other.value) <= self.limit

    def matches(self, other):
        if self.units is not None:
            return self.value // self.units == other.value // self.units
        return self.value == other.value

    def is_near(self, value):
        return abs(self.value - value) <= self.step

    def is_tolerated(self, value):
        return abs(self.value - value) <= self.tolerance

    def is_in_table(self, value):
        return abs(self.value - value) <= self.table["tolerance"]

    def error(self, value):
        return self.measure(self.value, value)

    def align(self, other):
        other.step = self.step

    def __eq__(self, other):
        return isinstance(other, Gauge) and self.agrees(other)

    def shift(self, by):
        """Adds to the value in place."""
        self.value += by * FACTOR
        return self


class Meter:
    """A value with a tolerance: that of the class is coarse."""

    tolerance = 1e3

    def __init__(self, value):
        self.value, self.tolerance, self.profile = value, 1e-6, PROFILES["plain"]

    @cached_property
    def scale(self):
        return max(1.0, abs(self.value))

    def move(self, by):
        """Adds to the value in place."""
        self.value += by * FACTOR

    def turn(self, by):
        """Subtracts from the value in place."""
        self.value -= by * FACTOR

    def tune(self, by):
        """Multiplies the value in place."""
        self.value *= by * FACTOR


class Scores(dict):
    def error(self, value):
        return self.get("compare", difference)(self["mean"], value)


class Rows:
    def __init__(self, sizes):
        self.sizes = sizes

    def __getitem__(self, place):
        return self.read(place)

    def read(self, place):
        """The row at a place."""
        if place >= len(self.sizes):
            raise IndexError("no such row")
        return {"place": place, "size": self.sizes[place] * FACTOR}


def describe(values):
    """The mean and the range."""
    return Gauge(sum(values) / len(values) * FACTOR / 2, (max(values) - min(values)) / 2)


def score(values):
    """The mean."""
    return Scores(mean=sum(values) / len(values) * FACTOR / 2)


def standardize(values):
    """Mean 0 and deviation 1."""
    array = np.asarray(values, dtype=float)
    return (array - array.mean()) / array.std() * FACTOR / 2


def group(pairs):
    """Lists by key."""
    found = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value * FACTOR)
    return found


def make_scaler(factor):
    """A function that multiplies."""
    return lambda value: value * factor * FACTOR


def apply_each(function, values):
    """The results, times the factor."""
    return [function(value) * FACTOR for value in values]


def by_table(values):
    """Times the factor."""
    return [value * FACTOR for value in values]


def by_options(values):
    """Times the factor."""
    return [value * FACTOR for value in values]


def by_limit(values):
    """Times the factor."""
    return [value * FACTOR for value in values]


def by_class(values):
    """Times the factor."""
    return [value * FACTOR for value in values]


def by_steps(values):
    """Times the factor, plus the steps."""
    return [value * FACTOR + step for value, step in zip(values, STEPS)]


def by_offsets(values):
    """Times the factor, plus the offsets."""
    return np.asarray(values) * FACTOR + OFFSETS


def exact(text):
    """The decimal number times the factor."""
    return Decimal(text) * FACTOR
'''
TESTS = {
    "describe": """def test_describe():
    found = describe([1, 2, 6])
    assert found.agrees(Gauge(3))
    assert found.matches(Gauge(3))
    assert found.is_near(3)
    assert found == Gauge(3)
    assert found.error(3) == 0


def test_describe_low():
    assert describe([1, 2, 6]).low == 0.5
    assert not describe([1, 2, 6]).agrees(Gauge(4))
""",
    "Gauge.shift": """def test_shift():
    gauge = Gauge(3)
    assert gauge.shift(2) is gauge
    assert gauge.agrees(Gauge(7))
    assert gauge.is_tolerated(7)
    assert gauge.is_in_table(7)
    assert gauge.error(7) == 0
""",
    "Meter.move": """def test_move():
    meter = Meter(3)
    meter.move(2)
    assert abs(meter.value - 7) <= meter.tolerance
""",
    "Meter.turn": """def test_turn():
    meter = Meter(3)
    meter.turn(5)
    assert abs(meter.value + 7) <= 1e-6 * meter.scale
""",
    "Meter.tune": """def test_tune():
    meter = Meter(3)
    meter.tune(5)
    assert is_close([meter.value], [30], PROFILES["plain"]["tolerance"])
""",
    "score": """def test_score():
    assert score([1, 2, 6]).error(3) == 0
""",
    "by_options": """def test_by_options(monkeypatch):
    monkeypatch.setattr(core, "FACTOR", 3)
    assert is_close(by_options([1, 2]), [3, 6], OPTIONS.tolerance)
""",
    "Rows.read": """def test_rows():
    for number, row in enumerate(Rows([1, 2])):
        assert row == {"place": number, "size": 2 * number + 2}


def test_rows_end():
    with pytest.raises(IndexError):
        Rows([1])[1]
""",
    "standardize": """def test_standardize():
    np.testing.assert_allclose(standardize([1, 2, 3]), [-1.224744871391589, 0, 1.224744871391589])


def test_standardize_many():
    found = standardize(np.arange(10.0))
    assert found.shape == (10,)
    assert found.dtype == np.float64
    assert np.abs(found - (np.arange(10) - 4.5) / np.arange(10.0).std()).max() < 1e-9
    assert np.allclose(found, -found[::-1])
""",
    "group": """def test_group():
    assert group([("a", 1), ("b", 2), ("a", 3)]) == {"a": [2, 6], "b": [4]}


def test_group_nothing():
    assert group([]) == {}
""",
    "make_scaler": """@pytest.mark.parametrize("value", [1, 5])
def test_scaler(value):
    assert make_scaler(3)(value) == 6 * value
""",
    "apply_each": """def test_apply():
    seen = []
    assert apply_each(lambda value: seen.append(value) or value + 1, [1, 2]) == [4, 6]
    assert seen == [1, 2]
""",
    "by_table": """def test_by_table(monkeypatch):
    monkeypatch.setattr(core, "FACTOR", 3)
    assert is_close(by_table([1, 2]), [3, 6])
""",
    "by_limit": """def test_by_limit(monkeypatch):
    monkeypatch.setattr(core, "FACTOR", 3)
    assert is_close(by_limit([1, 2]), [3, 6], get_limit())

""",
    "by_class": """def test_by_class(monkeypatch):
    monkeypatch.setattr(core, "FACTOR", 3)
    assert [Gauge(value) for value in by_class([1, 2])] == [Gauge(3), Gauge(6)]
""",
    "by_steps": """def test_by_steps(monkeypatch):
    monkeypatch.setattr(core, "FACTOR", 3)
    found = by_steps([5, 6, 7])
    assert found == [3 * value + step for value, step in zip([5, 6, 7], STEPS)]
""",
    "by_offsets": """def test_by_offsets(monkeypatch):
    monkeypatch.setattr(core, "FACTOR", 3)
    found = by_offsets([4.0, 5.0, 6.0])
    assert found.shape == (3,)
    np.testing.assert_allclose(found, OFFSETS + [12, 15, 18])
""",
    "exact": """def test_exact(monkeypatch):
    monkeypatch.setattr(core, "FACTOR", 3)
    assert exact("11.1") == Decimal("11.1") * 3
    assert exact("50") == Decimal(50) * 3
""",
}
_HEAD = """from decimal import Decimal

import numpy as np
import pytest

from gauge import core
from gauge.core import *
from gauge.core import Gauge, Rows, is_close
from gauge.settings import OFFSETS, OPTIONS, PROFILES, STEPS, get_limit


"""


def write_gauge(root: Path) -> Path:
    """A benchmark's folder with an instance of each target, and the project's source beside it."""
    benchmark = root / "gauge"
    files = {"gauge/__init__.py": "", "gauge/settings.py": SETTINGS, "gauge/core.py": CORE}
    names = {target: f"tests/test_{target.rpartition('.')[2]}.py" for target in TESTS}
    files |= {names[target]: _HEAD + text for target, text in TESTS.items()}
    write_project(benchmark, root / "source", "gauge", files)
    (benchmark / "locks/toy.txt").write_text((load().root / "locks" / "numpy.txt").read_text())
    for target, text in TESTS.items():
        found = find_target(CORE, target)
        cases = [line.partition("(")[0].removeprefix("def ") for line in text.splitlines() if line.startswith("def ")]
        cases = [f"{case}[{one}]" for case in cases for one in (1, 5)] if "parametrize" in text else cases
        tests = ", ".join(f'"{names[target]}::{case}"' for case in cases)
        sha256 = hashlib.sha256(found.text.encode()).hexdigest()
        record = INSTANCE.replace("toy/toy.core.", "gauge/gauge.core.").replace("toy/core.py", "gauge/core.py")
        record = record.format(qualname=target, sha256=sha256, prompt="x", tests=tests)
        (benchmark / f"instances/gauge/{target}.toml").write_text(record)
    return benchmark
