"""Prompting techniques: how a task is put to a model. Each technique is a member of the registry `TECHNIQUES`."""

from dlbench.generation.techniques.base import TECHNIQUES
from dlbench.generation.techniques.build import PromptBuilder
from dlbench.generation.techniques.examples import ExamplePool
from dlbench.generation.techniques.stage_predictor import PredictedStages

find_technique = TECHNIQUES.find

__all__ = ["TECHNIQUES", "ExamplePool", "PredictedStages", "PromptBuilder", "find_technique"]
