"""How is a model asked? Each technique is a small file behind one interface, found by its name.

Which techniques are there?

One list, in the order of the documentation. A technique is added by its own file and a line here.
"""

from dlbench.errors import DLBenchError
from dlbench.generation.techniques.base import Conversation, Example, Question, Technique
from dlbench.generation.techniques.bug_warnings import BUG_WARNINGS as BUG_WARNINGS
from dlbench.generation.techniques.build import PromptBuilder, Settings
from dlbench.generation.techniques.chain_of_thought import CHAIN_OF_THOUGHT as CHAIN_OF_THOUGHT
from dlbench.generation.techniques.chain_of_thought import SELF_PLANNING as SELF_PLANNING
from dlbench.generation.techniques.examples import ExamplePool
from dlbench.generation.techniques.few_shot import FEW_SHOT_CHAIN_OF_THOUGHT as FEW_SHOT_CHAIN_OF_THOUGHT
from dlbench.generation.techniques.few_shot import FEW_SHOT_OTHER_PROJECTS as FEW_SHOT_OTHER_PROJECTS
from dlbench.generation.techniques.few_shot import FEW_SHOT_PREDICTED_STAGE as FEW_SHOT_PREDICTED_STAGE
from dlbench.generation.techniques.few_shot import FEW_SHOT_RANDOM as FEW_SHOT_RANDOM
from dlbench.generation.techniques.few_shot import FEW_SHOT_SAME_PROJECT as FEW_SHOT_SAME_PROJECT
from dlbench.generation.techniques.few_shot import FEW_SHOT_SAME_STAGE as FEW_SHOT_SAME_STAGE
from dlbench.generation.techniques.stage_predictor import PredictedStages
from dlbench.generation.techniques.zero_shot import MODULE_CONTEXT as MODULE_CONTEXT
from dlbench.generation.techniques.zero_shot import ZERO_SHOT as ZERO_SHOT
from dlbench.registry import find_known

TECHNIQUES: dict[str, Technique] = {
    one.name: one
    for one in (
        ZERO_SHOT,
        CHAIN_OF_THOUGHT,
        FEW_SHOT_RANDOM,
        FEW_SHOT_SAME_STAGE,
        FEW_SHOT_PREDICTED_STAGE,
        FEW_SHOT_SAME_PROJECT,
        FEW_SHOT_OTHER_PROJECTS,
        FEW_SHOT_CHAIN_OF_THOUGHT,
        SELF_PLANNING,
        BUG_WARNINGS,
        MODULE_CONTEXT,
    )
}


def find_technique(name: str) -> Technique:
    try:
        return find_known(name, TECHNIQUES, "technique")
    except DLBenchError as error:
        raise DLBenchError(error.what, fix=f"choose one of {', '.join(TECHNIQUES)}") from None


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
