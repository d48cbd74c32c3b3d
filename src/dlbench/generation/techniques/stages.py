"""Which stage of the pipeline does a prompt belong to, for somebody who has no labels?

One interface, so that a trained classifier can take the place of what serves for now: a vote of the five prompts most
like it, by the cosine of their TF-IDF vectors. Only labels of other instances are seen.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Protocol

from dlbench.dataset.labels import Stage
from dlbench.dataset.records import Instance
from dlbench.errors import DLBenchError

_WORD = re.compile(r"[^\W\d_]{2,}")

Vector = dict[str, float]


class StagePredictor(Protocol):
    def predict(self, asked: Instance, known: Sequence[Instance]) -> Stage:
        """By the prompt of `asked` and by prompts and labels of `known`; the label of `asked` is not looked at."""
        ...


class NearestPrompts:
    """How rare a word is is counted over all `instances`; that needs no label."""

    def __init__(self, instances: Sequence[Instance], voters: int = 5) -> None:
        self._voters = voters
        self._size = len(instances)
        self._spread = Counter(word for instance in instances for word in set(_words(instance.prompt)))
        self._vectors = {instance.id: self._vector(instance.prompt) for instance in instances}

    def predict(self, asked: Instance, known: Sequence[Instance]) -> Stage:
        if not known:
            mend = "predicting a stage needs labelled instances beside the asked one"
            raise DLBenchError("there is no other instance to learn from", where=asked.id, mend=mend)
        vector = self._vector(asked.prompt)
        near = sorted(((self._cosine(vector, other), other.id, other.labels.stage) for other in known), key=_closeness)
        votes: dict[Stage, float] = defaultdict(float)
        for cosine, _, stage in near[: self._voters]:
            votes[stage] += cosine
        return max(Stage, key=lambda stage: votes.get(stage, -1.0))

    def _cosine(self, vector: Vector, other: Instance) -> float:
        across = self._vectors.get(other.id) or self._vector(other.prompt)
        return sum(weight * across[word] for word, weight in vector.items() if word in across)

    def _vector(self, text: str) -> Vector:
        """Of length one, so that a product of two is their cosine."""
        counts = Counter(_words(text))
        weights = {
            word: (1 + math.log(count)) * (1 + math.log((1 + self._size) / (1 + self._spread[word])))
            for word, count in counts.items()
        }
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()}


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _closeness(near: tuple[float, str, Stage]) -> tuple[float, str]:
    return -near[0], near[1]
