"""Make variants of a prompt with mutation operators.

The original comes first. Then the operators take turns, in an order drawn from the seed and the instance, until there
are `count` variants or no operator finds anything new. Every draw has its own seed, so adding an operator does not
change what the others make. Each rejected paraphrase is recorded with its reason.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from random import Random

from dlbench.agreement.mutation.base import (
    OPERATORS,
    Family,
    NotApplicable,
    Operator,
    Original,
    Paraphrase,
    render_operators,
)
from dlbench.agreement.mutation.meaning_guard import Similarity, default_similarity, find_violation
from dlbench.agreement.mutation.rewrite import request_paraphrase
from dlbench.agreement.variants import ORIGINAL, Variant
from dlbench.dataset.records import Instance
from dlbench.errors import DLBenchError
from dlbench.generation.model import Model
from dlbench.generation.retry import RateLimiter
from dlbench.generation.sampling import draw_seed

ROUNDS = 4
"""How often an operator is tried before it counts as exhausted."""


def find_operators(names: Iterable[str] = ()) -> list[Operator]:
    """The named operators; all of them for no name."""
    return [OPERATORS.find(name) for name in dict.fromkeys(names)] or list(OPERATORS.values())


@dataclass(frozen=True)
class Dropped:
    """A rejected paraphrase with the reason; `task` is empty where the operator was not applicable."""

    instance: str
    operator: str
    reason: str
    task: str = ""


@dataclass(frozen=True)
class Variants:
    """`kept` begins with the original; `measure` names the similarity that the guard used."""

    kept: list[Variant]
    dropped: list[Dropped]
    measure: str = ""


def make_variants(
    instance: Instance,
    *,
    operators: Sequence[str] = (),
    count: int = 8,
    seed: int = 0,
    model: Model | None = None,
    source: str = "",
) -> Variants:
    """At most `count` variants, including the original; `operators` by name, all if empty.

    `source` is the text of the instance's module; without it no parameter is renamed. Operators that need a model are
    dropped without one. The model is closed at the end.
    """

    async def make() -> Variants:
        limiter = RateLimiter(model) if model is not None else None
        try:
            return await gather_variants(
                instance, operators=operators, count=count, seed=seed, limiter=limiter, source=source
            )
        finally:
            if model is not None:
                await model.close()

    return asyncio.run(make())


async def gather_variants(
    instance: Instance,
    *,
    operators: Sequence[str] = (),
    count: int = 8,
    seed: int = 0,
    limiter: RateLimiter | None = None,
    source: str = "",
) -> Variants:
    """As `make_variants`, in an event loop: many instances share one rate limiter and its budget."""
    if count < 1:
        raise DLBenchError(f"cannot make {count} variants", where=instance.id, fix="ask for 1 or more")
    maker = _VariantMaker(Original(instance, source), seed, limiter, default_similarity())
    queue = find_operators(operators)
    Random(f"{seed}/{instance.id}").shuffle(queue)
    for number in range(ROUNDS):
        for operator in list(queue):
            if len(maker.kept) >= count:
                return maker.result()
            if not await maker.try_once(operator, number):
                queue.remove(operator)
    return maker.result()


@dataclass
class _VariantMaker:
    original: Original
    seed: int
    limiter: RateLimiter | None
    similarity: Similarity
    kept: list[Variant] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._id = self.original.instance.id
        self.kept.append(Variant(self._id, 0, ORIGINAL, self.original.task, self.original.function))

    def result(self) -> Variants:
        return Variants(self.kept, self.dropped, self.similarity.name)

    async def try_once(self, operator: Operator, number: int) -> bool:
        """Whether another try could give something else."""
        try:
            made = await self._paraphrase(operator, number)
        except NotApplicable as reason:
            if number == 0:
                self._drop(operator, str(reason))
            return False
        variant = Variant(self._id, len(self.kept), operator.name, made.task, made.function, dict(made.parameters))
        if any(_is_same(variant, other) for other in self.kept):
            if number == 0:
                self._drop(operator, "identical to an earlier variant", made.task)
        elif violation := find_violation(self.original, made, self.similarity):
            self._drop(operator, violation, made.task)
        else:
            self.kept.append(variant)
        return True

    async def _paraphrase(self, operator: Operator, number: int) -> Paraphrase:
        try:
            if operator.rule is not None:
                return operator.rule(self.original, Random(f"{self.seed}/{self._id}/{operator.name}/{number}"))
        except NotApplicable:
            if self.limiter is None or not operator.instruction:
                raise
        if self.limiter is None:
            raise NotApplicable("requires a model, and none is configured")
        seed = draw_seed(self.seed, f"{self._id}/{operator.name}", number)
        task = await request_paraphrase(self.limiter, self._id, operator.instruction, self.original.task, number, seed)
        return Paraphrase(task, self.original.function)

    def _drop(self, operator: Operator, reason: str, task: str = "") -> None:
        self.dropped.append(Dropped(self._id, operator.name, reason, task))


def _is_same(one: Variant, other: Variant) -> bool:
    return (one.task, one.function, one.parameters) == (other.task, other.function, other.parameters)


_TOKENS = re.compile(r"\s+|`[^`\n]*`|\w+|[^\w\s]")


def show_difference(before: str, after: str) -> str:
    """The new text with removed words as `[-…-]` and added words as `{+…+}`.

    By word: prompts have long lines, and a difference by line would show all of them.
    """
    old, new = _TOKENS.findall(before), _TOKENS.findall(after)
    parts: list[str] = []
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        removed, added = "".join(old[start:end]), "".join(new[new_start:new_end])
        if kind == "equal":
            parts.append(added)
            continue
        parts += [f"[-{removed}-]"] if removed else []
        parts += [f"{{+{added}+}}"] if added else []
    return "".join(parts)


__all__ = [
    "OPERATORS",
    "Dropped",
    "Family",
    "Operator",
    "Variants",
    "find_operators",
    "gather_variants",
    "make_variants",
    "render_operators",
    "show_difference",
]
