"""Ask the same thing in other words, let the model write tests too, and let solutions and tests vote.

One prompt gives one answer, and a model that fails on it may have known better under another phrasing. What is here
makes variants of a prompt that mean the same, runs every solution on every test that the model wrote, and chooses the
solution on which most agree, without the project's own tests.

How do answers become one solution for each instance?

All distinct solutions meet all distinct tests, of whichever variant; the rule chooses; what was chosen becomes the
instance's one sample, with the usage of everything that was asked for it: agreement is not cheaper than it is. The
project's own tests have no part in it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dlbench.agreement.matrix import Matrix, MatrixRow, fill_matrix
from dlbench.agreement.model_tests import count_distinct
from dlbench.agreement.selection import choose
from dlbench.agreement.solutions import Answers, group_identical
from dlbench.agreement.variants import Variant
from dlbench.dataset import Instance
from dlbench.errors import DLBenchError
from dlbench.execution.cross_run import CrossRunPool
from dlbench.jsonl import read_lines, rewrite
from dlbench.scoring import total_usage

FOLDER, CHOICES = "agreement", "choices.jsonl"
TECHNIQUE = "dual-agreement"


@dataclass(frozen=True)
class Selection:
    """For one instance: which variant's solution answers, and on what grounds."""

    instance: str
    variant: int
    """0, the original, where no variant gave any code."""
    rule: str
    score: float
    agreeing: tuple[int, ...]
    """Variants whose solutions pass the same tests as the chosen one."""
    checks: int
    """Tests on which they agree."""
    solutions_met: int
    checks_met: int
    """Distinct ones that took part."""
    fell_back: bool
    """Nothing passed anything, or nothing could meet: taken by lot."""


def meet_all(
    rooms: CrossRunPool,
    instances: Sequence[Instance],
    answers: Mapping[str, Answers],
    path: Path,
    on_row: Callable[[MatrixRow], None] = lambda row: None,
) -> Matrix:
    return fill_matrix(rooms, list_rows(instances, answers), path, on_row)


def list_rows(instances: Sequence[Instance], answers: Mapping[str, Answers]) -> list[MatrixRow]:
    """Every distinct solution with every distinct test of its instance."""
    rows = []
    for instance in instances:
        checks = list(count_distinct(answers[instance.id].all_checks))
        distinct = {one.id: one for one in answers[instance.id].usable.values()}
        rows += [MatrixRow(instance, solution, checks) for solution in distinct.values() if checks]
    return rows


def choose_for(matrix: Matrix, instance: str, answers: Answers, rule: str, seed: int) -> Selection:
    usable = answers.usable
    if not usable:
        return Selection(instance, 0, rule, 0.0, (), 0, 0, 0, fell_back=True)
    indices = list(usable)
    everyone = group_identical(list(usable.values()))
    places = {key: everyone[key] for key in matrix.find_standing(instance, everyone)}
    checks = {check.id: times for check, times in count_distinct(answers.all_checks).items()}
    ballot = matrix.make_ballot(instance, {key: len(found) for key, found in places.items()}, checks)
    outputs = matrix.find_outputs(instance, places, checks)
    choice = choose(ballot, rule, seed=seed, key=instance, outputs=outputs)
    written = [[indices[place] for place in found] for found in places.values()]
    return Selection(
        instance,
        written[choice.solution][0],
        rule,
        choice.score,
        tuple(sorted(index for member in choice.members for index in written[member])),
        len(choice.checks),
        len(places),
        len(checks),
        choice.fell_back,
    )


def write_choices(path: Path, choices: Sequence[Selection]) -> None:
    rewrite(path, (asdict(choice) for choice in choices))


def read_choices(path: Path) -> dict[str, Selection]:
    found: dict[str, Selection] = {}
    for number, record in read_lines(path):
        try:
            found[record["instance"]] = Selection(**{**record, "agreeing": tuple(record["agreeing"])})
        except (KeyError, TypeError) as error:
            fix = "give a folder that `dlbench run --technique dual-agreement` wrote"
            raise DLBenchError(f"not a choice: {error}", where=f"{path}:{number}", fix=fix) from None
    return found


def make_sample(choice: Selection, answers: Answers, variants: Sequence[Variant], model: str) -> dict[str, Any]:
    """The record of the chosen solution; usage, seconds and cost are those of all requests of the instance."""
    usage = total_usage(answers.records)
    told = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
    record: dict[str, Any] = {"instance": choice.instance, "sample": 0, "model": model, "technique": TECHNIQUE}
    solution = answers.solutions.get(choice.variant)
    asked = next((one for one in answers.records if one["sample"] == 2 * choice.variant), {})
    if solution is not None:
        record["code"] = solution.code
    else:
        record["answer"] = str(asked["answer"])
    if "finish_reason" in asked:  # that the answer was cut off belongs to the score
        record["finish_reason"] = asked["finish_reason"]
    record |= {"variant": choice.variant, "operator": variants[choice.variant].operator, "rule": choice.rule}
    record |= {"fell_back": choice.fell_back, "requests": len(answers.records), "seconds": round(usage.seconds, 3)}
    record["usage"] = {name: int(value) for name, value in told.items() if not math.isnan(value)}
    if not math.isnan(usage.cost):
        record["cost"] = usage.cost
    return record
