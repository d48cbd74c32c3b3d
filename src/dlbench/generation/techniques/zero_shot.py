"""The task and nothing else: what every other technique is held against.

Does it help to see more of the module? Zero-shot shows its imports and the skeleton of the method's class; this adds
the signatures of the module's other functions and classes. Never a body: it could hold the answer.
"""

from collections.abc import Sequence

from dlbench.generation.prompt import zero_shot
from dlbench.generation.techniques.base import Example, Question, Technique, Turns


def render_zero_shot(question: Question, shots: Sequence[Example]) -> Turns:
    return [zero_shot(question.instance, question.signature, question.context, question.canary)]


ZERO_SHOT = Technique("zero-shot", "the task alone", render_zero_shot)


MODULE_CONTEXT = Technique(
    "module-context", "with the signatures of the module's neighbours", render_zero_shot, neighbours=True
)
