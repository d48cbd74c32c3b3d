"""How brittle is a model to phrasing, and what does agreement make of it?

Every figure here compares solutions of the same instance, asked for in other words: which operators help or harm, and
whether that is more than luck; how often all wordings go alike; which instances flip; where the chosen ones come from.
Instances on which our own fault kept a solution from being judged are left out of all of them.

What does choosing give, and what could it give at best?

For each instance, which of its solutions are right and which one each rule chose. Held against each other on the same
instances: the rule, the original prompt's solution alone, a random choice (its expectation, not one lucky draw), and
the best possible choice, which is right wherever any solution is. A rule only ever chooses among answers with code that
can stand in the target's place, and so does chance: otherwise passing over the others would look like agreement.

What does the folder of a run with agreement hold? Read once, for every figure that is made of it.

How good are the tests that a model wrote?

A test is right when the reference passes it, and it is of use when it tells the reference from a mutant. Both are found
out after the choice, by letting the reference and mutants of it meet the same tests; neither is shown to the choice.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import fmean

from dlbench.agreement import CHOICES, FOLDER, Chosen, choose_for, read_choices
from dlbench.agreement.matrix import MATRIX, Matrix, Row, fill_matrix, read_matrix, tell_not_run
from dlbench.agreement.model_tests import count
from dlbench.agreement.planted import write_copy
from dlbench.agreement.requests import ANSWERS
from dlbench.agreement.solutions import Answers, Solution, make_solution, read_answers
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
from dlbench.validation.mutants import write_mutants

ORIGINAL, RANDOM, ORACLE = "original alone", "random choice", "best possible"


@dataclass(frozen=True)
class InstanceVotes:
    """One instance: its solutions as written, the original prompt's first, and who was chosen by which rule."""

    instance: str
    solved: tuple[bool, ...]
    chosen: Mapping[str, int]
    usable: tuple[bool, ...] = ()
    """Which of them a rule could have chosen; all of them where nothing is said."""
    harness_errors: int = 0
    """Solutions that our own fault kept from being judged; the instance is then left out, and named."""

    @property
    def drawn_from(self) -> tuple[bool, ...]:
        """The solutions that a choice can fall on."""
        kept = tuple(right for right, fit in zip(self.solved, self.usable, strict=True) if fit) if self.usable else ()
        return kept or self.solved


def hold_against(
    polls: Sequence[InstanceVotes], rule: str, benchmark: Benchmark, *, has_original: bool = True
) -> Comparison:
    """The rule against everything else, paired by instance; against chance by the exact chances of that choice."""
    found = compare(tally_ways(polls, rule, has_original=has_original), benchmark, only_first=True)
    kept = [poll for poll in polls if poll.instance in set(found.instances)]
    right = sum(poll.solved[poll.chosen[rule]] for poll in kept)
    chances = [sum(poll.drawn_from) / len(poll.drawn_from) for poll in kept]
    pairs = [
        replace(pair, permutation=poisson_binomial_test(right, chances)) if pair.b == RANDOM else pair
        for pair in found.pairs
    ]
    corrected = zip(pairs, holm([pair.permutation for pair in pairs]), strict=True)
    return replace(found, pairs=tuple(replace(pair, permutation_holm=p) for pair, p in corrected))


def tally_ways(polls: Sequence[InstanceVotes], rule: str, *, has_original: bool = True) -> dict[str, dict[str, Tally]]:
    others = [name for name in polls[0].chosen if name != rule] if polls else []
    ways = {
        name: {poll.instance: _tally_gain(poll, [poll.solved[poll.chosen[name]]]) for poll in polls}
        for name in [rule, *others]
    }
    if has_original:
        ways[ORIGINAL] = {poll.instance: _tally_gain(poll, poll.solved[:1]) for poll in polls}
    ways[RANDOM] = {poll.instance: _tally_gain(poll, poll.drawn_from) for poll in polls}
    ways[ORACLE] = {poll.instance: _tally_gain(poll, [any(poll.solved)]) for poll in polls}
    return ways


def _tally_gain(poll: InstanceVotes, solved: Sequence[bool]) -> Tally:
    return Tally(poll.instance, len(solved), sum(solved), sum(solved) / len(solved), poll.harness_errors)


NO_CODE, UNKNOWN = "no_code", "unknown"


@dataclass(frozen=True)
class RunArtifacts:
    variants: Mapping[str, Sequence[Variant]]
    answers: Mapping[str, Answers]
    statuses: Mapping[str, Mapping[int, str]]
    """What the judge said of each variant's solution; `no_code` where there is none."""
    choices: Mapping[str, Chosen]
    matrix: Matrix

    @property
    def sound(self) -> list[str]:
        """Instances without a harness error."""
        return [one for one in self.choices if HARNESS_ERROR not in self.statuses[one].values()]

    def solved(self, instance: str) -> tuple[bool, ...]:
        """By variant, the original first."""
        return tuple(self.statuses[instance][variant.index] == "pass" for variant in self.variants[instance])


