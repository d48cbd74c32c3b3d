"""Study a run with agreement: what selection gains, how sensitive the model is to paraphrases, how good its tests are.

A rule and the random choice that it is compared with choose among solutions with code that can replace the target:
otherwise skipping the others would look like a gain. All figures leave out instances with a harness error.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, compress
from pathlib import Path
from statistics import fmean

from dlbench.agreement import CHOICES, FOLDER, SelectedSolution, choose_for, read_choices
from dlbench.agreement.answers import ANSWERS, Answers, Solution, make_solution, read_answers, write_copy
from dlbench.agreement.matrix import MATRIX, Matrix, MatrixRow, describe_not_run, fill_matrix, read_matrix
from dlbench.agreement.model_tests import count_distinct
from dlbench.agreement.variants import ORIGINAL as ORIGINAL_OPERATOR
from dlbench.agreement.variants import VARIANTS, Variant, read_variants
from dlbench.dataset import Benchmark, Instance
from dlbench.errors import DLBenchError
from dlbench.execution.cross_run import CrossRunPool
from dlbench.jsonl import read_lines
from dlbench.registry import find_known
from dlbench.runs.samples import Sample
from dlbench.runs.verdict import VERDICTS, Verdict
from dlbench.scoring import HARNESS_ERROR, Comparison, Interval, Tally, compare
from dlbench.scoring.significance import holm, poisson_binomial_test
from dlbench.scoring.tally import mean
from dlbench.validation.mutants import write_mutants

ORIGINAL, RANDOM, BEST = "original alone", "random choice", "best possible"
EFFECTS = ("the same code", "the same status", "helped", "harmed", "failed otherwise")
QUALITY = "quality.jsonl"
MUTANTS = 5
_NO_CODE = "no_code"


@dataclass(frozen=True)
class InstanceVotes:
    """The solutions of one instance as written, the original prompt's first, and the one that each rule chose."""

    instance: str
    solved: tuple[bool, ...]
    chosen: Mapping[str, int]
    usable: tuple[bool, ...] = ()
    """Which of them a rule can choose; all if empty."""
    harness_errors: int = 0
    """Solutions without a verdict because of a harness error; the instance is then left out and reported."""

    @property
    def candidates(self) -> tuple[bool, ...]:
        return tuple(compress(self.solved, self.usable)) or self.solved

    def tally(self, solved: Sequence[bool]) -> Tally:
        return Tally(self.instance, len(solved), sum(solved), fmean(solved), self.harness_errors)


def compare_rules(
    votes: Sequence[InstanceVotes], rule: str, benchmark: Benchmark, *, has_original: bool = True
) -> Comparison:
    """The rule against everything else, paired by instance; against the random choice by its exact distribution."""
    rules = dict.fromkeys((rule, *(votes[0].chosen if votes else ())))
    runs = {name: {one.instance: one.tally([one.solved[one.chosen[name]]]) for one in votes} for name in rules}
    if has_original:
        runs[ORIGINAL] = {one.instance: one.tally(one.solved[:1]) for one in votes}
    runs[RANDOM] = {one.instance: one.tally(one.candidates) for one in votes}
    runs[BEST] = {one.instance: one.tally([any(one.solved)]) for one in votes}
    found = compare(runs, benchmark, only_first=True)
    kept = [one for one in votes if one.instance in set(found.instances)]
    solved = sum(one.solved[one.chosen[rule]] for one in kept)
    p = poisson_binomial_test(solved, [fmean(one.candidates) for one in kept])
    pairs = [replace(pair, permutation=p) if pair.b == RANDOM else pair for pair in found.pairs]
    corrected = zip(pairs, holm([pair.permutation for pair in pairs]), strict=True)
    return replace(found, pairs=tuple(replace(pair, permutation_holm=p) for pair, p in corrected))


@dataclass(frozen=True)
class RunArtifacts:
    variants: Mapping[str, Sequence[Variant]]
    answers: Mapping[str, Answers]
    statuses: Mapping[str, Mapping[int, str]]
    """The verdict's status by variant; `no_code` where the answer has none."""
    choices: Mapping[str, SelectedSolution]
    matrix: Matrix

    @property
    def sound(self) -> list[str]:
        """Instances without a harness error."""
        return [one for one in self.choices if HARNESS_ERROR not in self.statuses[one].values()]

    def solved(self, instance: str) -> tuple[bool, ...]:
        """By variant, the original first."""
        return tuple(self.statuses[instance][variant.index] == "pass" for variant in self.variants[instance])


