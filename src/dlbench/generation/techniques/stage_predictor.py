"""Which stage of the pipeline does a prompt belong to, for somebody who has no labels?

One interface and two answers. Without further ado, a vote of the five prompts most like it, by the cosine of their
TF-IDF vectors. Or what a trained classifier said in cross-validation (`dlbench analyze stage evaluate` writes the
file): always one that had not seen the prompt. Only labels of other instances are seen either way.
"""

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
            fix = "predicting a stage needs labelled instances beside the asked one"
            raise DLBenchError("there is no other instance to learn from", where=asked.id, fix=fix)
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


class PredictedStages:
    """What a classifier said, from a file of lines `{"instance": …, "prompt": sha256, "stage": …}`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stages: dict[str, tuple[str, Stage]] = {}
        for number, record in read_lines(path):
            try:
                self._stages[str(record["instance"])] = str(record["prompt"]), _STAGES[record["stage"]]
            except (KeyError, TypeError) as error:
                what = f"not a predicted stage: {error!r}"
                raise DLBenchError(what, where=f"{path}:{number}", fix=self._FIX) from None

    def predict(self, asked: Instance, known: Sequence[Instance]) -> Stage:
        prompt, stage = self._stages.get(asked.id, ("", None))
        if stage is None:
            raise DLBenchError(f"there is no predicted stage of {asked.id}", where=str(self._path), fix=self._FIX)
        if prompt != hash_prompt(asked.prompt):
            what = f"the stage of {asked.id} was predicted from another prompt"
            raise DLBenchError(what, where=str(self._path), fix=self._FIX)
        return stage

    _FIX = "`dlbench analyze stage evaluate --out DIR` writes the file anew"


def hash_prompt(prompt: str) -> str:
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _closeness(near: tuple[float, str, Stage]) -> tuple[float, str]:
    return -near[0], near[1]
