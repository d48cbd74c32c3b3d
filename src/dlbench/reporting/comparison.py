"""Describe a comparison of runs: the common instances, the score of each run, and every pair.

In sentences rather than in one wide table: a difference without its interval, or a p-value without the number of pairs
it was corrected for, is easily over-interpreted.
"""

from dlbench.reporting.tables import Tabled, list_some, number, p_value, percent, points, span, tabulate
from dlbench.scoring import BenchmarkComparison, Comparison, Pair

LEVEL = 0.05
_MOST_PAIRS = 50
_FEW_PAIRS = 3
_SHOWN = 10


def describe_instances(found: Comparison) -> list[str]:
    lines = [f"compared on the {len(found.instances)} instances that every run has judged, by {found.figure}"]
    if found.not_common:
        lines.append(f"LEFT OUT: {len(found.not_common)} instances that are not in every run")
    if found.harness_errors:
        names = list_some(found.harness_errors, _SHOWN)
        lines.append(f"HARNESS ERRORS: {len(found.harness_errors)} instances are left out ({names})")
    if uneven := [pair for pair in found.pairs if not pair.samples_alike]:
        lines.append(
            f"NOT AS MANY SAMPLES in {len(uneven)} of {len(found.pairs)} pairs ({uneven[0].a}, {uneven[0].b}): an"
            " instance is solved if more than half of its samples pass, which depends on their number. McNemar's test"
            " and the odds ratio are omitted for these pairs; compare the lists of solved instances with care"
        )
    return lines


def tabulate_runs(found: Comparison) -> Tabled:
    return tabulate(found.standings, {
        "run": lambda one: one.name,
        "pass@1": lambda one: percent(one.pass_at_1),
        **({found.figure: lambda one: percent(one.mean)} if found.figure != "pass@1" else {}),
        "95 %": lambda one: span(one.interval),
        "by project": lambda one: span(one.clustered),
        "solved": lambda one: one.solved,
        "alone": lambda one: one.solved_alone,
    })  # fmt: skip


def describe_pairs(found: Comparison, *, every_instance: bool = False) -> list[str]:
    pairs = found.pairs
    lines: list[str] = []
    if len(pairs) > _MOST_PAIRS:
        pairs = tuple(sorted(pairs, key=lambda pair: pair.permutation)[:_MOST_PAIRS])
        lines.append(f"the {_MOST_PAIRS} clearest of {len(found.pairs)} pairs; --json has all of them")
    for pair in pairs:
        lines += _describe_pair(pair, len(found.pairs))
        if every_instance or len(pairs) <= _FEW_PAIRS:
            lines += _list_instances(pair, None if every_instance else _SHOWN)
    return lines


def describe_benchmark(name: str, found: BenchmarkComparison) -> str:
    return (
        f"against {name}, over {found.models} models: mean pass@1 {percent(found.mean_here)} here and"
        f" {percent(found.mean_there)} there; Cohen's d {number(found.cohen_d)}, Fisher's ratio"
        f" {number(found.fisher_ratio)}, Spearman {number(found.spearman)} (p = {p_value(found.spearman_p)}), Kendall"
        f" {number(found.kendall)} (p = {p_value(found.kendall_p)})"
    )


def _describe_pair(pair: Pair, pairs: int) -> list[str]:
    corrected = f", corrected for {pairs} pairs {{}}" if pairs > 1 else ""
    return [
        f"{pair.a} - {pair.b}: {points(pair.difference)} (95 %: {span(pair.interval, '+.1f')};"
        f" by project: {span(pair.clustered, '+.1f')}): {_conclude(pair)}",
        f"  permutation p = {p_value(pair.permutation)}{corrected.format(p_value(pair.permutation_holm))};"
        f" with whole projects swapped {p_value(pair.permutation_clustered)}"
        f"{corrected.format(p_value(pair.permutation_clustered_holm))}",
        f"  McNemar p = {p_value(pair.mcnemar)}{corrected.format(p_value(pair.mcnemar_holm))}:"
        f" {len(pair.only_a)} solved by the first only, {len(pair.only_b)} by the second only",
        f"  odds ratio {number(pair.odds_ratio)}, Cohen's h {number(pair.cohen_h, '+.2f')}",
    ]


def _conclude(pair: Pair) -> str:
    if not pair.permutation_holm < LEVEL:
        return "no difference shown"
    if not pair.permutation_clustered_holm < LEVEL:  # NaN with too few projects
        return "they differ on these instances, but not surely on other projects"
    return "they differ"


def _list_instances(pair: Pair, most: int | None) -> list[str]:
    lines: list[str] = []
    for name, ids in ((pair.a, pair.only_a), (pair.b, pair.only_b)):
        shown = ids[:most]
        if shown:
            lines += [f"  only {name}:", *(f"    {one}" for one in shown)]
        if len(shown) < len(ids):
            lines.append(f"    … and {len(ids) - len(shown)} more (--instances)")
    return lines
