"""Choose the instances that may be shown as examples, in a seeded random order.

An example that contains much of the answer would invalidate the score, so an instance is excluded if it shares a large
part of the code or the prompt. The order is by hashes of the seed and both ids: the same on every machine, and nearly
unchanged when an instance is added to the benchmark.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dlbench.dataset.records import Instance
from dlbench.dataset.similarity import Shingles, normal_form, share_shown, shingle
from dlbench.dataset.target import Target, find_target, render_signature, without_docstring
from dlbench.extraction.syntax import dedent
from dlbench.generation.techniques.base import Example
from dlbench.generation.techniques.stage_predictor import NearestPrompts, StagePredictor

NEAR = 0.6
"""Examples share less than this part of the 5-token shingles of the instance's code, and of its prompt."""


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
        self._prompts: dict[str, Shingles] = {}
        self._code: dict[str, Shingles] = {}
        self._targets: dict[str, Target] = {}

    @property
    def predictor(self) -> StagePredictor:
        if self._predictor is None:
            self._predictor = NearestPrompts(self.instances)
        return self._predictor

    def others(self, instance: Instance) -> list[Instance]:
        """All other instances but those with a similar prompt; a stage predictor may use their labels."""
        return [other for other in self.instances if other.id != instance.id and not self._is_similar(instance, other)]

    def reveals(self, instance: Instance, other: Instance) -> bool:
        """Whether `other` as an example shows a large part of the solution of `instance`."""
        if other.id == instance.id or other.sha256 == instance.sha256 or self._is_similar(instance, other):
            return True
        return share_shown(self._code_of(instance), self._code_of(other)) >= NEAR

    def _is_similar(self, instance: Instance, other: Instance) -> bool:
        return share_shown(self._prompt(instance), self._prompt(other)) >= NEAR

    def example(self, instance: Instance) -> Example:
        target = self._target(instance)
        return Example(instance, render_signature(target.node), dedent(without_docstring(target)))

    def _target(self, instance: Instance) -> Target:
        if instance.id not in self._targets:
            self._targets[instance.id] = find_target(self.source_of(instance), instance.qualname)
        return self._targets[instance.id]

    def _prompt(self, instance: Instance) -> Shingles:
        if instance.id not in self._prompts:
            self._prompts[instance.id] = shingle(instance.prompt.lower())
        return self._prompts[instance.id]

    def _code_of(self, instance: Instance) -> Shingles:
        if instance.id not in self._code:
            self._code[instance.id] = shingle(normal_form(self._target(instance).text))
        return self._code[instance.id]


@dataclass(frozen=True)
class ExampleDraw:
    """The instances that may be shown as examples for `instance`."""

    pool: ExamplePool
    instance: Instance
    seed: int
    count: int

    def draw(self, fits: Callable[[Instance], bool]) -> list[Example]:
        """The first `count` of those that fit, or all of them if there are fewer."""
        examples: list[Example] = []
        for other in sorted(filter(fits, self.pool.instances), key=self._rank):
            if len(examples) == self.count:
                break
            if not self.pool.reveals(self.instance, other):
                examples.append(self.pool.example(other))
        return examples

    def predict_stage(self) -> str:
        return self.pool.predictor.predict(self.instance, self.pool.others(self.instance))

    def _rank(self, other: Instance) -> str:
        return hashlib.sha256(f"{self.seed}\n{self.instance.id}\n{other.id}".encode()).hexdigest()
