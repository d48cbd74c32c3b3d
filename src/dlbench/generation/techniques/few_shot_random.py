"""Examples drawn from the whole benchmark: do examples help at all?"""

from dlbench.generation.techniques.few_shot import word
from dlbench.generation.techniques.interface import Choice, Examples, Technique


def choose(examples: Examples) -> Choice:
    return Choice(tuple(examples.draw(lambda other: True)))


TECHNIQUE = Technique("few-shot-random", "examples drawn at random", word, choose)
