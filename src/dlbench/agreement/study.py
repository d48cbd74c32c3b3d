"""How brittle is a model to phrasing, and what does agreement make of it?

Every figure here compares solutions of the same instance, asked for in other words: which operators help or harm, and
whether that is more than luck; how often all wordings go alike; which instances flip; where the chosen ones come from.
Instances on which our own fault kept a solution from being judged are left out of all of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean

from dlbench.agreement.agreeing import choose_for
from dlbench.agreement.gains import ORIGINAL, Poll
from dlbench.agreement.material import Material
from dlbench.agreement.variant import ORIGINAL as ORIGINAL_OPERATOR
from dlbench.dataset import Benchmark
from dlbench.scoring import HARNESS_ERROR, Interval, Tally, compare
from dlbench.scoring.significance import holm

EFFECTS = ("the same code", "the same end", "helped", "harmed", "failed otherwise")


def make_polls(material: Material, rules: Sequence[str], seed: int = 0, *, own: bool = False) -> list[Poll]:
    """The choice of each rule, made again from what was kept; with `own`, that of the run's rule is the one that the
    run made, which stands even where meetings were made up for since."""
    return [
        Poll(
            one,
            material.solved(one),
            {rule: _find_choice(material, one, rule, seed, own) for rule in rules},
            _find_drawn(material, one),
            sum(status == HARNESS_ERROR for status in material.statuses[one].values()),
        )
        for one in material.choices
    ]


def _find_choice(material: Material, instance: str, rule: str, seed: int, own: bool) -> int:
    kept = material.choices[instance]
    if own and kept.rule == rule:
        return kept.variant
    return choose_for(material.matrix, instance, material.answers[instance], rule, seed).variant


def _find_drawn(material: Material, instance: str) -> tuple[bool, ...]:
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


def compare_operators(material: Material, benchmark: Benchmark) -> list[Effect]:
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


def measure_consistency(material: Material) -> Consistency:
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


def _is_other(material: Material, instance: str) -> bool:
    solutions = material.answers[instance].solutions
    chosen, original = solutions.get(material.choices[instance].variant), solutions.get(0)
    return chosen is not None and (original is None or chosen.id != original.id)


def sort_effects(material: Material) -> dict[str, dict[str, int]]:
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
