"""A balanced split covers all labels and projects, is quick, and is reproducible."""

import random
from collections import Counter

from dlbench.construction.admit import propose_instance
from dlbench.dataset import Instance, load
from dlbench.dataset.labels import Data, Stage, Task
from dlbench.dataset.records import Labels, Measures
from dlbench.dataset.splits import choose_balanced


def make(number: int, stage: Stage, project: str, seconds: float = 0.1) -> Instance:
    row = {"id": f"{project}/m.f{number}", "path": "m.py", "qualname": f"f{number}", "sha256": "0" * 64}
    labels = Labels(stage=stage, task=Task.GENERAL, data=Data.OTHERS)
    plain = propose_instance(row, ["t.py::test"])
    return plain.model_copy(update={"labels": labels, "measures": Measures(seconds=seconds)})


ALL = [make(n, Stage.TRAINING, "big") for n in range(50)] + [
    make(100 + n, stage, f"small{n % 4}") for n, stage in enumerate(Stage)
]


def test_rare_labels_and_projects_are_chosen_first():
    chosen = choose_balanced(ALL, 8)
    assert {one.labels.stage for one in chosen} == set(Stage)
    assert Counter(one.project for one in chosen)["big"] <= 3
    assert len({one.project for one in chosen}) == 5


def test_choice_does_not_depend_on_record_order():
    shuffled = random.Random(0).sample(ALL, len(ALL))
    assert choose_balanced(shuffled, 12) == choose_balanced(ALL, 12)


def test_slow_instances_come_last():
    slow = [make(n, Stage.INFERENCE, "slow", seconds=9.0) for n in range(3)]
    assert not {one.project for one in choose_balanced([*slow, *ALL], 20)} & {"slow"}
    assert len(choose_balanced([*slow, *ALL], 1000)) == len(ALL) + 3


def test_lite_split_covers_labels_and_projects_and_is_quick():
    benchmark = load()
    chosen = [benchmark.instances[one] for one in benchmark.splits["lite"]]
    assert len(chosen) == 120
    for axis, least in (("stage", 18), ("task", 10), ("data", 20)):
        counts = Counter(getattr(one.labels, axis) for one in chosen)
        assert min(counts[label] for label in {"stage": Stage, "task": Task, "data": Data}[axis]) >= least
    assert len({one.project for one in chosen}) >= 30
    assert max(one.measures.seconds or 0.0 for one in chosen) <= 5.0
