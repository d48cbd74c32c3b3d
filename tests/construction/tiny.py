"""A tiny project on a local index with two releases; the second adds a function."""

from datetime import date

from ..workspace.parts import Index
from .fake_index import MIT, publish

NAME = "dlbench-tiny"
SECOND_RELEASE = date(2026, 1, 2)

SOFTMAX = '''"""Layers of a neural network: activations for training and inference."""

import numpy as np


def softmax(logits, temperature=1.0):
    """Probabilities of classes."""
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    logits = np.asarray(logits, dtype=float) / temperature
    weights = np.exp(logits - np.max(logits, axis=-1, keepdims=True))
    return weights / np.sum(weights, axis=-1, keepdims=True)
'''
LEAKY_RELU = '''

def leaky_relu(values, slope=0.1):
    """What is negative, made small."""
    result = np.array(values, dtype=float)
    negative = result < 0
    result[negative] = result[negative] * slope
    return result
'''
SOFTMAX_TESTS = """import numpy as np
import pytest

from dlbench_tiny import layers


@pytest.mark.parametrize("size", [2, 3, 4])
def test_softmax_sums_to_one(size):
    found = layers.softmax(np.arange(2 * size).reshape(2, size))
    assert np.allclose(found.sum(axis=-1), 1.0)
    assert np.all(np.diff(found) > 0)


def test_softmax_refuses():
    with pytest.raises(ValueError):
        layers.softmax([1.0], 0)
"""
LEAKY_RELU_TESTS = """

@pytest.mark.parametrize("slope", [0.1, 0.2, 0.5])
def test_leaky_relu(slope):
    found = layers.leaky_relu([-2.0, 0.0, 3.0], slope)
    assert np.allclose(found, [-2.0 * slope, 0.0, 3.0])
"""
# it does not say that it needs numpy: that is found out when its tests cannot be collected
FILES = {
    "PKG-INFO": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n",
    "README.md": "word " * 250,
    "LICENSE": MIT,
    "dlbench_tiny/__init__.py": "",
    "dlbench_tiny/layers.py": SOFTMAX,
    "tests/test_layers.py": SOFTMAX_TESTS,
}
SECOND = {"dlbench_tiny/layers.py": SOFTMAX + LEAKY_RELU, "tests/test_layers.py": SOFTMAX_TESTS + LEAKY_RELU_TESTS}


def publish_tiny(index: Index) -> None:
    publish(
        index,
        NAME,
        FILES,
        {"1.0": "", "1.1": ""},
        changes={"1.1": SECOND},
        summary="Neural networks for machine learning",
        requires_dist=[],
    )
