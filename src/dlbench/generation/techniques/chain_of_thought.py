"""Does it help to let the model think aloud before it writes?

Does it help to have a plan first? Two turns: a numbered plan without code, then the code that follows it.
"""

from collections.abc import Sequence

from dlbench.generation.prompt import SYSTEM, closing
from dlbench.generation.techniques.base import (
    THINKING_SYSTEM,
    Example,
    Question,
    Technique,
    Turns,
    system,
    task_of,
    thoughtful_closing,
    user,
)


def render_chain_of_thought(question: Question, shots: Sequence[Example]) -> Turns:
    return [[system(THINKING_SYSTEM), user(task_of(question), thoughtful_closing(question))]]


CHAIN_OF_THOUGHT = Technique("zero-shot-cot", "think step by step, then the code", render_chain_of_thought)


PLANNING_SYSTEM = "You plan and write Python for deep-learning projects. In each turn, do what it asks and no more."
PLAN = (
    "Do not write code yet. Write a short numbered plan of how you will implement it: inputs and their shapes, checks "
    "and errors, each step of the computation, boundary cases, and what is returned."
)
# The rules of an answer that zero-shot states in its system message, said in the turn that they are meant for.
RULES = SYSTEM.split(". ", 1)[1]


def render_self_planning(question: Question, shots: Sequence[Example]) -> Turns:
    plan = [system(PLANNING_SYSTEM), user(task_of(question), PLAN)]
    return [plan, [user(f"Follow your plan. {closing(question.instance)}", RULES)]]


SELF_PLANNING = Technique("self-planning", "a plan in the first turn, the code in the second", render_self_planning)
