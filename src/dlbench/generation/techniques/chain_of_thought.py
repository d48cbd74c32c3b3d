"""Does it help to let the model think aloud before it writes?"""

from collections.abc import Sequence

from dlbench.generation.techniques.interface import Question, Shot, Technique, Turns
from dlbench.generation.techniques.wording import THINKING_SYSTEM, system, task_of, thoughtful_closing, user


def word(question: Question, shots: Sequence[Shot]) -> Turns:
    return [[system(THINKING_SYSTEM), user(task_of(question), thoughtful_closing(question))]]


TECHNIQUE = Technique("zero-shot-cot", "think step by step, then the code", word)
