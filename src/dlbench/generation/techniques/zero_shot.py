"""The task and nothing else: what every other technique is held against."""

from collections.abc import Sequence

from dlbench.generation.prompt import zero_shot
from dlbench.generation.techniques.interface import Question, Shot, Technique, Turns


def word(question: Question, shots: Sequence[Shot]) -> Turns:
    return [zero_shot(question.instance, question.signature, question.context, question.canary)]


TECHNIQUE = Technique("zero-shot", "the task alone", word)
