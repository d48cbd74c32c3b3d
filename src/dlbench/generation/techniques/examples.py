"""Choose the instances that may be shown as examples, in a seeded random order, and predict the stage of a prompt.

The order is by hashes: the same on every machine, and nearly unchanged when an instance is added to the benchmark. The
stage is predicted for a user who has no labels; the label of the instance itself is not used.
"""

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Protocol

from dlbench.dataset.labels import Stage
from dlbench.dataset.records import Instance
from dlbench.dataset.similarity import Shingles, normal_form, share_shown, shingle
from dlbench.dataset.target import find_target, render_signature, without_docstring
from dlbench.errors import DLBenchError
from dlbench.extraction.syntax import dedent
from dlbench.generation.techniques import Example
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


NEAR = 0.6
"""Examples share less than this part of the 5-token shingles of the instance's code, and of its prompt."""

_find_target = cache(find_target)


class ExamplePool:
    """`source_of` returns the text of an instance's module; it is called only for drawn instances. Thread-safe."""

    def __init__(
        self,
        instances: Iterable[Instance],
        source_of: Callable[[Instance], str],
        predictor: StagePredictor | None = None,
    ) -> None:
        self.instances = sorted(instances, key=lambda instance: instance.id)
        self.source_of = source_of
        self._predictor = predictor

    @cached_property
    def predictor(self) -> StagePredictor:
        return self._predictor or NearestPrompts(self.instances)

    def others(self, instance: Instance) -> list[Instance]:
        """All other instances but those with a similar prompt; a stage predictor may use their labels."""
        return [other for other in self.instances if other.id != instance.id and not _is_similar(instance, other)]

    def reveals(self, instance: Instance, other: Instance) -> bool:
        """Whether `other` as an example shows a large part of the solution of `instance`."""
        if other.id == instance.id or other.sha256 == instance.sha256 or _is_similar(instance, other):
            return True
        code, shown = (_shingle_code(self.source_of(one), one.qualname) for one in (instance, other))
        return share_shown(code, shown) >= NEAR

    def example(self, instance: Instance) -> Example:
        target = _find_target(self.source_of(instance), instance.qualname)
        return Example(instance, render_signature(target.node), dedent(without_docstring(target)))


@cache
def _shingle_code(source: str, qualname: str) -> Shingles:
    return shingle(normal_form(_find_target(source, qualname).text))


@cache
def _shingle_prompt(prompt: str) -> Shingles:
    return shingle(prompt.lower())


def _is_similar(instance: Instance, other: Instance) -> bool:
    return share_shown(_shingle_prompt(instance.prompt), _shingle_prompt(other.prompt)) >= NEAR


@dataclass(frozen=True)
class ExampleDraw:
    """The instances that may be shown as examples for `instance`."""

    pool: ExamplePool
    instance: Instance
    seed: int
    count: int

    def draw(self, fits: Callable[[Instance], bool]) -> list[Example]:
        """The first `count` of those that fit, or all of them if there are fewer."""
        ranked = sorted(filter(fits, self.pool.instances), key=self._rank)
        harmless = (other for other in ranked if not self.pool.reveals(self.instance, other))
        return [self.pool.example(other) for other in islice(harmless, self.count)]

    def _rank(self, other: Instance) -> str:
        return hashlib.sha256(f"{self.seed}\n{self.instance.id}\n{other.id}".encode()).hexdigest()
