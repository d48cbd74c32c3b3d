"""Say a task in other words: each operator is a small file behind one interface, and one guard judges them all.

Which operators are there? One list, in the order of the documentation; an operator is a file and a line here.

Which variants does an instance get?

The original first. Then the operators take turns, in an order that is drawn from the seed and the instance, until there
are as many as wanted or none of them finds anything new. Each draw has a seed of its own, so that one operator more or
less does not change what the others make. Whatever is dropped is told with its reason.

What did an operator change, word by word? Prompts have long lines: a difference by line would show all of them.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from random import Random

from dlbench.agreement.mutation.base import Family, NotApplicable, Operator, Original, Paraphrase
from dlbench.agreement.mutation.identifiers import NAME_DESCRIPTIVE as NAME_DESCRIPTIVE
from dlbench.agreement.mutation.identifiers import NAME_MISLEADING as NAME_MISLEADING
from dlbench.agreement.mutation.identifiers import NAME_NEUTRAL as NAME_NEUTRAL
from dlbench.agreement.mutation.identifiers import PARAMETER_NAMES as PARAMETER_NAMES
from dlbench.agreement.mutation.meaning_guard import Similarity, default_similarity, find_violation
from dlbench.agreement.mutation.rewrite import REPHRASE as REPHRASE
from dlbench.agreement.mutation.rewrite import request_paraphrase
from dlbench.agreement.mutation.sentences import DECLARATIVE as DECLARATIVE
from dlbench.agreement.mutation.sentences import PASSIVE as PASSIVE
from dlbench.agreement.mutation.sentences import QUESTIONS as QUESTIONS
from dlbench.agreement.mutation.sentences import REORDER as REORDER
from dlbench.agreement.mutation.surface import SYNONYMS as SYNONYMS
from dlbench.agreement.mutation.surface import TYPOS as TYPOS
from dlbench.agreement.mutation.surface import UPPER_CASE as UPPER_CASE
from dlbench.agreement.mutation.surface import VERBS as VERBS
from dlbench.agreement.variants import ORIGINAL, Variant
from dlbench.dataset.records import Instance
from dlbench.errors import DLBenchError
from dlbench.generation.model import Model
from dlbench.generation.retry import RateLimiter
from dlbench.generation.sampling import draw_seed
from dlbench.registry import find_known

OPERATORS: dict[str, Operator] = {
    one.name: one
    for one in (
        VERBS,
        SYNONYMS,
        UPPER_CASE,
        TYPOS,
        PASSIVE,
        QUESTIONS,
        DECLARATIVE,
        REORDER,
        REPHRASE,
        NAME_DESCRIPTIVE,
        NAME_NEUTRAL,
        NAME_MISLEADING,
        PARAMETER_NAMES,
    )
}


def find_operators(names: Iterable[str] = ()) -> list[Operator]:
    """Those of the names; all for none."""
    try:
        return [find_known(name, OPERATORS, "operator") for name in dict.fromkeys(names)] or [*OPERATORS.values()]
    except DLBenchError as error:
        raise DLBenchError(error.what, fix=f"choose of {', '.join(OPERATORS)}") from None


ROUNDS = 4
"""How often an operator is tried before it has nothing new."""


@dataclass(frozen=True)
class Dropped:
    """What an operator made and may not be used, or an empty `task` where it had nothing to do; and why."""

    instance: str
    operator: str
    reason: str
    task: str = ""


@dataclass(frozen=True)
class Variants:
    """`kept` begins with the original; `measure` says by what closeness of meaning was judged."""

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
    """`count` variants at most, the original among them; `operators` by name, all for none.

    `source` is the text of the instance's module: without it no parameter is renamed. Operators that need a model are
    dropped where there is none; a model that is given is closed at the end.
    """

    async def make() -> Variants:
        gate = RateLimiter(model) if model is not None else None
        try:
            return await gather_variants(
                instance, operators=operators, count=count, seed=seed, gate=gate, source=source
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
    gate: RateLimiter | None = None,
    source: str = "",
) -> Variants:
    """The same in an event loop, for many instances at once behind one gate with one budget."""
    if count < 1:
        raise DLBenchError(f"{count} variants is nothing to make", where=instance.id, fix="ask for 1 or more")
    making = _Making(Original(instance, source), seed, gate, default_similarity())
    order = find_operators(operators)
    Random(f"{seed}/{instance.id}").shuffle(order)
    for number in range(ROUNDS):
        for operator in list(order):
            if len(making.kept) >= count:
                return making.result()
            if not await making.try_once(operator, number):
                order.remove(operator)
    return making.result()


@dataclass
class _Making:
    original: Original
    seed: int
    gate: RateLimiter | None
    measure: Similarity
    kept: list[Variant] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kept.append(Variant(self._id, 0, ORIGINAL, self.original.task, self.original.function))

    @property
    def _id(self) -> str:
        return self.original.instance.id

    def result(self) -> Variants:
        return Variants(self.kept, self.dropped, self.measure.name)

    async def try_once(self, operator: Operator, number: int) -> bool:
        """Whether another try could bring something else."""
        try:
            wording = await self._change(operator, number)
        except NotApplicable as reason:
            if number == 0:
                self._drop(operator, str(reason))
            return False
        if any(_is_same(wording, variant) for variant in self.kept):
            if number == 0:
                self._drop(operator, "the same as a variant before it", wording.task)
            return True
        if fault := find_violation(self.original, wording, self.measure):
            self._drop(operator, fault, wording.task)
            return True
        index = len(self.kept)
        made = Variant(self._id, index, operator.name, wording.task, wording.function, dict(wording.parameters))
        self.kept.append(made)
        return True

    async def _change(self, operator: Operator, number: int) -> Paraphrase:
        chance = Random(f"{self.seed}/{self._id}/{operator.name}/{number}")
        try:
            if operator.change is not None:
                return operator.change(self.original, chance)
        except NotApplicable:
            if self.gate is None or not operator.order:
                raise
        if self.gate is None:
            raise NotApplicable("it needs a model, and none was given")
        seed = draw_seed(self.seed, f"{self._id}/{operator.name}", number)
        task = self.original.task
        return Paraphrase(
            await request_paraphrase(self.gate, self._id, operator.order, task, number, seed), self.original.function
        )

    def _drop(self, operator: Operator, reason: str, task: str = "") -> None:
        self.dropped.append(Dropped(self._id, operator.name, reason, task))


def _is_same(wording: Paraphrase, variant: Variant) -> bool:
    mine = (wording.task, wording.function, dict(wording.parameters))
    return mine == (variant.task, variant.function, dict(variant.parameters))


_TOKENS = re.compile(r"\s+|`[^`\n]*`|\w+|[^\w\s]")


def show_difference(before: str, after: str) -> str:
    """The new text with what went in `[-…-]` and what came in `{+…+}`."""
    old, new = _TOKENS.findall(before), _TOKENS.findall(after)
    parts: list[str] = []
    for kind, start, end, from_, to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, come = "".join(old[start:end]), "".join(new[from_:to])
        if kind == "equal":
            parts.append(come)
            continue
        parts += [f"[-{gone}-]"] if gone else []
        parts += [f"{{+{come}+}}"] if come else []
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
    "show_difference",
]
