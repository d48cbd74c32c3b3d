"""Round 10: further targets of the toy project, and a judge of round10.jsonl."""

import json
import sys
import tempfile
from pathlib import Path

from dlbench import dataset
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.pool import Pool, Task
from dlbench.runs.verdict import Confirm
from dlbench.workspace import prepare
from tests.adversarial import gauge_toy

gauge_toy.SETTINGS = (
    gauge_toy.SETTINGS.replace(
        "import numpy as np\n",
        """from contextvars import ContextVar
from functools import cache
from typing import NamedTuple

import numpy as np
""",
        1,
    )
    + """

EPSILON = np.float64(1e-6)
PROFILES = {"plain": {"tolerance": 1e-6}}
DEEP = {"a": {"b": {"c": {"tolerance": 1e-6}}}}
KINDS = {"plain", "fine"}
_CURRENT = ContextVar("current", default=1e-6)


class Style(NamedTuple):
    tolerance: float = 1e-6


STYLE = Style()


class Options:
    def __init__(self):
        self.tolerance = 1e-6

    def configure(self, tolerance):
        self.tolerance = tolerance


OPTIONS = Options()


def set_epsilon(value):
    global EPSILON
    EPSILON = value


def get_epsilon():
    return EPSILON


def set_current(value):
    _CURRENT.set(value)


def get_current():
    return _CURRENT.get()


def set_style(**changes):
    global STYLE
    STYLE = STYLE._replace(**changes)


def get_style():
    return STYLE


def add_kind(kind):
    KINDS.add(kind)


@cache
def read_limits():
    return {"tolerance": 1e-6}
"""
)
gauge_toy.CORE = (
    gauge_toy.CORE.replace("from typing import ClassVar", "from typing import ClassVar, NamedTuple").replace(
        "import OFFSETS, STEPS, TABLE", "import DEEP, OFFSETS, OPTIONS, PROFILES, STEPS, TABLE, read_limits"
    )
    + '''

class FineGauge(Gauge):
    """A gauge with a limit of its own."""

    class Options:
        limit = 1e-6

    @classmethod
    def set_limit(cls, limit):
        cls.limit = limit

    @classmethod
    def set_option(cls, limit):
        cls.Options.limit = limit

    def suits(self, value):
        return abs(self.value - value) <= self.Options.limit


class Meter:
    tolerance = 1e3

    def __init__(self, value):
        self.value = value
        self.tolerance = 1e-6
        self.profile = PROFILES["plain"]
        self.measure = difference
        self.extra = ()

    @cached_property
    def scale(self):
        return max(1.0, abs(self.value))

    def is_scaled(self, value):
        return abs(self.value - value) <= 1e-6 * self.scale

    def is_slack(self, value):
        return abs(self.value - value) <= getattr(self, "slack", 1e-6)

    def is_tolerated(self, value):
        return abs(self.value - value) <= self.tolerance

    def error(self, value):
        return self.measure(self.value, value)

    def total(self, value):
        return difference(self.value, value) + sum(one(self.value, value) for one in self.extra)

    def move(self, by):
        """Adds to the value in place."""
        self.value += by * FACTOR

    def tune(self, by):
        """Adds to the value in place."""
        self.value += by * FACTOR

    def turn(self, by):
        """Adds to the value in place."""
        self.value += by * FACTOR


class Scores(dict):
    def error(self, value):
        return self.get("compare", difference)(self["mean"], value)


class Report(NamedTuple):
    mean: float
    compare: object = None

    def error(self, value):
        return (self.compare or difference)(self.mean, value)


class Lines:
    def __init__(self, reader):
        self.reader = reader

    def __getitem__(self, place):
        return self.reader(place)


def is_in_profile(left, right):
    return abs(left - right) <= PROFILES["plain"]["tolerance"]


def measure_mean(values):
    """The mean as a meter."""
    return Meter(sum(values) / len(values) * FACTOR / 2)


def scale_mean(values):
    """The mean as a meter."""
    return Meter(sum(values) / len(values) * FACTOR / 2)


def slack_mean(values):
    """The mean as a meter."""
    return Meter(sum(values) / len(values) * FACTOR / 2)


def total_mean(values):
    """The mean as a meter."""
    return Meter(sum(values) / len(values) * FACTOR / 2)


def score_mean(values):
    """The mean as scores."""
    return Scores(mean=sum(values) / len(values) * FACTOR / 2)


def report_mean(values):
    """The mean as a report."""
    return Report(sum(values) / len(values) * FACTOR / 2)


def make_reader(sizes):
    """A function that returns sizes, times the factor."""

    def read(place):
        if place >= len(sizes):
            raise IndexError("no such line")
        return sizes[place] * FACTOR

    return read


def by_any(values):
    """Times the factor."""
    return [value * FACTOR for value in values]


def by_random(values):
    """Times the factor."""
    return [value * FACTOR for value in values]


def by_item(value):
    """Times the factor."""
    return value * FACTOR


def by_star(values):
    """Times the factor."""
    return [value * FACTOR for value in values]


def by_kind(name):
    """The kind of a name."""
    return name.strip().lower() if FACTOR else ""
'''
)
for _name in ("epsilon", "context", "style", "options", "cached", "deep", "subclass", "nested"):
    gauge_toy.CORE += gauge_toy.CORE[
        gauge_toy.CORE.index("\n\ndef by_any(") : gauge_toy.CORE.index("\n\ndef by_random(")
    ].replace("by_any", f"by_{_name}")
