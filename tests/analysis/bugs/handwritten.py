"""Answers as a model might write them, each with one bug that a person put in, to functions of our own.

They are whole solutions in other words than the reference's, where operators only change the reference: what rules make
of these is nearer to what they make of a model's failures. Rules for solutions in other words were added with these in
sight (docs/bugs.md): what the rules get on them now guards against going back, and measures nothing.
"""

from pathlib import Path

from dlbench.dataset.target import find_target
from tests.conftest import INSTANCE
from tests.scaffold import write_project

MODULE = '''"""Small numerics."""

import math

EPSILON = 1e-8


def softmax(values, temperature=1.0):
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    if not values:
        return []
    top = max(values)
    powers = [math.exp((value - top) / temperature) for value in values]
    total = sum(powers)
    return [power / total for power in powers]


def moving_average(values, window=3, pad=0.0):
    if window < 1:
        raise ValueError("window must be at least 1")
    padded = [pad] * (window - 1) + list(values)
    result = []
    for end in range(window, len(padded) + 1):
        result.append(sum(padded[end - window : end]) / window)
    return result


class Meter:
    def __init__(self):
        self.total = 0.0
        self.count = 0

    def update(self, value, weight=1):
        if weight == 0:
            return self.average()
        self.total += value * weight
        self.count += weight
        return self.average()

    def average(self):
        return self.total / max(self.count, EPSILON)
'''

TESTS = """import math

import pytest

from small.numerics import Meter, moving_average, softmax


def test_softmax_sums_to_one():
    assert sum(softmax([1.0, 2.0, 3.0])) == pytest.approx(1.0)


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_softmax_values(temperature):
    given = softmax([0.0, 1.0], temperature)
    assert given[1] / given[0] == pytest.approx(math.exp(1 / temperature))


def test_softmax_large():
    assert softmax([1000.0, 1000.0]) == [0.5, 0.5]


def test_softmax_empty():
    assert softmax([]) == []


def test_softmax_refuses():
    with pytest.raises(ValueError):
        softmax([1.0], 0)


def test_average_default():
    assert moving_average([3.0, 3.0, 6.0]) == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("window", [1, 2])
def test_average_window(window):
    assert len(moving_average([1.0, 2.0, 4.0], window)) == 3
    assert moving_average([1.0, 2.0, 4.0], window)[-1] == 4.0 - (window - 1)


def test_average_pad():
    assert moving_average([3.0], 3, 3.0) == [3.0]


def test_average_empty():
    assert moving_average([]) == []


def test_average_refuses():
    with pytest.raises(ValueError):
        moving_average([1.0], 0)


def test_meter():
    meter = Meter()
    assert meter.update(2.0) == 2.0
    assert meter.update(4.0, 3) == 3.5


def test_meter_nothing():
    assert Meter().update(5.0, 0) == 0.0


def test_meter_count():
    meter = Meter()
    meter.update(1.0, 4)
    assert (meter.total, meter.count) == (4.0, 4)
"""

PROMPTS = {
    "softmax": "Turn the list `values` into shares that sum to 1: each is the exponential of the value over `temperature` (1.0 by default), divided by the sum of all of them. Subtract the greatest value first, so that large ones do not overflow. An empty list gives an empty list; a temperature that is not positive is refused by ValueError.",
    "moving_average": "For each place of `values` the mean of the last `window` values up to it (3 by default). Before the first value stands `pad`, 0.0 by default, as often as it takes. The result is as long as `values`. A window below 1 is refused by ValueError.",
    "Meter.update": "Add `value` times `weight` to `total` and `weight` to `count`, and give back the mean so far by `average()`. A weight of 0 changes nothing.",
}
TEST_IDS = {
    "softmax": ["sums_to_one", "values[1.0]", "values[2.0]", "large", "empty", "refuses"],
    "moving_average": ["default", "window[1]", "window[2]", "pad", "empty", "refuses"],
    "Meter.update": ["", "_nothing", "_count"],
}
_STEMS = {"softmax": "test_softmax_", "moving_average": "test_average_", "Meter.update": "test_meter"}