def read_material(folder: Path, benchmark: Benchmark) -> RunArtifacts:
    inner = folder / FOLDER
    needed = (VARIANTS, ANSWERS, MATRIX, CHOICES)
    missing = [name for name in needed if not (inner / name).is_file()]
    if missing:
        fix = "give a folder that `dlbench run --technique dual-agreement` has written to its end"
        raise DLBenchError(f"{', '.join(missing)} is missing", where=str(inner), fix=fix)
    variants = read_variants(inner / VARIANTS)
    choices = read_choices(inner / CHOICES)
    known: dict[str, Instance] = {one: find_known(one, benchmark.instances, "instance") for one in choices}
    answers = read_answers(inner / ANSWERS, known, variants)
    statuses = {
        one: {variant.index: UNKNOWN if variant.index in answers[one].usable else NO_CODE for variant in variants[one]}
        for one in choices
    }
    if (inner / VERDICTS).is_file():
        for number, record in read_lines(inner / VERDICTS):
            verdict = Verdict.from_record(record, f"{inner / VERDICTS}:{number}")
            if verdict.instance in statuses:
                statuses[verdict.instance][verdict.sample] = str(verdict.status)
    _refuse_unjudged(statuses, answers, inner)
    return RunArtifacts(variants, answers, statuses, choices, read_matrix(inner / MATRIX))


def _refuse_unjudged(statuses: Mapping[str, Mapping[int, str]], answers: Mapping[str, Answers], inner: Path) -> None:
    """A solution with code and without a verdict would count as a failure."""
    unjudged = [
        f"{one}, variant {index}"
        for one in statuses
        for index in answers[one].usable
        if statuses[one][index] == UNKNOWN
    ]
    if unjudged:
        what = f"{len(unjudged)} solutions have no verdict yet, the first of {unjudged[0]}"
        raise DLBenchError(what, where=str(inner), fix="start the run's own command again, which goes on with it")


def list_samples(answers: Mapping[str, Answers]) -> list[Sample]:
    """Every variant's solution, to be judged by the project's tests; the sample's number is the variant's."""
    return [
        Sample(instance, index, solution.code, is_code=True)
        for instance, found in answers.items()
        for index, solution in found.usable.items()
    ]


EFFECTS = ("the same code", "the same end", "helped", "harmed", "failed otherwise")


def make_polls(
    material: RunArtifacts, rules: Sequence[str], seed: int = 0, *, own: bool = False
) -> list[InstanceVotes]:
    """The choice of each rule, made again from what was kept; with `own`, that of the run's rule is the one that the
    run made, which stands even where meetings were made up for since."""
    return [
        InstanceVotes(
            one,
            material.solved(one),
            {rule: _find_choice(material, one, rule, seed, own) for rule in rules},
            _find_drawn(material, one),
            sum(status == HARNESS_ERROR for status in material.statuses[one].values()),
        )
        for one in material.choices
    ]


def _find_choice(material: RunArtifacts, instance: str, rule: str, seed: int, own: bool) -> int:
    kept = material.choices[instance]
    if own and kept.rule == rule:
        return kept.variant
    return choose_for(material.matrix, instance, material.answers[instance], rule, seed).variant


def _find_drawn(material: RunArtifacts, instance: str) -> tuple[bool, ...]:
    """For each variant, whether a rule could have chosen its solution."""
    usable = material.answers[instance].usable
    standing = set(material.matrix.find_standing(instance, {one.id: one for one in usable.values()}))
    return tuple(
        variant.index in usable and usable[variant.index].id in standing for variant in material.variants[instance]
    )


@dataclass(frozen=True)
class Effect:
    """Of one operator against the original prompt, on the instances that it could change."""

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


def compare_operators(material: RunArtifacts, benchmark: Benchmark) -> list[Effect]:
    tallies: dict[str, dict[str, list[bool]]] = {}
    for instance in material.sound:
        for variant, solved in zip(material.variants[instance], material.solved(instance), strict=True):
            tallies.setdefault(variant.operator, {}).setdefault(instance, []).append(solved)
    originals = tallies.pop(ORIGINAL_OPERATOR, {})
    found = []
    for operator, own in tallies.items():
        runs = {
            operator: {one: _tally(one, solved) for one, solved in own.items()},
            ORIGINAL: {one: _tally(one, originals[one]) for one in own},
        }
        comparison = compare(runs, benchmark)
        (pair,), (here, there) = comparison.pairs, comparison.standings
        found.append(
            Effect(
                operator,
                len(own),
                here.pass_at_1,
                there.pass_at_1,
                pair.difference,
                pair.interval,
                pair.only_a,
                pair.only_b,
                pair.permutation,
            )
        )
    corrected = holm([effect.p for effect in found])
    return [replace(effect, p_holm=p) for effect, p in zip(found, corrected, strict=True)]


def _tally(instance: str, solved: Sequence[bool]) -> Tally:
    return Tally(instance, len(solved), sum(solved), fmean(solved))


