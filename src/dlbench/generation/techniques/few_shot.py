"""What have the few-shot techniques in common? All but the choice of their examples.

Examples stand before the question as turns already answered, so that the form of an answer is shown along with its
content.
"""

from collections.abc import Sequence

from dlbench.generation.prompt import closing
from dlbench.generation.techniques.interface import Question, Shot, Turns
from dlbench.generation.techniques.wording import show, system, task_of, user


def word(question: Question, shots: Sequence[Shot]) -> Turns:
    return [[system(), *show(shots), user(task_of(question), closing(question.instance))]]
