"""Make variants of a prompt with mutation operators.

The operators take turns until there are `count` variants or none finds anything new. Every draw has its own seed, so
adding an operator does not change what the others make. A model's paraphrases are kept in the workspace under a hash of
everything they depend on: a study that is started again gets the same variants for free.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from random import Random

from dlbench.agreement.mutation.base import OPERATORS, Family, NotApplicable, Operator, Original, Paraphrase
from dlbench.agreement.mutation.meaning_guard import Similarity, default_similarity, find_violation
from dlbench.agreement.variants import ORIGINAL, Variant
from dlbench.dataset.records import Instance
from dlbench.errors import DLBenchError
from dlbench.extraction.reasoning import without_reasoning
from dlbench.generation.conversation import as_record, read_record
from dlbench.generation.model import Message, Request
from dlbench.generation.retry import RateLimiter
from dlbench.generation.sampling import draw_seed
from dlbench.jsonl import dump, write_whole
from dlbench.workspace.home import disk_errors, home, make_folder

_SUMMARY = "the whole prompt in a model's own words"
_ORDER = "Say the whole text in other words and other sentences, as another programmer would."
OPERATORS.add("rephrase", Operator("rephrase", Family.GRAMMATICAL, _SUMMARY, instruction=_ORDER), order=9)

ROUNDS = 4
"""How often an operator is tried before it counts as exhausted."""


def find_operators(names: Iterable[str] = ()) -> list[Operator]:
    """The named operators; without names all of them."""
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


async def gather_variants(
    instance: Instance,
    *,
    operators: Sequence[str] = (),
    count: int = 8,
    seed: int = 0,
    limiter: RateLimiter | None = None,
    source: str = "",
) -> Variants:
    """At most `count` variants, including the original; `operators` by name, all if empty. Without `source`, the text
    of the instance's module, no parameter is renamed; operators that need a model are dropped without a `limiter`."""
    if count < 1:
        raise DLBenchError(f"cannot make {count} variants", where=instance.id, fix="ask for 1 or more")
    maker = _VariantMaker(Original(instance, source), seed, limiter, default_similarity())
    queue = find_operators(operators)
    Random(f"{seed}/{instance.id}").shuffle(queue)
    for number in range(ROUNDS):
        for operator in list(queue):
            if len(maker.made.kept) >= count:
                return maker.made
            if not await maker.try_once(operator, number):
                queue.remove(operator)
    return maker.made


@dataclass
class _VariantMaker:
    original: Original
    seed: int
    limiter: RateLimiter | None
    similarity: Similarity

    def __post_init__(self) -> None:
        self._id = self.original.instance.id
        first = Variant(self._id, 0, ORIGINAL, self.original.task, self.original.function)
        self.made = Variants([first], [], self.similarity.name)

    async def try_once(self, operator: Operator, number: int) -> bool:
        """Whether another try could give something else."""
        try:
            made = await self._paraphrase(operator, number)
        except NotApplicable as reason:
            if number == 0:
                self._drop(operator, str(reason))
            return False
        kept = self.made.kept
        variant = Variant(self._id, len(kept), operator.name, made.task, made.function, dict(made.parameters))
        known = [replace(other, index=variant.index, operator=operator.name) for other in kept]
        if variant in known:
            if number == 0:
                self._drop(operator, "identical to an earlier variant", made.task)
        elif violation := find_violation(self.original, made, self.similarity):
            self._drop(operator, violation, made.task)
        else:
            kept.append(variant)
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
        self.made.dropped.append(Dropped(self._id, operator.name, reason, task))


FOLDER = "wordings"
TEMPERATURE = 0.7

_SYSTEM = (
    "You reword descriptions of programming tasks without changing what they mean. Copy every piece of code in "
    "backticks, every quoted string, number, shape, name, type and axis exactly as it is. Keep every negation, and the "
    "order within each sentence. Add nothing and leave nothing out. Answer with the reworded text alone."
)
_FENCED = re.compile(r"\A```\w*\n(.*)\n```\Z", re.DOTALL)
_PREFACE = re.compile(r"\A(?:sure|certainly|of course|here)\b[^\n]*:[ \t]*\n+", re.IGNORECASE)
_CHARACTERS_PER_TOKEN = 2


async def request_paraphrase(
    limiter: RateLimiter, instance_id: str, instruction: str, text: str, number: int, seed: int
) -> str:
    """`number` counts the requests of one instance; another `seed` is another request."""
    messages: list[Message] = [
        {"role": "system", "content": _SYSTEM},
        {"role": "user", "content": f"{instruction}\n\nThe text:\n\n{text}"},
    ]
    max_tokens = max(256, len(text) // _CHARACTERS_PER_TOKEN)
    request = Request(instance_id, number, messages, TEMPERATURE, max_tokens, seed, notes={"technique": "mutation"})
    model = limiter.model.name
    key = json.dumps([model, request.messages, request.temperature, request.max_tokens, request.seed])
    digest = hashlib.sha256(key.encode()).hexdigest()
    path = home() / FOLDER / digest[:2] / f"{digest}.json"
    if path.is_file():
        return _read_text(read_record(json.loads(path.read_text(encoding="utf-8"))).text)
    answer = await limiter.ask(request)
    record = {"model": model, "instance": instance_id, "order": instruction, "seed": seed} | as_record(answer)
    with disk_errors(path):
        make_folder(path.parent)
        write_whole(path, dump(record))
    return _read_text(answer.text)


def _read_text(answer: str) -> str:
    visible, unfinished = without_reasoning(answer)
    text = _PREFACE.sub("", visible.strip())
    fenced = _FENCED.match(text)
    return "" if unfinished else (fenced[1] if fenced else text).strip()


_TOKENS = re.compile(r"\s+|`[^`\n]*`|\w+|[^\w\s]")


def show_difference(before: str, after: str) -> str:
    """The new text with removed words as `[-…-]` and added words as `{+…+}`; prompts have long lines."""
    old, new = _TOKENS.findall(before), _TOKENS.findall(after)
    parts: list[str] = []
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        removed, added = "".join(old[start:end]), "".join(new[new_start:new_end])
        parts += [f"[-{removed}-]"] if removed and kind != "equal" else []
        parts += [f"{{+{added}+}}"] if added and kind != "equal" else [added]
    return "".join(parts)