def read_artifacts(folder: Path, benchmark: Benchmark) -> RunArtifacts:
    inner = folder / FOLDER
    missing = [name for name in (VARIANTS, ANSWERS, MATRIX, CHOICES) if not (inner / name).is_file()]
    if missing:
        fix = "pass the folder of a finished `dlbench run --technique dual-agreement`"
        raise DLBenchError(f"{', '.join(missing)} is missing", where=str(inner), fix=fix)
    variants = read_variants(inner / VARIANTS)
    choices = read_choices(inner / CHOICES)
    known: dict[str, Instance] = {one: find_known(one, benchmark.instances, "instance") for one in choices}
    answers = read_answers(inner / ANSWERS, known, variants)
    statuses = {one: dict.fromkeys(range(len(variants[one])), _NO_CODE) for one in choices}
    unjudged = {(one, index): f"{one}, variant {index}" for one in choices for index in answers[one].usable}
    if (inner / VERDICTS).is_file():
        for number, record in read_lines(inner / VERDICTS):
            verdict = Verdict.from_record(record, f"{inner / VERDICTS}:{number}")
            if verdict.instance in statuses:
                statuses[verdict.instance][verdict.sample] = str(verdict.status)
                unjudged.pop((verdict.instance, verdict.sample), None)
    if unjudged:  # they would count as failures
        what = f"{len(unjudged)} solutions have no verdict yet, the first of {next(iter(unjudged.values()))}"
        raise DLBenchError(what, where=str(inner), fix="run the command of the run again to resume it")
    return RunArtifacts(variants, answers, statuses, choices, read_matrix(inner / MATRIX))


def list_samples(answers: Mapping[str, Answers]) -> list[Sample]:
    """Every variant's solution as a sample for the judge; the index of the sample is that of the variant."""
    return [
        Sample(instance, index, solution.code, is_code=True)
        for instance, found in answers.items()
        for index, solution in found.usable.items()
    ]


def collect_votes(
    artifacts: RunArtifacts, rules: Sequence[str], seed: int = 0, *, own: bool = False
) -> list[InstanceVotes]:
    """Each rule's choice, made again from the kept matrix. With `own`, the run's rule keeps the choice that the run
    made, even if the matrix has more results since."""
    found = []
    for one, made in artifacts.choices.items():
        answers = artifacts.answers[one]
        chosen = {rule: choose_for(artifacts.matrix, one, answers, rule, seed).variant for rule in rules}
        if own and made.rule in chosen:
            chosen[made.rule] = made.variant
        ids = {index: solution.id for index, solution in answers.usable.items()}
        runnable = artifacts.matrix.find_runnable(one, ids.values())
        usable = tuple(ids.get(variant.index) in runnable for variant in artifacts.variants[one])
        harness_errors = list(artifacts.statuses[one].values()).count(HARNESS_ERROR)
        found.append(InstanceVotes(one, artifacts.solved(one), chosen, usable, harness_errors))
    return found


@dataclass(frozen=True)
class Effect:
    """One operator against the original prompt, on the instances that it could change."""

    operator: str
    instances: int
    pass_at_1: float
    original: float
    difference: float
    interval: Interval
    only_operator: tuple[str, ...]
    only_original: tuple[str, ...]
    p: float
    p_holm: float = math.nan
    """Corrected over all operators."""


def compare_operators(artifacts: RunArtifacts, benchmark: Benchmark) -> list[Effect]:
    solved: dict[str, dict[str, list[bool]]] = {}
    for instance in artifacts.sound:
        for variant, passed in zip(artifacts.variants[instance], artifacts.solved(instance), strict=True):
            solved.setdefault(variant.operator, {}).setdefault(instance, []).append(passed)
    originals = solved.pop(ORIGINAL_OPERATOR, {})
    effects = []
    for operator, own in solved.items():
        tallies = {
            side: {one: Tally(one, len(found[one]), sum(found[one]), fmean(found[one])) for one in own}
            for side, found in {operator: own, ORIGINAL: originals}.items()
        }
        comparison = compare(tallies, benchmark)
        (pair,), (here, there) = comparison.pairs, comparison.standings
        rates = len(own), here.pass_at_1, there.pass_at_1, pair.difference, pair.interval
        effects.append(Effect(operator, *rates, pair.only_a, pair.only_b, pair.permutation))
    corrected = holm([effect.p for effect in effects])
    return [replace(effect, p_holm=p) for effect, p in zip(effects, corrected, strict=True)]


@dataclass(frozen=True)
class Consistency:
    instances: int
    all_pass: int
    none_pass: int
    agreeing: float
    """The mean probability that two variants of an instance both pass or both fail; NaN if no instance has two."""
    helped: tuple[str, ...]
    """Instances that the original fails and another variant solves."""
    harmed: tuple[str, ...]
    """Instances that the original solves and another variant fails."""
    from_variants: float
    """The share of selected solutions whose code differs from the original's."""
    fell_back: int


