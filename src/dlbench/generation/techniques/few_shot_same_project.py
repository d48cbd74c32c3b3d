"""Examples of the asked instance's own project: its habits, its helpers, its names."""

from dlbench.generation.techniques.few_shot import word
from dlbench.generation.techniques.interface import Choice, Examples, Technique


def choose(examples: Examples) -> Choice:
    return Choice(tuple(examples.draw(lambda other: other.project == examples.asked.project)))


TECHNIQUE = Technique("few-shot-same-project", "examples of the same project", word, choose)
