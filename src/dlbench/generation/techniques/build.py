"""Build the exact conversation that is sent for an instance, within a token limit.

A conversation is reused for all samples: pass@k is defined over answers to one prompt. A prompt that exceeds the
context is refused and scored as a failure of the model, so context is removed in a fixed order.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dlbench.dataset.records import Instance
from dlbench.generation.model import Request
from dlbench.generation.sampling import draw_seed
from dlbench.generation.techniques.base import Conversation, Example, Question, Technique, Turns, read_question
from dlbench.generation.techniques.examples import ExampleDraw, ExamplePool

CHARACTERS_PER_TOKEN = 4


def estimate_tokens(turns: Turns) -> int:
    """An estimate without the model's tokenizer; code usually has more tokens than this."""
    return math.ceil(sum(len(message["content"]) for turn in turns for message in turn) / CHARACTERS_PER_TOKEN)


def fit(technique: Technique, question: Question, examples: Sequence[Example], limit: int) -> Conversation:
    """`limit`: the maximum number of estimated tokens; 0 for none.

    Notes: `shots`, the ids of the examples; `cut`, what was removed: ids of `shots`, a number of `neighbours`, whether
    the `skeleton`.
    """
    whole, kept = question, examples
    while True:
        turns = technique.render(question, kept)
        if not limit or estimate_tokens(turns) <= limit:
            break
        if kept:
            kept = kept[:-1]
        elif question.neighbours:
            question = replace(question, neighbours=question.neighbours[:-1])
        elif question.skeleton:
            question = replace(question, skeleton="")
        else:
            break
    cut: dict[str, Any] = {}
    if len(kept) < len(examples):
        cut["shots"] = [example.instance.id for example in examples[len(kept) :]]
    if question.neighbours != whole.neighbours:
        cut["neighbours"] = len(whole.neighbours) - len(question.neighbours)
    if question.skeleton != whole.skeleton:
        cut["skeleton"] = True
    notes: dict[str, Any] = {"cut": cut} if cut else {}
    if technique.uses_examples:
        notes = {"shots": [example.instance.id for example in kept], **notes}
    return Conversation(turns, notes)


@dataclass
class PromptBuilder:
    """`shots`: number of examples; `seed`: of their draw; `tokens`: limit on estimated prompt tokens, 0 for none.
    Thread-safe: concurrent calls for one instance return equal conversations."""

    technique: Technique
    pool: ExamplePool
    shots: int = 3
    seed: int = 0
    tokens: int = 6000
    canary: str = ""
    _built: dict[str, Conversation] = field(default_factory=dict, init=False)

    def build(self, instance: Instance) -> Conversation:
        if instance.id in self._built:
            return self._built[instance.id]
        question = read_question(instance, self.pool.source_of(instance), self.canary)
        if not self.technique.neighbours:
            question = replace(question, neighbours=())
        examples, notes = self.technique.choose(ExampleDraw(self.pool, instance, self.seed, self.shots))
        fitted = fit(self.technique, question, examples, self.tokens)
        built = Conversation(fitted.turns, {"technique": self.technique.name, **notes, **fitted.notes})
        return self._built.setdefault(instance.id, built)

    def request(self, instance: Instance, sample: int, temperature: float, max_tokens: int, seed: int) -> Request:
        """`seed`: of the run; the request gets its own."""
        conversation = self.build(instance)
        first, *later = conversation.turns
        own = draw_seed(seed, instance.id, sample)
        return Request(instance.id, sample, first, temperature, max_tokens, own, tuple(later), conversation.notes)


def describe_shortage(conversations: Iterable[Conversation], shots: int) -> str:
    """A warning if instances get fewer examples than requested, else "": a few-shot score over instances without
    examples is misleading."""
    counts = [len(found.notes["shots"]) for found in conversations if "shots" in found.notes]
    fewer, none = sum(count < shots for count in counts), sum(count == 0 for count in counts)
    return f"{fewer} of {len(counts)} instances have fewer than {shots} examples, {none} have none" if fewer else ""