def measure_consistency(artifacts: RunArtifacts) -> Consistency:
    solved = {one: artifacts.solved(one) for one in artifacts.sound}
    pairs = [fmean(a == b for a, b in combinations(each, 2)) for each in solved.values() if len(each) > 1]
    return Consistency(
        instances=len(solved),
        all_pass=sum(all(each) for each in solved.values()),
        none_pass=sum(not any(each) for each in solved.values()),
        agreeing=mean(pairs),
        helped=tuple(one for one, each in solved.items() if not each[0] and any(each)),
        harmed=tuple(one for one, each in solved.items() if each[0] and not all(each)),
        from_variants=mean([_differs_from_original(artifacts, one) for one in artifacts.sound]),
        fell_back=sum(artifacts.choices[one].fell_back for one in artifacts.sound),
    )


def _differs_from_original(artifacts: RunArtifacts, instance: str) -> bool:
    solutions = artifacts.answers[instance].solutions
    chosen, original = solutions.get(artifacts.choices[instance].variant), solutions.get(0)
    return chosen is not None and (original is None or chosen.id != original.id)


def count_effects(artifacts: RunArtifacts) -> dict[str, dict[str, int]]:
    """By operator, how many variants had which effect; `failed otherwise`: both fail, with different statuses."""
    found: dict[str, dict[str, int]] = {}
    for instance in artifacts.sound:
        solutions, statuses = artifacts.answers[instance].solutions, artifacts.statuses[instance]
        for variant in artifacts.variants[instance][1:]:
            own, first = solutions.get(variant.index), solutions.get(0)
            before, after = statuses[0], statuses[variant.index]
            if own is not None and first is not None and own.id == first.id:
                effect = "the same code"
            elif before == after:
                effect = "the same status"
            elif "pass" in (before, after):
                effect = "helped" if after == "pass" else "harmed"
            else:
                effect = "failed otherwise"
            found.setdefault(variant.operator, dict.fromkeys(EFFECTS, 0))[effect] += 1
    return found


@dataclass(frozen=True)
class Quality:
    """How good the model's tests are: a test is right if the reference passes it."""

    written: int
    """Usable tests with repetitions, over all instances."""
    distinct: int
    dropped: int
    right: float
    telling: float
    """The share of right tests that fail on at least one mutant."""
    killed: float
    """The share of mutants on which a right test fails."""
    without: int
    not_run: str = ""
    """Runs without a result because of a harness error, which are in no share; empty if there are none."""


def measure_quality(
    pool: CrossRunPool,
    instances: Sequence[Instance],
    answers: Mapping[str, Answers],
    path: Path,
    mutants: int = MUTANTS,
    on_row: Callable[[MatrixRow], None] = lambda row: None,
) -> Quality:
    """Run the model's tests on the reference and on mutants of it. The selection never sees the results."""
    tests = {one.id: list(count_distinct(answers[one.id].all_tests)) for one in instances}
    solutions: dict[str, list[Solution]] = {}
    rows: list[MatrixRow] = []
    for one in instances:
        node = pool.engine.target(pool.prepared[one.project], one).target.node
        codes = [write_copy(node, -1), *(code for _, code in write_mutants(node, mutants))]
        solutions[one.id] = [make_solution(code) for code in codes]
        rows += [MatrixRow(one, solution, tests[one.id]) for solution in solutions[one.id] if tests[one.id]]
    matrix = fill_matrix(pool, rows, path, on_row)
    not_run = describe_not_run(matrix, rows)
    is_right, is_telling, is_killed, without = list[bool](), list[bool](), list[bool](), 0
    for one in instances:
        reference, *wrong = (solution.id for solution in solutions[one.id])
        known = [test.id for test in tests[one.id] if matrix.is_known(one.id, reference, test.id)]
        right = [test for test in known if matrix.passes(one.id, reference, test)]
        is_right += [test in right for test in known]
        ran = [bad for bad in wrong if any(matrix.is_known(one.id, bad, test) for test in right)]
        is_telling += [any(matrix.fails(one.id, bad, test) for bad in ran) for test in right if ran]
        is_killed += [any(matrix.fails(one.id, bad, test) for test in right) for bad in ran]
        without += not right
    return Quality(
        written=sum(len(answers[one.id].all_tests) for one in instances),
        distinct=sum(map(len, tests.values())),
        dropped=sum(len(answers[one.id].dropped) for one in instances),
        right=mean(is_right),
        telling=mean(is_telling),
        killed=mean(is_killed),
        without=without,
        not_run=not_run,
    )
