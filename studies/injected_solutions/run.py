"""Measure how often agreement selects a right solution, on solutions and tests that are known to be right or wrong.

No model is needed. The solutions of an instance are the reference (copies that differ in a line without effect) and
mutants of it. The tests come from half of the project's own tests, extracted to run alone like a model's, with a known
share of wrong tests injected: an altered test has a number changed, so that it expects what no solution does; an
inverted test passes exactly on the solutions that fail the original one, as when solutions and tests share an error. A
solution is right if it passes all of the instance's tests. Since half of them also serve for the selection, the other
half alone gives a second result. Interrupt at any time; rerun the same command to resume.

    python studies/injected_solutions/run.py --split lite --out runs/injected
"""

import argparse
import ast
import os
import sys
import textwrap
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from dlbench.agreement import select
from dlbench.agreement.answers import Solution, group_identical, make_solution, write_copy
from dlbench.agreement.matrix import MATRIX, MatrixRow, describe_not_run, fill_matrix
from dlbench.agreement.model_tests import ModelTest, make_model_test, read_project_tests
from dlbench.agreement.selection import RULES
from dlbench.agreement.study import InstanceVotes, compare_rules
from dlbench.cli.output import open_console, print_json
from dlbench.dataset import Benchmark, Instance, Selection, load
from dlbench.dataset import select as select_instances
from dlbench.errors import DLBenchError
from dlbench.execution import Engine, Limits, choose_sandbox
from dlbench.execution.cross_run import CrossRunPool
from dlbench.execution.evaluate import evaluate
from dlbench.execution.pool import Pool
from dlbench.parsing import parse
from dlbench.reporting.studies.agreement import describe_not_counted, tabulate_gain
from dlbench.reporting.tables import draw
from dlbench.runs import open_run
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import Outcome, Status
from dlbench.validation.mutants import write_mutants
from dlbench.workspace import Prepared, prepare

REFERENCE = "reference.jsonl"
_TRIES = 20
_SPARE = 3
"""More tests than needed, since some fail wherever they run."""


@dataclass(frozen=True)
class Mix:
    """`wrong`: the share of wrong tests; `inverted`: the share of those that are inverted, not altered."""

    solutions: int = 8
    right: int = 2
    tests: int = 10
    wrong: float = 0.4
    inverted: float = 0.5
    seed: int = 0


@dataclass(frozen=True)
class TestPool:
    """Tests to draw from, before the reference has run: it passes the true ones and fails the wrong ones."""

    __test__ = False  # not a test class of pytest

    true: tuple[ModelTest, ...]
    altered: tuple[ModelTest, ...]
    inverted: tuple[ModelTest, ...]

    @property
    def tests(self) -> list[ModelTest]:
        return list({test.id: test for test in (*self.true, *self.altered, *self.inverted)}.values())

    def keep(self, ids: Collection[str]) -> "TestPool":
        parts = (self.true, self.altered, self.inverted)
        return TestPool(*(tuple(test for test in part if test.id in ids) for part in parts))


def make_solutions(engine: Engine, prepared: Prepared, instance: Instance, mix: Mix) -> list[Solution]:
    """In random order; fewer if the reference has fewer mutants."""
    node = engine.target(prepared, instance).target.node
    codes = [write_copy(node, number) for number in range(mix.right)]
    codes += [code for _, code in write_mutants(node, mix.solutions - mix.right, mix.seed)]
    Random(f"{mix.seed} {instance.id}").shuffle(codes)
    return [make_solution(code) for code in codes]


def make_test_pool(prepared: Prepared, instance: Instance, mix: Mix) -> TestPool:
    """From half of the instance's tests."""
    rng = Random(f"{mix.seed} {instance.id}")
    half = _draw_half(instance, rng)
    found: list[ModelTest] = []
    for file in instance.test_files:
        names = {test.partition("::")[2].replace("::", ".") for test in half if test.startswith(f"{file}::")}
        found += read_project_tests((prepared.tree / file).read_text(encoding="utf-8"), names).tests
    rng.shuffle(found)
    true = tuple(found[: mix.tests + _SPARE])
    some = true[: round(mix.wrong * mix.tests) + _SPARE]
    altered = [alter(test, Random(f"{mix.seed} {test.id}")) for test in some]
    inverted = [invert(test) for test in some]
    return TestPool(true, tuple(filter(None, altered)), tuple(filter(None, inverted)))


def find_held_out(instance: Instance, mix: Mix) -> list[str]:
    """The tests of the other half; none if all cases belong to one function."""
    half = set(_draw_half(instance, Random(f"{mix.seed} {instance.id}")))
    return [test for test in instance.tests if test.partition("[")[0] not in half]


