"""Prompting techniques: how a task is put to a model. Each technique is a member of the registry `TECHNIQUES`."""

from dlbench.generation.techniques.base import TECHNIQUES, Conversation, Example, Question, Technique
from dlbench.generation.techniques.build import PromptBuilder, Settings
from dlbench.generation.techniques.examples import ExamplePool
from dlbench.generation.techniques.stage_predictor import PredictedStages

find_technique = TECHNIQUES.find

__all__ = [
    "TECHNIQUES",
    "Conversation",
    "Example",
    "ExamplePool",
    "PredictedStages",
    "PromptBuilder",
    "Question",
    "Settings",
    "Technique",
    "find_technique",
]
