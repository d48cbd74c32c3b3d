"""Predict the pipeline stage of a prompt for a user who has no labels; the label of the instance itself is not used."""

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from dlbench.dataset.labels import Stage
from dlbench.dataset.records import Instance
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines

_WORD = re.compile(r"[^\W\d_]{2,}")
_STAGES = {str(stage): stage for stage in Stage}

Vector = dict[str, float]


class StagePredictor(Protocol):
    def predict(self, instance: Instance, known: Sequence[Instance]) -> Stage:
        """From the prompt of `instance` and the prompts and labels of `known`; its own label is not used."""
        ...


class NearestPrompts:
    """A vote of the nearest prompts by TF-IDF cosine; document frequencies of all `instances` need no labels."""

    def __init__(self, instances: Sequence[Instance], neighbours: int = 5) -> None:
        self._neighbours = neighbours
        self._size = len(instances)
        self._documents = Counter(word for instance in instances for word in set(_words(instance.prompt)))
        self._vectors = {instance.id: self._vector(instance.prompt) for instance in instances}

    def predict(self, instance: Instance, known: Sequence[Instance]) -> Stage:
        if not known:
            fix = "the benchmark needs other labelled instances to predict a stage"
            raise DLBenchError("there is no other instance to learn from", where=instance.id, fix=fix)
        vector = self._vector(instance.prompt)
        near = sorted((-self._cosine(vector, other), other.id, other.labels.stage) for other in known)
        votes: dict[Stage, float] = defaultdict(float)
        for negated, _, stage in near[: self._neighbours]:
            votes[stage] -= negated
        return max(Stage, key=lambda stage: votes.get(stage, -1.0))

    def _cosine(self, vector: Vector, other: Instance) -> float:
        weights = self._vectors[other.id]
        return sum(weight * weights[word] for word, weight in vector.items() if word in weights)

    def _vector(self, text: str) -> Vector:
        """Normalised TF-IDF weights: the dot product of two vectors is their cosine."""
        counts = Counter(_words(text))
        weights = {
            word: (1 + math.log(count)) * (1 + math.log((1 + self._size) / (1 + self._documents[word])))
            for word, count in counts.items()
        }
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()}


class PredictedStages:
    """Predictions of a classifier in cross-validation, from lines `{"instance": …, "prompt": sha256, "stage": …}`."""

    _FIX = "`dlbench analyze stage evaluate --out DIR` rewrites the file"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stages: dict[str, tuple[str, Stage]] = {}
        for number, record in read_lines(path):
            try:
                self._stages[str(record["instance"])] = str(record["prompt"]), _STAGES[record["stage"]]
            except (KeyError, TypeError) as error:
                what = f"not a predicted stage: {error!r}"
                raise DLBenchError(what, where=f"{path}:{number}", fix=self._FIX) from None

    def predict(self, instance: Instance, known: Sequence[Instance]) -> Stage:
        prompt, stage = self._stages.get(instance.id, ("", None))
        if stage is None:
            raise DLBenchError(f"there is no predicted stage of {instance.id}", where=str(self._path), fix=self._FIX)
        if prompt != hash_prompt(instance.prompt):
            what = f"the stage of {instance.id} was predicted from another prompt"
            raise DLBenchError(what, where=str(self._path), fix=self._FIX)
        return stage


def hash_prompt(prompt: str) -> str:
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
