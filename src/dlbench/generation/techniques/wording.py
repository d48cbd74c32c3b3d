"""Which sentences do several techniques share?

A technique that words the task in its own way would measure its wording. So all of them show the task as zero-shot
does, and add to it.
"""

from collections.abc import Iterable

from dlbench.dataset.prompt_context import fenced
from dlbench.generation.models import Message
from dlbench.generation.prompt import SYSTEM, closing, describe
from dlbench.generation.techniques.interface import Question, Shot

THINKING_SYSTEM = (
    "You write Python for deep-learning projects. First think step by step, in short sentences and without code. Then "
    "give one Python code block that contains the complete definition asked for. Helper functions and imports are "
    "allowed in the same block. Write no tests and no examples."
)
THINK = "Let's think step by step, and then"


def system(text: str = SYSTEM) -> Message:
    return {"role": "system", "content": text}


def user(*parts: str) -> Message:
    return {"role": "user", "content": "\n\n".join(parts)}


def task_of(question: Question) -> str:
    return describe(question.instance, question.signature, question.context, question.canary)


def thoughtful_closing(question: Question | Shot) -> str:
    plain = closing(question.instance)
    return f"{THINK} {plain.removeprefix('Now ')}"


def show(shots: Iterable[Shot]) -> list[Message]:
    """Each example as a turn that was asked and answered, in the words of the question itself."""
    messages: list[Message] = []
    for shot in shots:
        messages.append(user(describe(shot.instance, shot.signature, ""), closing(shot.instance)))
        messages.append({"role": "assistant", "content": fenced(shot.solution)})
    return messages
