"""What exactly is sent for an instance, and how did it come about?

Put together once for an instance and the same for all its samples: n samples are n answers to one question, or pass@k
would mean something else.

What is left out where a prompt would be too long?

A prompt that does not fit is refused by the endpoint and scored as a failure of the model. So context goes, in an order
that is the same for all: the examples, last one first; then the neighbours' signatures, last one first; then the
skeleton of the class. The task itself, its signature and the imports are never cut.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dlbench.dataset.records import Instance
from dlbench.generation.model import Request
from dlbench.generation.sampling import draw_seed
from dlbench.generation.techniques.base import Conversation, Example, Question, Technique, Turns, read_question
from dlbench.generation.techniques.examples import ExamplePool

CHARACTERS_PER_TOKEN = 4


def estimate_tokens(turns: Turns) -> int:
    """Without a model's own tokeniser; code has rather more tokens than this says."""
    return math.ceil(sum(len(message["content"]) for turn in turns for message in turn) / CHARACTERS_PER_TOKEN)


@dataclass(frozen=True)
class FittedPrompt:
    turns: Turns
    shots: tuple[Example, ...]
    cut: dict[str, Any]
    """What was left out: ids of `shots`, a number of `neighbours`, whether the `skeleton`; empty where nothing was."""


def fit(technique: Technique, question: Question, shots: Sequence[Example], limit: int) -> FittedPrompt:
    """`limit`: the most tokens by estimate; 0 for none."""
    whole, kept = question, tuple(shots)
    while True:
        turns = technique.word(question, kept)
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
    if len(kept) < len(shots):
        cut["shots"] = [shot.instance.id for shot in shots[len(kept) :]]
    if question.neighbours != whole.neighbours:
        cut["neighbours"] = len(whole.neighbours) - len(question.neighbours)
    if question.skeleton != whole.skeleton:
        cut["skeleton"] = True
    return FittedPrompt(turns, kept, cut)


@dataclass(frozen=True)
class Settings:
    """`shots`: examples wanted; `seed`: of their draw; `tokens`: the most that a prompt has by estimate, 0 for any."""

    shots: int = 3
    seed: int = 0
    tokens: int = 6000
    canary: str = ""


class PromptBuilder:
    """Asked by several threads; two that ask for the same instance at once get the same."""

    def __init__(self, technique: Technique, shelf: ExamplePool, settings: Settings | None = None) -> None:
        self.technique = technique
        self._shelf = shelf
        self._settings = settings or Settings()
        self._known: dict[str, Conversation] = {}

    def ask(self, instance: Instance) -> Conversation:
        if instance.id not in self._known:
            self._known[instance.id] = self._compose(instance)
        return self._known[instance.id]

    def request(self, instance: Instance, sample: int, temperature: float, max_tokens: int, seed: int) -> Request:
        """`seed` is the run's."""
        conversation = self.ask(instance)
        first, *later = conversation.turns
        own = draw_seed(seed, instance.id, sample)
        return Request(instance.id, sample, first, temperature, max_tokens, own, tuple(later), conversation.notes)

    def _compose(self, instance: Instance) -> Conversation:
        technique, settings = self.technique, self._settings
        question = read_question(instance, self._shelf.source_of(instance), settings.canary)
        if not technique.neighbours:
            question = replace(question, neighbours=())
        choice = technique.choose(self._shelf.beside(instance, settings.seed, settings.shots))
        fitted = fit(technique, question, choice.shots, settings.tokens)
        notes: dict[str, Any] = {"technique": technique.name, **choice.notes}
        if technique.wants_shots:
            notes["shots"] = [shot.instance.id for shot in fitted.shots]
        if fitted.cut:
            notes["cut"] = fitted.cut
        return Conversation(fitted.turns, notes)


def describe_shortage(conversations: Iterable[Conversation], wanted: int) -> str:
    """A sentence where instances get fewer examples than wanted, and nothing where all have them: a few-shot score over
    instances without examples would be read as more than it is."""
    counts = [len(found.notes["shots"]) for found in conversations if "shots" in found.notes]
    fewer, none = sum(count < wanted for count in counts), sum(count == 0 for count in counts)
    if not fewer:
        return ""
    return f"{fewer} of {len(counts)} instances are asked with fewer than {wanted} examples, {none} of them with none"
