"""Dual execution agreement: select one solution per instance by the votes of the model's own solutions and tests.

A model that fails on one prompt may succeed on a paraphrase. The project's own tests take no part.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlbench.agreement.answers import Answers, Solution, group_identical
from dlbench.agreement.matrix import Matrix, MatrixRow
from dlbench.agreement.model_tests import ModelTest, count_distinct
from dlbench.agreement.selection import Choice, choose
from dlbench.agreement.variants import Variant
from dlbench.dataset import Instance
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines
from dlbench.runs import AGREEMENT
from dlbench.scoring import total_usage

FOLDER, CHOICES = AGREEMENT, "choices.jsonl"
TECHNIQUE = "dual-agreement"


@dataclass(frozen=True)
class SelectedSolution:
    """The selected variant of one instance, and why. The names of the fields are the keys of `choices.jsonl`."""

    instance: str
    variant: int
    """0, the original, where no variant has code."""
    rule: str
    score: float
    agreeing: tuple[int, ...]
    """Variants whose solutions pass the same tests as the selected one."""
    checks: int
    """The number of tests that they all pass."""
    solutions_met: int
    checks_met: int
    """The numbers of distinct solutions and tests that took part."""
    fell_back: bool
    """No solution passed anything, or nothing ran: a random one was drawn."""


def list_rows(instances: Sequence[Instance], answers: Mapping[str, Answers]) -> list[MatrixRow]:
    """Every distinct solution with every distinct test of its instance."""
    rows = []
    for instance in instances:
        tests = list(count_distinct(answers[instance.id].all_tests))
        distinct = {one.id: one for one in answers[instance.id].usable.values()}
        rows += [MatrixRow(instance, solution, tests) for solution in distinct.values() if tests]
    return rows


def select(
    matrix: Matrix, instance: str, solutions: Sequence[Solution], tests: Mapping[ModelTest, int], rule: str, seed: int
) -> tuple[Choice, list[list[int]]]:
    """The choice, and for each row of its vote matrix the indices of the identical solutions."""
    groups = group_identical(solutions)
    runnable = {one: groups[one] for one in matrix.find_runnable(instance, groups)}
    counts = {test.id: times for test, times in tests.items()}
    votes = matrix.make_votes(instance, {one: len(indices) for one, indices in runnable.items()}, counts)
    outputs = matrix.find_outputs(instance, runnable, counts)
    return choose(votes, rule, seed=seed, key=instance, outputs=outputs), list(runnable.values())


def choose_for(matrix: Matrix, instance: str, answers: Answers, rule: str, seed: int) -> SelectedSolution:
    usable = answers.usable
    if not usable:
        return SelectedSolution(instance, 0, rule, 0.0, (), 0, 0, 0, fell_back=True)
    tests = count_distinct(answers.all_tests)
    choice, groups = select(matrix, instance, list(usable.values()), tests, rule, seed)
    variants = list(usable)
    return SelectedSolution(
        instance,
        variants[groups[choice.solution][0]],
        rule,
        choice.score,
        tuple(sorted(variants[index] for member in choice.members for index in groups[member])),
        len(choice.tests),
        len(groups),
        len(tests),
        choice.fell_back,
    )


def read_choices(path: Path) -> dict[str, SelectedSolution]:
    found: dict[str, SelectedSolution] = {}
    for number, record in read_lines(path):
        try:
            found[record["instance"]] = SelectedSolution(**{**record, "agreeing": tuple(record["agreeing"])})
        except (KeyError, TypeError) as error:
            fix = "pass a folder that `dlbench run --technique dual-agreement` wrote"
            raise DLBenchError(f"not a choice: {error}", where=f"{path}:{number}", fix=fix) from None
    return found


def make_sample(choice: SelectedSolution, answers: Answers, variants: Sequence[Variant], model: str) -> dict[str, Any]:
    """The record of the selected solution; usage, seconds and cost are those of all requests of the instance."""
    usage = total_usage(answers.records)
    tokens = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
    record: dict[str, Any] = {"instance": choice.instance, "sample": 0, "model": model, "technique": TECHNIQUE}
    solution = answers.solutions.get(choice.variant)
    answer = next((one for one in answers.records if one["sample"] == 2 * choice.variant), {})
    if solution is not None:
        record["code"] = solution.code
    else:
        record["answer"] = str(answer["answer"])
    if "finish_reason" in answer:  # reports warn about answers that were cut off
        record["finish_reason"] = answer["finish_reason"]
    record |= {"variant": choice.variant, "operator": variants[choice.variant].operator, "rule": choice.rule}
    record |= {"fell_back": choice.fell_back, "requests": len(answers.records), "seconds": round(usage.seconds, 3)}
    record["usage"] = {name: int(value) for name, value in tokens.items() if not math.isnan(value)}
    if not math.isnan(usage.cost):
        record["cost"] = usage.cost
    return record
