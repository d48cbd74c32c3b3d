"""How is a planted population put through the whole pipeline, from code and checks to the choice and its verdict?

Everything that a model's answers go through but the asking, and everything kept and resumed as there: the reference
meets all material, which says what is true; the chosen mix of checks meets the solutions; the judge gives its verdicts;
the rules choose.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dlbench.agreement.checks.check import Check
from dlbench.agreement.choice.choose import RULES, choose
from dlbench.agreement.gains import Poll
from dlbench.agreement.matrix import MATRIX, Matrix, Row, fill_matrix
from dlbench.agreement.planted import Mix, choose_checks, gather_material, make_solutions, write_copy
from dlbench.agreement.solutions import Solution, gather, make_solution
from dlbench.dataset import Benchmark, Instance
from dlbench.execution.evaluate import evaluate
from dlbench.execution.pool import Pool
from dlbench.execution.rooms import Rooms
from dlbench.execution.samples import Sample

REFERENCE = "reference.jsonl"

OnStep = Callable[[str], None]


def run_planted(
    benchmark: Benchmark,
    instances: Sequence[Instance],
    rooms: Rooms,
    pool: Pool,
    mix: Mix,
    out: Path,
    on_step: OnStep = lambda text: None,
) -> tuple[list[Poll], dict[str, str]]:
    """The polls, and why instances have none. `on_step` is called for every row and every verdict, with what it was."""
    chosen, left_out = _choose_checks(instances, rooms, mix, out / REFERENCE, on_step)
    solutions = {
        instance.id: make_solutions(rooms.engine, rooms.prepared[instance.project], instance, mix)
        for instance in instances
        if instance.id in chosen
    }
    kept = [instance for instance in instances if instance.id in chosen]
    rows = [
        Row(instance, solution, chosen[instance.id])
        for instance in kept
        for solution in _distinct(solutions[instance.id])
    ]
    matrix = fill_matrix(rooms, rows, out / MATRIX, lambda row: on_step(f"{row.instance.id}: met its checks"))
    samples = [
        Sample(instance.id, number, solution.code, is_code=True)
        for instance in kept
        for number, solution in enumerate(solutions[instance.id])
    ]
    verdicts = evaluate(benchmark, pool, samples, out, on_verdict=lambda one: on_step(f"{one.instance}: {one.status}"))
    passed = {(one.instance, one.sample): one.passed for one in verdicts}
    polls = []
    for instance in kept:
        own = solutions[instance.id]
        solved = tuple(passed[instance.id, number] for number in range(len(own)))
        polls.append(Poll(instance.id, solved, choose_all(matrix, instance.id, own, chosen[instance.id], mix.seed)))
    return polls, left_out


def choose_all(
    matrix: Matrix,
    instance: str,
    solutions: Sequence[Solution],
    checks: Sequence[Check] | Mapping[Check, int],
    seed: int,
    rules: Sequence[str] = RULES[:-1],
) -> dict[str, int]:
    """By rule, the place of the chosen solution among those written."""
    places = gather(solutions)
    counts = {check.id: checks[check] if isinstance(checks, Mapping) else 1 for check in checks}
    ballot = matrix.make_ballot(instance, {key: len(found) for key, found in places.items()}, counts)
    outputs = matrix.find_outputs(instance, places, counts)
    found = list(places.values())
    return {rule: found[choose(ballot, rule, seed=seed, key=instance, outputs=outputs).solution][0] for rule in rules}


def _choose_checks(
    instances: Sequence[Instance], rooms: Rooms, mix: Mix, path: Path, on_step: OnStep
) -> tuple[dict[str, list[Check]], dict[str, str]]:
    material = {one.id: gather_material(rooms.prepared[one.project], one, mix) for one in instances}
    references = {
        one.id: make_solution(write_copy(rooms.engine.asked(rooms.prepared[one.project], one).target.node, -1))
        for one in instances
    }
    rows = [Row(one, references[one.id], material[one.id].checks) for one in instances if material[one.id].true]
    matrix = fill_matrix(rooms, rows, path, lambda row: on_step(f"{row.instance.id}: the reference met its checks"))
    chosen: dict[str, list[Check]] = {}
    left_out: dict[str, str] = {}
    for one in instances:
        known = matrix.results.get((one.id, references[one.id].id), {})
        passed = [check for check, result in known.items() if result == "passed"]
        failed = {check for check, result in known.items() if result == "failed"}
        usable = material[one.id].keep({*passed, *failed})
        checks = choose_checks(usable, passed, mix, one.id)
        if any(check.id in passed for check in checks):
            chosen[one.id] = checks
        else:
            left_out[one.id] = "none of its tests stands alone" if material[one.id].true else "no test can be cut out"
    return chosen, left_out


def _distinct(solutions: Sequence[Solution]) -> list[Solution]:
    return [solutions[places[0]] for places in gather(solutions).values()]
