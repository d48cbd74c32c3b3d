"""Which instances may be shown beside the asked one, and in which order are they drawn?

An example that is the asked instance, or nearly it, would give the answer away, and the score would be a lie. So an
instance is never shown beside one of whose code or prompt it holds a large share. The order of a draw comes from hashes
of the seed and the two ids: the same on every machine, and hardly changed by an instance more in the benchmark.
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
"""An example holds less than this share of the asked function's runs of five tokens, and of its prompt's."""


class ExamplePool:
    """`source_of` gives the text of an instance's module; it is read only for what is drawn. Thread-safe."""

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

    def beside(self, asked: Instance, seed: int, wanted: int) -> "ExampleDraw":
        return ExampleDraw(self, asked, seed, wanted)

    def others(self, asked: Instance) -> list[Instance]:
        """All but the asked one and those whose prompt is nearly its own; a predictor may know their labels."""
        return [other for other in self.instances if other.id != asked.id and not self._reads_like(asked, other)]

    def gives_away(self, asked: Instance, other: Instance) -> bool:
        """Would the other, shown as an example, show a large share of what is asked?"""
        if other.id == asked.id or other.sha256 == asked.sha256 or self._reads_like(asked, other):
            return True
        return share_shown(self._code_of(asked), self._code_of(other)) >= NEAR

    def _reads_like(self, asked: Instance, other: Instance) -> bool:
        return share_shown(self._prompt(asked), self._prompt(other)) >= NEAR

    def shot(self, instance: Instance) -> Example:
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
    """The examples that one instance may be shown; see `interface.Examples`."""

    shelf: ExamplePool
    asked: Instance
    seed: int
    wanted: int

    def draw(self, fits: Callable[[Instance], bool]) -> list[Example]:
        shots: list[Example] = []
        for other in sorted(filter(fits, self.shelf.instances), key=self._place):
            if len(shots) == self.wanted:
                break
            if not self.shelf.gives_away(self.asked, other):
                shots.append(self.shelf.shot(other))
        return shots

    def predict_stage(self) -> str:
        return self.shelf.predictor.predict(self.asked, self.shelf.others(self.asked))

    def _place(self, other: Instance) -> str:
        return hashlib.sha256(f"{self.seed}\n{self.asked.id}\n{other.id}".encode()).hexdigest()
