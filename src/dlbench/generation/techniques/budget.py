"""What is left out where a prompt would be too long?

A prompt that does not fit is refused by the endpoint and scored as a failure of the model. So context goes, in an order
that is the same for all: the examples, last one first; then the neighbours' signatures, last one first; then the
skeleton of the class. The task itself, its signature and the imports are never cut.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dlbench.generation.techniques.interface import Question, Shot, Technique, Turns

CHARACTERS_PER_TOKEN = 4


def estimate_tokens(turns: Turns) -> int:
    """Without a model's own tokeniser; code has rather more tokens than this says."""
    return math.ceil(sum(len(message["content"]) for turn in turns for message in turn) / CHARACTERS_PER_TOKEN)


@dataclass(frozen=True)
class Fitted:
    turns: Turns
    shots: tuple[Shot, ...]
    cut: dict[str, Any]
    """What was left out: ids of `shots`, a number of `neighbours`, whether the `skeleton`; empty where nothing was."""


def fit(technique: Technique, question: Question, shots: Sequence[Shot], limit: int) -> Fitted:
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
    return Fitted(turns, kept, cut)
