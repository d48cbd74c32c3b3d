"""Three small projects in memory: every function with its prompt, stage and reference."""

from datetime import date

from dlbench.dataset.records import Instance, Labels
from dlbench.dataset.target import find_target
from dlbench.generation.techniques.examples import ExamplePool

SOURCES = {
    "plants": '''import math
from plants.soil import Soil

def water(amounts, limit=10):
    """Gives every plant its water."""
    given = []
    for amount in amounts:
        given.append(min(amount, limit))
    return given

def sprinkle(doses, most=10):
    """The same as `water` under other names."""
    out = []
    for dose in doses:
        out.append(min(dose, most))
    return out

class Garden(Soil):
    size: int = 3

    def __init__(self, beds):
        self.beds = list(beds)
        self.count = len(beds)

    def harvest(self, day, *, strict=False):
        if strict and day < 0:
            raise ValueError("no such day")
        ripe = {bed: bed.ripe(day) for bed in self.beds if bed.alive}
        return sorted(ripe, key=ripe.get)

    def prune(self):
        while self.beds and not self.beds[-1].alive:
            self.beds.pop()
''',
    "clouds": '''import numpy as np

def smooth(field, width):
    kernel = np.ones(width) / width
    return np.convolve(field, kernel, mode="same")

def score(predicted, observed):
    hits = np.logical_and(predicted, observed).sum()
    return float(hits) / max(1, int(np.logical_or(predicted, observed).sum()))

def fit(model, rows, rate=0.1):
    for row, target in rows:
        model.weights -= rate * (model(row) - target) * row
    return model
''',
    "rivers": '''from rivers.units import metres

def depth(level, floor):
    with metres():
        return level - floor

def rank(readings):
    order = sorted(range(len(readings)), key=readings.__getitem__)
    places = [0] * len(order)
    for place, index in enumerate(order):
        places[index] = place
    return places
''',
}  # fmt: skip

_FACTS = """
plants water pre_post_processing Pour each number of `amounts`, but never more than `limit`, and list what was poured.
plants sprinkle pre_post_processing Return the doses as a list, each one capped from above at the value `most`.
plants Garden.harvest inference Sort the living beds by how ripe the model predicts them to be on a day.
plants Garden.prune training Drop dead beds from the end; stop the loop at the first one alive.
clouds smooth pre_post_processing Average a field over a moving window of the given width, same length.
clouds score evaluation_metrics Measure agreement: the share of hits among all cells predicted or observed.
clouds fit training Train by gradient steps: for each row lower the weights by rate times error times row.
rivers depth model_construction Subtract the floor from the level inside the context of metres.
rivers rank evaluation_metrics Measure the place of every reading when they are put in ascending order.
"""


def _instance(project: str, qualname: str, stage: str, prompt: str) -> Instance:
    return Instance(
        id=f"{project}/{project}.{qualname}",
        path=f"{project}.py",
        qualname=qualname,
        sha256=find_target(SOURCES[project], qualname).sha256,
        introduced=date(2026, 1, 2),
        prompt=prompt,
        tests=("tests/test_it.py::test_it",),
        labels=Labels(stage=stage, task="general", data="others"),
    )


INSTANCES = {one.id: one for one in (_instance(*line.split(" ", 3)) for line in _FACTS.strip().splitlines())}


def source_of(instance: Instance) -> str:
    return SOURCES[instance.project]


def example_pool(**replaced: Instance) -> ExamplePool:
    """All instances; those of the given names are replaced."""
    return ExamplePool([replaced.get(each.name, each) for each in INSTANCES.values()], source_of)
