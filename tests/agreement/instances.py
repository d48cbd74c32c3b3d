"""Instances of our own, with a task that has something of everything that must survive."""

import hashlib
from datetime import date

from dlbench.dataset.records import Instance, Labels

TASK = """Compute the weighted mean of each image and return it. Do not change `img`. Keep the sign of every entry.

`img` is a uint8 array of shape (H, W, C) with values 0..255. `factor` (default 2.5) is a float. Sum over axis 1, then divide by the number of columns.

`strict` (default False): if True, a negative entry raises ValueError with the message "scale needs non-negative values". Without it nothing is checked.

- Return a new array of the same shape; the Gaussian part comes from `smooth(img, sigma=1)`."""

SOURCE = '''import numpy as np


def smooth(img, sigma):
    return img


def scale(img, factor: float = 2.5, *, strict: bool = False) -> np.ndarray:
    """Docstring."""
    return img * factor


class Net(Base):
    size = 3

    def __init__(self, width):
        self.width = width

    def step(self, by, times=1):
        return by

    again = step
'''


def make_instance(task: str = TASK, qualname: str = "scale") -> Instance:
    return Instance(
        id=f"toy/toy.core.{qualname}",
        path="toy/core.py",
        qualname=qualname,
        sha256=hashlib.sha256(b"").hexdigest(),
        introduced=date(2026, 1, 2),
        prompt=task,
        tests=("tests/test_it.py::test_it",),
        labels=Labels(stage="training", task="general", data="others"),
    )
