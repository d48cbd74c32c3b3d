"""A small project with one good function and one function for each reason of exclusion."""

from pathlib import Path

from tests.scaffold import write_project

MODEL = '''"""Parts of a neural network for training and inference: activations, losses and layers on plain lists."""

import inspect
import math
import time


def softmax(logits, temperature=1.0):
    """Probabilities of classes."""
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    top = max(logits)
    weights = [math.exp((value - top) / temperature) for value in logits]
    total = sum(weights)
    return [weight / total for weight in weights]


def trivial(logits, temperature=1.0):
    return softmax(logits, temperature)


def flaky_loss(prediction, target):
    difference = 0.0
    for left, right in zip(prediction, target):
        step = left - right
        difference += step * step
    return difference / max(1, len(target))


def download_weights(name, host="192.0.2.1"):
    import socket

    connection = socket.create_connection((host, 80), timeout=2)
    connection.sendall(name.encode())
    answer = connection.recv(16)
    connection.close()
    return answer


STATE = {"epoch": 0}


def train_epoch(losses):
    total = 0.0
    for loss in losses:
        if loss > 0:
            total += loss
    STATE["epoch"] += 1
    return total


def describe_layer(name, units, activation):
    text = f"layer {name}"
    if units > 1:
        text += f" with {units} units"
    if activation:
        text += f" and {activation}"
    return text


def fill_weights(buffer, values):
    last = len(buffer) - 1
    for place, value in enumerate(values):
        if place > last:
            raise ValueError("too many weights")
        buffer[place] = value


def slow_inference(steps):
    result = 0
    for step in range(steps):
        result += step
    time.sleep(60)
    return result


def relu_forward(values, slope=0.0):
    result = []
    for value in values:
        if value > 0:
            result.append(value)
        else:
            result.append(slope * value)
    return result


def name_gradients(gradients, prefix="gradient"):
    caller = inspect.currentframe().f_back
    names = []
    for place, _ in enumerate(gradients):
        names.append(f"{prefix} {place} of {caller.f_code.co_name}")
    return names


def leaky_forward_again(inputs, slope=0.0):
    result = []
    for value in inputs:
        if value > 0:
            result.append(value)
        else:
            result.append(slope * value)
    return result
'''

HELPERS = '''"""Helpers of the tests of the neural network."""


def make_batch(size):
    batch = []
    for index in range(size):
        row = [index, index + 1]
        if index % 2:
            row.append(0)
        batch.append(row)
    return batch
'''

TESTS = """import random
import secrets

import pytest

from planted import model
from planted.testing.helpers import make_batch


@pytest.mark.parametrize("size", [2, 3, 4])
def test_softmax_sums_to_one(size):
    found = model.softmax(list(range(size)))
    assert len(found) == size
    assert sum(found) == pytest.approx(1.0)


def test_softmax_orders():
    assert model.softmax([1.0, 3.0])[1] > 0.8


def test_softmax_temperature():
    assert model.softmax([1.0, 3.0], 100.0)[1] < 0.6


def test_softmax_refuses():
    with pytest.raises(ValueError):
        model.softmax([1.0], 0)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_trivial(size):
    assert len(model.trivial(list(range(size)))) == size


@pytest.mark.parametrize("count", range(20))
def test_flaky(count):
    assert model.flaky_loss([1.0], [0.0]) == 1.0
    assert secrets.randbelow(4) > 0


# so many that three pass again in all likelihood: with fewer it would be the reference that fails
@pytest.mark.parametrize("count", range(20))
def test_flaky_too(count):
    assert model.flaky_loss([1.0, 3.0], [0.0, 3.0]) == 0.5
    assert secrets.randbelow(4) > 0


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_download(name):
    assert model.download_weights(name)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_train_epoch(number):
    assert model.train_epoch([1.0, -1.0]) == 1.0
    assert model.STATE["epoch"] == number


@pytest.mark.parametrize("units", [1, 2, 3])
def test_describe(units):
    try:
        model.describe_layer("dense", units, "relu")
    except NotImplementedError:
        pass


LEFT = [0.0, 0.0]


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_fill(number):
    model.fill_weights(LEFT, [1.0, 2.0])
    assert LEFT == [1.0, 2.0]


def test_fill_leaves_what_the_others_look_for():
    buffer = [0.0, 0.0]
    model.fill_weights(buffer, [1.0, 2.0])
    LEFT[:] = [1.0, 2.0]
    assert buffer == LEFT


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_slow(steps):
    assert model.slow_inference(steps) >= 0


@pytest.mark.parametrize("values", [[1.0, -1.0], [2.0], [-3.0, 0.0]])
def test_forward(values):
    expected = [max(value, 0.0) for value in values]
    assert model.relu_forward(values) == pytest.approx(expected)
    assert model.leaky_forward_again(values) == pytest.approx(expected)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_names_of_gradients(size):
    assert model.name_gradients([0.0] * size)[-1] == f"gradient {size - 1} of test_names_of_gradients"


@pytest.mark.parametrize("size", [1, 2, 3])
def test_batch(size):
    assert len(make_batch(size)) == size
"""

EXPECTED = {
    "softmax": "",
    "trivial": "trivial_delegation",
    "flaky_loss": "flaky",
    "download_weights": "tests_need_network",
    "train_epoch": "order_dependent",
    "describe_layer": "tests_cannot_tell",
    "fill_weights": "tests_cannot_tell",
    "slow_inference": "tests_too_slow",
    "relu_forward": "",
    "name_gradients": "looks_at_the_judge",
    "leaky_forward_again": "duplicate",
    "make_batch": "it is test code",
}
"""Why each function is left out; empty if it is admissible."""


def write_planted(root: Path) -> Path:
    """Write a work folder with the project's record, and the project beside it."""
    files = {
        "planted/__init__.py": "",
        "planted/model.py": MODEL,
        "planted/testing/__init__.py": "",
        "planted/testing/helpers.py": HELPERS,
        "tests/test_model.py": TESTS,
    }
    write_project(root / "work/benchmark", root / "source", "planted", files)
    return root / "work"