@dataclass(frozen=True)
class Consistency:
    instances: int
    all_pass: int
    none_pass: int
    agreeing: float
    """The chance that two wordings of an instance end alike, on average; NaN where no instance has two."""
    helped: tuple[str, ...]
    """Instances that the original fails and another wording solves."""
    harmed: tuple[str, ...]
    """Instances that the original solves and another wording fails."""
    from_variants: float
    """The share of chosen solutions that are not the original's own code."""
    fell_back: int


def measure_consistency(material: RunArtifacts) -> Consistency:
    solved = {one: material.solved(one) for one in material.sound}
    pairs = [fmean(a == b for a, b in combinations(each, 2)) for each in solved.values() if len(each) > 1]
    other = [_is_other(material, one) for one in material.sound]
    return Consistency(
        instances=len(solved),
        all_pass=sum(all(each) for each in solved.values()),
        none_pass=sum(not any(each) for each in solved.values()),
        agreeing=fmean(pairs) if pairs else math.nan,
        helped=tuple(one for one, each in solved.items() if not each[0] and any(each)),
        harmed=tuple(one for one, each in solved.items() if each[0] and not all(each)),
        from_variants=fmean(other) if other else math.nan,
        fell_back=sum(material.choices[one].fell_back for one in material.sound),
    )


def _is_other(material: RunArtifacts, instance: str) -> bool:
    solutions = material.answers[instance].solutions
    chosen, original = solutions.get(material.choices[instance].variant), solutions.get(0)
    return chosen is not None and (original is None or chosen.id != original.id)


def sort_effects(material: RunArtifacts) -> dict[str, dict[str, int]]:
    """By operator, how many wordings had which effect; `failed otherwise`: both fail, in another way."""
    found: dict[str, dict[str, int]] = {}
    for instance in material.sound:
        solutions, statuses = material.answers[instance].solutions, material.statuses[instance]
        for variant in material.variants[instance][1:]:
            own, first = solutions.get(variant.index), solutions.get(0)
            if own is not None and first is not None and own.id == first.id:
                effect = EFFECTS[0]
            else:
                effect = _name_effect(statuses[0], statuses[variant.index])
            counts = found.setdefault(variant.operator, dict.fromkeys(EFFECTS, 0))
            counts[effect] += 1
    return found


def _name_effect(before: str, after: str) -> str:
    if before == after:
        return "the same end"
    if "pass" in (before, after):
        return "helped" if after == "pass" else "harmed"
    return "failed otherwise"


QUALITY = "quality.jsonl"
MUTANTS = 5


@dataclass(frozen=True)
class Quality:
    written: int
    """Tests that could be used, with repetitions; over all instances."""
    distinct: int
    dropped: int
    """What the model wrote as tests and could not be used."""
    right: float
    """The share of distinct tests that the reference passes."""
    telling: float
    """The share of right tests that fail on one mutant or more."""
    killed: float
    """The share of mutants on which a right test fails."""
    without: int
    """Instances without a single right test."""
    not_run: str = ""
    """Meetings that our own fault prevented, and that are in no share; empty where all took place."""


def measure_quality(
    rooms: CrossRunPool,
    instances: Sequence[Instance],
    answers: Mapping[str, Answers],
    path: Path,
    mutants: int = MUTANTS,
    on_row: Callable[[Row], None] = lambda row: None,
) -> Quality:
    references: dict[str, Solution] = {}
    wrong: dict[str, list[Solution]] = {}
    rows: list[Row] = []
    for one in instances:
        node = rooms.engine.asked(rooms.prepared[one.project], one).target.node
        references[one.id] = make_solution(write_copy(node, -1))
        wrong[one.id] = [make_solution(code) for _, code in write_mutants(node, mutants)]
        checks = list(count(answers[one.id].all_checks))
        rows += [Row(one, solution, checks) for solution in (references[one.id], *wrong[one.id]) if checks]
    matrix = fill_matrix(rooms, rows, path, on_row)
    not_run = tell_not_run(matrix, rows)
    is_right: list[bool] = []
    is_telling: list[bool] = []
    is_killed: list[bool] = []
    without = distinct = 0
    for one in instances:
        reference = references[one.id].id
        written = list(count(answers[one.id].all_checks))
        distinct += len(written)
        checks = [check for check in written if matrix.is_known(one.id, reference, check.id)]
        right = [check for check in checks if matrix.passes(one.id, reference, check.id)]
        is_right += [check in right for check in checks]
        met = [bad for bad in wrong[one.id] if any(matrix.is_known(one.id, bad.id, check.id) for check in right)]
        is_telling += [any(matrix.fails(one.id, bad.id, check.id) for bad in met) for check in right if met]
        is_killed += [any(matrix.fails(one.id, bad.id, check.id) for check in right) for bad in met]
        without += not right
    return Quality(
        written=sum(len(answers[one.id].all_checks) for one in instances),
        distinct=distinct,
        dropped=sum(len(answers[one.id].dropped) for one in instances),
        right=_share(is_right),
        telling=_share(is_telling),
        killed=_share(is_killed),
        without=without,
        not_run=not_run,
    )


def _share(values: Sequence[bool]) -> float:
    return fmean(values) if values else math.nan
