"""Examples of any project but the asked instance's own: what is left of the help when the project's habits are gone."""

from dlbench.generation.techniques.few_shot import word
from dlbench.generation.techniques.interface import Choice, Examples, Technique


def choose(examples: Examples) -> Choice:
    return Choice(tuple(examples.draw(lambda other: other.project != examples.asked.project)))


TECHNIQUE = Technique("few-shot-other-projects", "examples of other projects", word, choose)
