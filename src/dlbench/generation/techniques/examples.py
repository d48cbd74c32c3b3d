"""Choose the instances that may be shown as examples, in a seeded random order.

The order is by hashes: the same on every machine, and nearly unchanged when an instance is added to the benchmark.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice

from dlbench.dataset.records import Instance
from dlbench.dataset.similarity import Shingles, normal_form, share_shown, shingle
from dlbench.dataset.target import find_target, render_signature, without_docstring
from dlbench.extraction.syntax import dedent
from dlbench.generation.techniques.base import Example
from dlbench.generation.techniques.stage_predictor import NearestPrompts, StagePredictor

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
