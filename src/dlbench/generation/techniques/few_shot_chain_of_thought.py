"""Examples that think aloud before they answer, and a question that asks for the same.

Nobody has written thoughts for the instances. They are made by a program from each example's solution, so they say what
it does in which order, and not why.
"""

from collections.abc import Sequence

from dlbench.dataset.prompt_context import fenced
from dlbench.generation.models import Message
from dlbench.generation.prompt import describe
from dlbench.generation.techniques.few_shot_random import choose
from dlbench.generation.techniques.interface import Question, Shot, Technique, Turns
from dlbench.generation.techniques.thoughts import retell
from dlbench.generation.techniques.wording import THINKING_SYSTEM, system, task_of, thoughtful_closing, user


def word(question: Question, shots: Sequence[Shot]) -> Turns:
    messages: list[Message] = [system(THINKING_SYSTEM)]
    for shot in shots:
        messages.append(user(describe(shot.instance, shot.signature, ""), thoughtful_closing(shot)))
        messages.append({"role": "assistant", "content": f"{retell(shot.solution)}\n\n{fenced(shot.solution)}"})
    return [[*messages, user(task_of(question), thoughtful_closing(question))]]


TECHNIQUE = Technique("few-shot-cot", "random examples that think before they answer", word, choose)