ANSWERS: list[tuple[str, str, str]] = [
    (
        "softmax",
        "misinterpretation",
        "def softmax(values, temperature=1.0):\n    if temperature <= 0:\n        raise ValueError('bad')\n    return [1.0 / (1.0 + math.exp(-v / temperature)) for v in values]\n",
    ),
    (
        "softmax",
        "misinterpretation",
        "def softmax(values, temperature=1.0):\n    import torch\n    return torch.softmax(torch.tensor(values) / temperature, dim=0).tolist()\n",
    ),
    (
        "moving_average",
        "misinterpretation",
        "def moving_average(values, window=3, pad=0.0):\n    if window < 1:\n        raise ValueError('window')\n    return [sum(values[i:i + window]) / window for i in range(len(values) - window + 1)]\n",
    ),
    (
        "Meter.update",
        "misinterpretation",
        "def update(self, value, weight=1):\n    self.total = value\n    self.count = weight\n    return value\n",
    ),
    (
        "softmax",
        "syntax_error",
        "def softmax(values, temperature=1.0):\n    exps = [math.exp(v / temperature for v in values]\n    return [e / sum(exps) for e in exps]\n",
    ),
    ("moving_average", "syntax_error", "def moving_average(values, window=3, pad=0.0)\n    return list(values)\n"),
    (
        "softmax",
        "silly_mistake",
        "def softmax(values, temperature=1.0):\n    if temperature <= 0:\n        raise ValueError('bad')\n    if len(values) == 0:\n        return []\n    peak = max(values)\n    exps = [math.exp((v - peak) / temperature) for v in values]\n    shares = [e / sum(exps) for e in exps]\n",
    ),
    (
        "moving_average",
        "silly_mistake",
        "def moving_average(values, window=3, pad=0.0):\n    if window >= 1:\n        raise ValueError('window must be at least 1')\n    data = [pad] * (window - 1) + list(values)\n    return [sum(data[i:i + window]) / window for i in range(len(values))]\n",
    ),
    (
        "Meter.update",
        "silly_mistake",
        "def update(self, value, weight=1):\n    if weight != 0:\n        return self.average()\n    self.total += value * weight\n    self.count += weight\n    return self.average()\n",
    ),
    (
        "softmax",
        "prompt_biased",
        "def softmax(values, temperature=1.0):\n    if temperature <= 0:\n        raise ValueError('bad')\n    if not values:\n        return []\n    peak = max(values)\n    exps = [math.exp((v - peak) / 1.0) for v in values]\n    norm = sum(exps)\n    return [e / norm for e in exps]\n",
    ),
    (
        "moving_average",
        "prompt_biased",
        "def moving_average(values, window=3, pad=0.0):\n    if window < 1:\n        raise ValueError('window')\n    data = [0.0, 0.0] + list(values)\n    out = []\n    for i in range(len(values)):\n        out.append((data[i] + data[i + 1] + data[i + 2]) / 3)\n    return out\n",
    ),
    (
        "softmax",
        "missing_corner_case",
        "def softmax(values, temperature=1.0):\n    if temperature <= 0:\n        raise ValueError('temperature')\n    peak = max(values)\n    exps = [math.exp((v - peak) / temperature) for v in values]\n    norm = sum(exps)\n    return [e / norm for e in exps]\n",
    ),
    (
        "softmax",
        "missing_corner_case",
        "def softmax(values, temperature=1.0):\n    if len(values) == 0:\n        return []\n    peak = max(values)\n    scaled = [(v - peak) / temperature for v in values]\n    exps = [math.exp(s) for s in scaled]\n    return [e / sum(exps) for e in exps]\n",
    ),
    (
        "moving_average",
        "missing_corner_case",
        "def moving_average(values, window=3, pad=0.0):\n    data = [pad] * (window - 1) + list(values)\n    return [sum(data[i:i + window]) / window for i in range(len(values))]\n",
    ),
    (
        "softmax",
        "wrong_input_type",
        "def softmax(values, temperature=1.0):\n    if temperature <= 0:\n        raise ValueError('bad')\n    if not values:\n        return []\n    exps = math.exp(values)\n    return [e / sum(exps) for e in exps]\n",
    ),
    (
        "moving_average",
        "wrong_input_type",
        "def moving_average(values, window=3, pad=0.0):\n    if window < 1:\n        raise ValueError('bad')\n    data = [pad] * (window - 1) + list(values)\n    return [sum(data[i:i + window], axis=0) / window for i in range(len(values))]\n",
    ),
    (
        "Meter.update",
        "wrong_input_type",
        "def update(self, value, weight=1):\n    if weight == 0:\n        return self.average()\n    self.total += value * weight\n    self.count += weight\n    return self.average(self.total, self.count)\n",
    ),
    (
        "softmax",
        "hallucinated_object",
        "def softmax(values, temperature=1.0):\n    if temperature <= 0:\n        raise ValueError('bad')\n    return stable_softmax([v / temperature for v in values])\n",
    ),
    (
        "moving_average",
        "hallucinated_object",
        "def moving_average(values, window=3, pad=0.0):\n    from signal_windows import rolling_mean\n    return rolling_mean([pad] * (window - 1) + list(values), window)\n",
    ),
    (
        "Meter.update",
        "hallucinated_object",
        "def update(self, value, weight=1):\n    tracker = RunningMean(self.total, self.count)\n    tracker.add(value, weight)\n    return tracker.mean\n",
    ),
    (
        "softmax",
        "wrong_attribute",
        "def softmax(values, temperature=1.0):\n    if temperature <= 0:\n        raise ValueError('bad')\n    return math.softmax([v / temperature for v in values])\n",
    ),
    (
        "moving_average",
        "wrong_attribute",
        "def moving_average(values, window=3, pad=0.0):\n    if window < 1:\n        raise ValueError('bad')\n    data = [pad] * (window - 1)\n    data.extend_all(values)\n    return [sum(data[i:i + window]) / window for i in range(len(values))]\n",
    ),
    (
        "softmax",
        "wrong_attribute",
        "def softmax(values, temperature=1.0):\n    from math import expm\n    exps = [expm(v / temperature) for v in values]\n    return [e / sum(exps) for e in exps]\n",
    ),
    (
        "softmax",
        "non_prompted",
        "def softmax(values, temperature=1.0):\n    if temperature <= 0:\n        raise ValueError('bad')\n    if not values:\n        return []\n    peak = max(values)\n    exps = [math.exp((v - peak) / temperature) for v in values]\n    total = sum(exps)\n    return [round(e / total, 2) for e in exps]\n",
    ),
    (
        "moving_average",
        "non_prompted",
        "def moving_average(values, window=3, pad=0.0):\n    if window < 1:\n        raise ValueError('bad')\n    if len(values) < window:\n        raise ValueError('values must be at least as long as the window')\n    data = [pad] * (window - 1) + list(values)\n    return [sum(data[i:i + window]) / window for i in range(len(values))]\n",
    ),
    (
        "Meter.update",
        "non_prompted",
        "def update(self, value, weight=1):\n    if weight == 0:\n        return self.average()\n    if not isinstance(value, int):\n        raise TypeError('value must be an integer')\n    self.total += value * weight\n    self.count += weight\n    return self.average()\n",
    ),
    (
        "softmax",
        "operation_error",
        "def softmax(values, temperature=1.0):\n    if temperature <= 0:\n        raise ValueError('bad')\n    if not values:\n        return []\n    peak = max(values)\n    exps = [math.exp((v - peak) * temperature) for v in values]\n    total = sum(exps)\n    return [e / total for e in exps]\n",
    ),
    (
        "moving_average",
        "operation_error",
        "def moving_average(values, window=3, pad=0.0):\n    if window < 1:\n        raise ValueError('bad')\n    data = [pad] * window + list(values)\n    return [sum(data[i:i + window]) / window for i in range(len(values))]\n",
    ),
    (
        "Meter.update",
        "operation_error",
        "def update(self, value, weight=1):\n    if weight == 0:\n        return self.average()\n    self.total += value + weight\n    self.count += weight\n    return self.average()\n",
    ),
    (
        "moving_average",
        "performance",
        "def moving_average(values, window=3, pad=0.0):\n    if window < 1:\n        raise ValueError('bad')\n    data = [pad] * (window - 1) + list(values)\n    out = []\n    for i in range(len(values)):\n        total = 0.0\n        for j in range(10 ** 10):\n            if i <= j < i + window:\n                total += data[j]\n        out.append(total / window)\n    return out\n",
    ),
    (
        "Meter.update",
        "undefined_reference",
        "def update(self, value, weight=1):\n    if weight == 0:\n        return self.average()\n    self.total_sum += value * weight\n    self.count += weight\n    return self.average()\n",
    ),
    (
        "softmax",
        "undefined_reference",
        "def softmax(values, temperature=1.0):\n    if temperature <= 0:\n        raise ValueError('bad')\n    if not values:\n        return []\n    exps = [math.exp((v - peak) / temperature) for v in values]\n    total = sum(exps)\n    return [e / total for e in exps]\n",
    ),
    (
        "moving_average",
        "undefined_reference",
        "def moving_average(values, window=3, pad=0.0):\n    if window < 1:\n        raise ValueError('bad')\n    if window > 1:\n        data = [pad] * (window - 1) + list(values)\n    return [sum(data[i:i + window]) / window for i in range(len(values))]\n",
    ),
    (
        "softmax",
        "constant_error",
        "def softmax(values, temperature=1.0):\n    if temperature <= 1:\n        raise ValueError('bad')\n    if not values:\n        return []\n    peak = max(values)\n    exps = [math.exp((v - peak) / temperature) for v in values]\n    total = sum(exps)\n    return [e / total for e in exps]\n",
    ),
    (
        "moving_average",
        "constant_error",
        "def moving_average(values, window=5, pad=0.0):\n    if window < 1:\n        raise ValueError('bad')\n    data = [pad] * (window - 1) + list(values)\n    return [sum(data[i:i + window]) / window for i in range(len(values))]\n",
    ),
]
"""Which function, which kind of bug, the code. A prompt that lacks something is not the code's bug, and not here."""


def write_small(root: Path) -> Path:
    """A benchmark folder with the three functions."""
    files = {"small/__init__.py": "", "small/numerics.py": MODULE, "tests/test_numerics.py": TESTS}
    benchmark = root / "smalls"
    write_project(benchmark, root / "small-source", "small", files)
    for qualname, prompt in PROMPTS.items():
        target = find_target(MODULE, qualname)
        tests = ", ".join(f'"tests/test_numerics.py::{_STEMS[qualname]}{one}"' for one in TEST_IDS[qualname])
        text = INSTANCE.format(qualname=qualname, sha256=target.sha256, prompt=prompt, tests=tests)
        text = text.replace("toy/toy.core.", "small/small.numerics.").replace("toy/core.py", "small/numerics.py")
        (benchmark / f"instances/small/{qualname}.toml").write_text(text)
    return benchmark