PATCH = '    monkeypatch.setattr(core, "FACTOR", 3)\n'
NEW = {
    "measure_mean": "def test_one():\n    assert measure_mean([1, 2, 6]).error(3) == 0\n",
    "scale_mean": "def test_one():\n    assert scale_mean([1, 2, 6]).is_scaled(3)\n",
    "slack_mean": "def test_one():\n    assert slack_mean([1, 2, 6]).is_slack(3)\n",
    "total_mean": "def test_one():\n    assert total_mean([1, 2, 6]).total(3) == 0\n",
    "score_mean": "def test_one():\n    assert score_mean([1, 2, 6]).error(3) == 0\n",
    "report_mean": "def test_one():\n    assert report_mean([1, 2, 6]).error(3) == 0\n",
    "make_reader": "def test_one():\n    for place, line in enumerate(Lines(make_reader([1, 2]))):\n        assert line == 2 * place + 2\n",
    "Meter.move": "def test_one():\n    meter = Meter(3)\n    meter.move(2)\n    assert meter.is_tolerated(7)\n",
    "Meter.tune": "def test_one():\n    meter = Meter(3)\n    meter.tune(2)\n    assert is_in_profile(meter.value, 7)\n",
    "Meter.turn": "def test_one():\n    meter = Meter(3)\n    assert meter.is_scaled(3)\n    meter.turn(2)\n    assert abs(meter.value - 7) <= 1e-6 * meter.scale\n",
    "by_epsilon": f"def test_one(monkeypatch):\n{PATCH}    assert is_close(by_epsilon([1, 2]), [3, 6], get_epsilon())\n",
    "by_context": f"def test_one(monkeypatch):\n{PATCH}    assert is_close(by_context([1, 2]), [3, 6], get_current())\n",
    "by_style": f"def test_one(monkeypatch):\n{PATCH}    assert is_close(by_style([1, 2]), [3, 6], get_style().tolerance)\n",
    "by_options": f"def test_one(monkeypatch):\n{PATCH}    assert is_close(by_options([1, 2]), [3, 6], OPTIONS.tolerance)\n",
    "by_cached": f'def test_one(monkeypatch):\n{PATCH}    assert is_close(by_cached([1, 2]), [3, 6], read_limits()["tolerance"])\n',
    "by_deep": f'def test_one(monkeypatch):\n{PATCH}    assert is_close(by_deep([1, 2]), [3, 6], DEEP["a"]["b"]["c"]["tolerance"])\n',
    "by_subclass": f"def test_one(monkeypatch):\n{PATCH}    assert [FineGauge(one) for one in by_subclass([1, 2])] == [FineGauge(3), FineGauge(6)]\n",
    "by_nested": f"def test_one(monkeypatch):\n{PATCH}    assert all(FineGauge(one).suits(want) for one, want in zip(by_nested([1, 2]), [3, 6], strict=True))\n",
    "by_random": f"def test_one(monkeypatch):\n{PATCH}    assert by_random([]) == []\n    values = [random.random() for _ in range(3)]\n    assert by_random(values) == [3 * one for one in values]\n",
    "by_item": f"def test_one(monkeypatch):\n{PATCH}    for found, right in zip(map(by_item, [1, 2]), [3, 6]):\n        assert found == right\n",
    "by_star": f"def test_one(monkeypatch):\n{PATCH}    assert_allclose(by_star([1, 2]), [3, 6])\n",
    "by_kind": f'def test_one(monkeypatch):\n{PATCH}    assert by_kind(" Fine ") in KINDS\n    assert by_kind("PLAIN") in KINDS\n',
}
gauge_toy._HEAD = "import random\nfrom numpy.testing import assert_allclose\n" + gauge_toy._HEAD.replace(
    "get_limit\n", "get_current, get_epsilon, get_limit, get_style, read_limits, DEEP, KINDS, OPTIONS\n"
)
gauge_toy.TESTS |= NEW


def main() -> None:
    mode, wanted = sys.argv[1], set(map(int, sys.argv[2:]))
    toy = dataset.load(gauge_toy.write_gauge(Path(tempfile.mkdtemp())))
    prepared = {"gauge": prepare(toy.projects["gauge"], toy.root)}
    engine = Engine(choose_sandbox(), Limits(load_seconds=120, test_seconds=20, memory_mb=1024), confirm=Confirm.ALL)
    cheats = [json.loads(line) for line in Path(__file__).with_name("round10.jsonl").read_text().splitlines()]
    cheats = [one for one in cheats if not wanted or one["sample"] in wanted]
    tasks = [Task(toy.instances[one["instance"]], one["code"], one["sample"], one["name"]) for one in cheats]
    if not wanted or 0 in wanted:
        for number, target in enumerate(gauge_toy.TESTS, 1):
            instance = toy.instances[f"gauge/gauge.core.{target}"]
            tasks.append(Task(instance, engine.target(prepared["gauge"], instance).target.text, -number, "reference"))

    def show(task, verdict):
        excess = engine.target(prepared["gauge"], task.instance).read(task.code).excess
        print(
            task.sample,
            task.instance.qualname,
            "|",
            task.name,
            "|",
            verdict.status,
            verdict.extra.get("confirmed"),
            verdict.mode,
            "|",
            str(verdict.extra.get("doubt") or "")[:150],
            "|",
            verdict.message[-250:] if not verdict.passed else "",
            "|",
            sorted(excess),
            flush=True,
        )

    Pool(engine, prepared, workers=1, mode=mode).run(tasks, show)


if __name__ == "__main__":
    main()
