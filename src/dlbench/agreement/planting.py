"""How is a planted population put through the whole pipeline, from code and checks to the choice and its verdict?

Everything that a model's answers go through but the asking, and everything kept and resumed as there: the reference
meets all material, which says what is true; the chosen mix of checks meets the solutions; the judge gives its verdicts;
the rules choose.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dlbench.agreement.matrix import MATRIX, Matrix, MatrixRow, describe_not_run, fill_matrix
from dlbench.agreement.model_tests import ModelTest
from dlbench.agreement.planted import Mix, choose_checks, find_held_out, gather_material, make_solutions, write_copy
from dlbench.agreement.selection import RULES, choose
from dlbench.agreement.solutions import Solution, group_identical, make_solution
from dlbench.agreement.study import InstanceVotes
from dlbench.dataset import Benchmark, Instance
from dlbench.execution.cross_run import CrossRunPool
from dlbench.execution.evaluate import evaluate
from dlbench.execution.pool import Pool
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Outcome, Status

REFERENCE = "reference.jsonl"

OnStep = Callable[[str], None]


@dataclass(frozen=True)
class Planted:
    polls: list[InstanceVotes]
    """Right is who passes all of the instance's tests."""
    held_out: list[InstanceVotes]
    """The same choices; right is who passes those tests that no check was made of, where there are any."""
    left_out: dict[str, str]
    """Why instances have no poll."""
    not_run: list[str]
    """What our own fault kept from being known."""


def run_planted(
    benchmark: Benchmark,
    instances: Sequence[Instance],
    rooms: CrossRunPool,
    pool: Pool,
    mix: Mix,
    out: Path,
    on_step: OnStep = lambda text: None,
) -> Planted:
    """`on_step` is called for every row and every verdict, with what it was."""
    chosen, left_out, not_run = _choose_checks(instances, rooms, mix, out / REFERENCE, on_step)
    solutions = {
        instance.id: make_solutions(rooms.engine, rooms.prepared[instance.project], instance, mix)
        for instance in instances
        if instance.id in chosen
    }
    kept = [instance for instance in instances if instance.id in chosen]
    rows = [
        MatrixRow(instance, solution, chosen[instance.id])
        for instance in kept
        for solution in _distinct(solutions[instance.id])
    ]
    matrix = fill_matrix(rooms, rows, out / MATRIX, lambda row: on_step(f"{row.instance.id}: met its checks"))
    not_run += [told] if (told := describe_not_run(matrix, rows)) else []
    samples = [
        Sample(instance.id, number, solution.code, is_code=True)
        for instance in kept
        for number, solution in enumerate(solutions[instance.id])
    ]
    verdicts = evaluate(benchmark, pool, samples, out, on_verdict=lambda one: on_step(f"{one.instance}: {one.status}"))
    judged = {(one.instance, one.sample): one for one in verdicts}
    polls, held_out = [], []
    for instance in kept:
        own = [judged[instance.id, number] for number in range(len(solutions[instance.id]))]
        picked = choose_all(matrix, instance.id, solutions[instance.id], chosen[instance.id], mix.seed)
        faults = sum(one.status is Status.HARNESS_ERROR for one in own)
        ids = [solution.id for solution in solutions[instance.id]]
        standing = set(matrix.find_standing(instance.id, dict.fromkeys(ids)))
        drawn = tuple(one in standing for one in ids)
        polls.append(InstanceVotes(instance.id, tuple(one.passed for one in own), picked, drawn, faults))
        if rest := find_held_out(instance, mix):
            solved = tuple(all(one.tests.get(test) is Outcome.PASSED for test in rest) for one in own)
            held_out.append(InstanceVotes(instance.id, solved, picked, drawn, faults))
    return Planted(polls, held_out, left_out, not_run)


def choose_all(
    matrix: Matrix,
    instance: str,
    solutions: Sequence[Solution],
    checks: Sequence[ModelTest] | Mapping[ModelTest, int],
    seed: int,
    rules: Sequence[str] = RULES[:-1],
) -> dict[str, int]:
    """By rule, the place of the chosen solution among those written."""
    everyone = group_identical(solutions)
    places = {key: everyone[key] for key in matrix.find_standing(instance, everyone)}
    counts = {check.id: checks[check] if isinstance(checks, Mapping) else 1 for check in checks}
    ballot = matrix.make_ballot(instance, {key: len(found) for key, found in places.items()}, counts)
    outputs = matrix.find_outputs(instance, places, counts)
    found = list(places.values())
    return {rule: found[choose(ballot, rule, seed=seed, key=instance, outputs=outputs).solution][0] for rule in rules}


def _choose_checks(
    instances: Sequence[Instance], rooms: CrossRunPool, mix: Mix, path: Path, on_step: OnStep
) -> tuple[dict[str, list[ModelTest]], dict[str, str], list[str]]:
    material = {one.id: gather_material(rooms.prepared[one.project], one, mix) for one in instances}
    references = {
        one.id: make_solution(write_copy(rooms.engine.asked(rooms.prepared[one.project], one).target.node, -1))
        for one in instances
    }
    rows = [MatrixRow(one, references[one.id], material[one.id].checks) for one in instances if material[one.id].true]
    matrix = fill_matrix(rooms, rows, path, lambda row: on_step(f"{row.instance.id}: the reference met its checks"))
    told = describe_not_run(matrix, rows)
    unmet = matrix.find_not_run(rows)
    chosen: dict[str, list[ModelTest]] = {}
    left_out: dict[str, str] = {}
    for one in instances:
        known = matrix.results.get((one.id, references[one.id].id), {})
        passed = [check for check, result in known.items() if result == "passed"]
        failed = {check for check, result in known.items() if result == "failed"}
        usable = material[one.id].keep({*passed, *failed})
        checks = choose_checks(usable, passed, mix, one.id)
        if any(check.id in passed for check in checks):
            chosen[one.id] = checks
        elif one.id in unmet:
            left_out[one.id] = "its tests could not be run"
        else:
            left_out[one.id] = "none of its tests stands alone" if material[one.id].true else "no test can be cut out"
    return chosen, left_out, [told] if told else []


def _distinct(solutions: Sequence[Solution]) -> list[Solution]:
    return [solutions[places[0]] for places in group_identical(solutions).values()]