def _draw_half(instance: Instance, rng: Random) -> list[str]:
    """Whole test functions, so that no parametrisation is in both halves."""
    functions = list(dict.fromkeys(test.partition("[")[0] for test in instance.tests))
    rng.shuffle(functions)
    return functions[: (len(functions) + 1) // 2]


def choose_tests(pool: TestPool, passed: Sequence[str], mix: Mix, key: str) -> list[ModelTest]:
    """The requested mix of tests that the reference passes and fails; `passed`: the ids of the former."""
    rng, right = Random(f"{mix.seed} {key}"), set(passed)
    true = [test for test in pool.true if test.id in right]
    sources = [[test for test in part if test.id not in right] for part in (pool.inverted, pool.altered)]
    total = min(mix.tests, round(len(true) / (1 - mix.wrong)) if mix.wrong < 1 else mix.tests)
    injected: list[ModelTest] = []
    wrong = round(mix.wrong * total)
    for number in range(wrong):
        first = 0 if number < mix.inverted * wrong else 1
        source = sources[first] or sources[1 - first]
        if source:
            injected.append(source.pop(rng.randrange(len(source))))
    chosen = [*true[: total - len(injected)], *injected]
    rng.shuffle(chosen)
    return chosen


def alter(test: ModelTest, rng: Random) -> ModelTest | None:
    """The test with one number changed; None if it has none."""
    for _ in range(_TRIES):
        tree = parse(test.code)
        numbers = [
            node for node in ast.walk(tree) if isinstance(node, ast.Constant) and type(node.value) in (int, float)
        ]
        if not numbers:
            return None
        node = rng.choice(numbers)
        node.value += rng.choice([1, -1, 2, 10])
        changed = make_model_test(tree.body)
        if changed is not None and changed.id != test.id:
            return changed
    return None


def invert(test: ModelTest) -> ModelTest | None:
    """A test that passes exactly where an assertion of the test fails."""
    text = f"try:\n{textwrap.indent(test.code, '    ')}except AssertionError:\n    pass\n"
    text += "else:\n    raise AssertionError('it holds')\n"
    try:
        return make_model_test(parse(text).body)
    except SyntaxError:
        return None


@dataclass(frozen=True)
class StudyResult:
    votes: list[InstanceVotes]
    """A solution is right if it passes all tests of the instance."""
    held_out: list[InstanceVotes]
    """The same choices; a solution is right if it passes the tests that did not serve for the selection."""
    excluded: dict[str, str]
    """Why an instance has no votes."""
    not_run: list[str]
    """Runs without a result because of a harness error."""


def run_study(
    benchmark: Benchmark, instances: Sequence[Instance], cross_runs: CrossRunPool, pool: Pool, mix: Mix, out: Path
) -> StudyResult:
    tests, excluded, not_run = _choose_all_tests(instances, cross_runs, mix, out / REFERENCE)
    kept = [instance for instance in instances if instance.id in tests]
    solutions = {one.id: make_solutions(cross_runs.engine, cross_runs.prepared[one.project], one, mix) for one in kept}
    rows = [
        MatrixRow(one, solutions[one.id][indices[0]], tests[one.id])
        for one in kept
        for indices in group_identical(solutions[one.id]).values()
    ]
    matrix = fill_matrix(cross_runs, rows, out / MATRIX)
    not_run += filter(None, [describe_not_run(matrix, rows)])
    samples = [
        Sample(one.id, number, solution.code, is_code=True)
        for one in kept
        for number, solution in enumerate(solutions[one.id])
    ]
    verdicts = {(one.instance, one.sample): one for one in evaluate(benchmark, pool, samples, out)}
    votes, held_out = [], []
    for one in kept:
        own = [verdicts[one.id, number] for number in range(len(solutions[one.id]))]
        chosen = {}
        for rule in RULES[:-1]:
            choice, groups = select(matrix, one.id, solutions[one.id], dict.fromkeys(tests[one.id], 1), rule, mix.seed)
            chosen[rule] = groups[choice.solution][0]
        ids = [solution.id for solution in solutions[one.id]]
        runnable = set(matrix.find_runnable(one.id, dict.fromkeys(ids)))
        usable = tuple(key in runnable for key in ids)
        errors = sum(verdict.status is Status.HARNESS_ERROR for verdict in own)
        votes.append(InstanceVotes(one.id, tuple(verdict.passed for verdict in own), chosen, usable, errors))
        if rest := find_held_out(one, mix):
            solved = tuple(all(verdict.tests.get(test) is Outcome.PASSED for test in rest) for verdict in own)
            held_out.append(InstanceVotes(one.id, solved, chosen, usable, errors))
    return StudyResult(votes, held_out, excluded, not_run)


def _choose_all_tests(
    instances: Sequence[Instance], cross_runs: CrossRunPool, mix: Mix, path: Path
) -> tuple[dict[str, list[ModelTest]], dict[str, str], list[str]]:
    """Run the reference on every test: this shows which tests are true, wrong or broken."""
    pools = {one.id: make_test_pool(cross_runs.prepared[one.project], one, mix) for one in instances}
    references = {
        one.id: make_solution(
            write_copy(cross_runs.engine.target(cross_runs.prepared[one.project], one).target.node, -1)
        )
        for one in instances
    }
    rows = [MatrixRow(one, references[one.id], pools[one.id].tests) for one in instances if pools[one.id].true]
    matrix = fill_matrix(cross_runs, rows, path)
    not_run, without_result = describe_not_run(matrix, rows), matrix.find_not_run(rows)
    tests: dict[str, list[ModelTest]] = {}
    excluded: dict[str, str] = {}
    for one in instances:
        results = matrix.results.get((one.id, references[one.id].id), {})
        passed = [test for test, result in results.items() if result == "passed"]
        failed = {test for test, result in results.items() if result == "failed"}
        chosen = choose_tests(pools[one.id].keep({*passed, *failed}), passed, mix, one.id)
        if any(test.id in passed for test in chosen):
            tests[one.id] = chosen
        elif one.id in without_result:
            excluded[one.id] = "its tests could not be run"
        else:
            excluded[one.id] = "none of its tests runs alone" if pools[one.id].true else "no test can be extracted"
    return tests, excluded, [not_run] if not_run else []


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    mix = Mix(options.solutions, options.right, options.tests, options.wrong, options.inverted, options.seed)
    benchmark = load(options.benchmark)
    chosen = Selection(options.split, tuple(options.instance), tuple(options.project))
    instances = list(select_instances(benchmark, chosen))
    engine = Engine(choose_sandbox(), Limits(test_seconds=options.timeout, memory_mb=options.memory))
    projects = dict.fromkeys(one.project for one in instances)
    prepared = {name: prepare(benchmark.projects[name], benchmark.root) for name in projects}
    config = {"benchmark": str(benchmark.version), "model": "injected", "mix": repr(mix), "seconds": options.seconds}
    limits = {"timeout": options.timeout, "memory": options.memory}
    open_run(options.out, config | limits | {"instances": [one.id for one in instances]})
    cross_runs = CrossRunPool(engine, prepared, workers=options.workers, seconds=options.seconds, outputs=True)
    pool = Pool(engine, prepared, workers=options.workers, memory_mb=4096)
    made = run_study(benchmark, instances, cross_runs, pool, mix, options.out)
    if not made.votes:
        raise DLBenchError("no test of the chosen instances runs alone", fix="choose other instances")
    found = {
        name: compare_rules(votes, "codet", benchmark, has_original=False)
        for name, votes in (("all tests", made.votes), ("held-out tests", made.held_out))
        if votes
    }
    if options.json:
        record = {"instances": len(made.votes), "excluded": made.excluded, "not_run": made.not_run}
        print_json(record | {"comparison": found})
        return 0
    for name, one in found.items():
        open_console().print(draw(f"{len(one.instances)} instances, judged by {name}; {mix}", tabulate_gain(one)))
        if warning := describe_not_counted(one):
            print(warning)
    for what in made.not_run:
        print(f"NOT RUN: {what}")
    reasons = Counter(made.excluded.values())
    print(f"excluded: {len(made.excluded)} instances", *(f"({reason}: {count})" for reason, count in reasons.items()))
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchmark", type=Path)
    parser.add_argument("--split", default="full")
    parser.add_argument("--instance", action="append", default=[], help="only this instance (repeatable)")
    parser.add_argument("--project", action="append", default=[], help="only this project (repeatable)")
    parser.add_argument("--out", type=Path, required=True, help="folder for matrix and verdicts; resumable")
    parser.add_argument("--solutions", type=int, default=8, help="solutions per instance")
    parser.add_argument("--right", type=int, default=2, help="how many of them are the reference")
    parser.add_argument("--tests", type=int, default=10, help="tests per instance at most")
    parser.add_argument("--wrong", type=float, default=0.4, help="share of wrong tests, below 1")
    parser.add_argument("--inverted", type=float, default=0.5, help="share of the wrong tests that are inverted")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0, help="time limit of one test run")
    parser.add_argument("--timeout", type=float, default=60.0, help="time limit of an instance's own tests")
    parser.add_argument("--memory", type=int, default=4096, help="memory limit in MiB")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if not 0 <= options.right <= options.solutions:
        parser.error(f"--right: {options.right} of {options.solutions} solutions cannot be the reference")
    if not (0 <= options.wrong < 1 and 0 <= options.inverted <= 1):
        parser.error("--wrong must be in [0, 1) and --inverted in [0, 1]")
    return options


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DLBenchError as error:
        sys.exit(f"error: {error}")
