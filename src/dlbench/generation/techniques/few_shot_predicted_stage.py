"""Examples of the pipeline stage that is predicted from the prompt: what a user without labels can do."""

from dlbench.generation.techniques.few_shot import word
from dlbench.generation.techniques.interface import Choice, Examples, Technique


def choose(examples: Examples) -> Choice:
    stage = examples.predict_stage()
    shots = examples.draw(lambda other: other.labels.stage == stage)
    return Choice(tuple(shots), {"predicted_stage": str(stage)})


TECHNIQUE = Technique("few-shot-predicted-stage", "examples of the stage predicted from its prompt", word, choose)
