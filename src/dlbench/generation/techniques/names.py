"""Which techniques are there?

One list, in the order of the documentation. A technique is added by its own file and a line here.
"""

from dlbench.dataset.splits import find_known
from dlbench.errors import DLBenchError
from dlbench.generation.techniques import (
    chain_of_thought,
    few_shot_chain_of_thought,
    few_shot_other_projects,
    few_shot_predicted_stage,
    few_shot_random,
    few_shot_same_project,
    few_shot_same_stage,
    guided,
    module_context,
    self_planning,
    zero_shot,
)
from dlbench.generation.techniques.interface import Technique

TECHNIQUES: dict[str, Technique] = {
    part.TECHNIQUE.name: part.TECHNIQUE
    for part in (
        zero_shot,
        chain_of_thought,
        few_shot_random,
        few_shot_same_stage,
        few_shot_predicted_stage,
        few_shot_same_project,
        few_shot_other_projects,
        few_shot_chain_of_thought,
        self_planning,
        guided,
        module_context,
    )
}


def find_technique(name: str) -> Technique:
    try:
        return find_known(name, TECHNIQUES, "technique")
    except DLBenchError as error:
        raise DLBenchError(error.what, mend=f"choose one of {', '.join(TECHNIQUES)}") from None
