"""How is it told what agreement gives? The rule beside everything it is held against, with paired intervals.

What came of asking in other words? The study of a run with agreement, for whoever shows it: command, page, Markdown.

Read from the run's folder once. A run that is not finished has none; the rest of a report stands without it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dlbench.agreement import CHOICES, FOLDER
from dlbench.agreement.study import (
    EFFECTS,
    Consistency,
    Effect,
    Quality,
    RunArtifacts,
    compare_operators,
    hold_against,
    make_polls,
    measure_consistency,
    read_material,
    sort_effects,
)
from dlbench.dataset import Benchmark
from dlbench.errors import DLBenchError
from dlbench.reporting.charts import Cell, draw_grid, stand_alone
from dlbench.reporting.formatting import format_usage, p_value, percent, points, signed_span, span
from dlbench.reporting.tables import Tabled
from dlbench.runs import Run
from dlbench.scoring import Comparison, total_usage

_SHOWN = 10


def tabulate_gain(found: Comparison) -> Tabled:
    """A row for each way to choose; differences are the first way's pass@1 less the row's, over the same instances."""
    first = found.standings[0]
    rows = [[first.name, percent(first.pass_at_1), span(first.interval), "", "", "", "", ""]]
    for one, pair in zip(found.standings[1:], found.pairs, strict=True):
        rows.append(
            [
                one.name,
                percent(one.pass_at_1),
                span(one.interval),
                points(pair.difference),
                signed_span(pair.interval),
                str(len(pair.only_a)),
                str(len(pair.only_b)),
                p_value(pair.permutation_holm),
            ]
        )
    names = ["chosen by", "pass@1", "95 %", f"{first.name} gains", "95 %, paired", "it alone", "the other alone"]
    return [*names, "p, Holm"], rows


def tabulate_operators(found: Sequence[Effect]) -> Tabled:
    rows = [
        [
            one.operator,
            str(one.instances),
            percent(one.pass_at_1),
            percent(one.original),
            points(one.difference),
            signed_span(one.interval),
            str(len(one.only_operator)),
            str(len(one.only_original)),
            p_value(one.p),
            p_value(one.p_holm),
        ]
        for one in sorted(found, key=lambda one: -one.difference)
    ]
    names = ["operator", "instances", "pass@1", "original", "difference", "95 %, paired", "only it", "only original"]
    return [*names, "p", "p, all operators"], rows


def tabulate_consistency(one: Consistency) -> Tabled:
    rows = [
        ["instances", str(one.instances)],
        ["every wording solves it", str(one.all_pass)],
        ["no wording solves it", str(one.none_pass)],
        ["flips: the original fails, another wording solves it", str(len(one.helped))],
        ["flips: the original solves it, another wording fails", str(len(one.harmed))],
        ["two wordings end alike", percent(one.agreeing)],
        ["chosen code is not the original's", percent(one.from_variants)],
        ["chosen by lot, since nothing passed", str(one.fell_back)],
    ]
    return ["", "value"], rows


def tabulate_effects(found: Mapping[str, Mapping[str, int]]) -> Tabled:
    rows = [[operator, *(str(counts[name]) for name in EFFECTS)] for operator, counts in found.items()]
    return ["operator", *EFFECTS], rows


def tabulate_quality(one: Quality) -> Tabled:
    rows = [
        ["tests written and usable", str(one.written)],
        ["  distinct", str(one.distinct)],
        ["written and dropped", str(one.dropped)],
        ["the reference passes", percent(one.right)],
        ["  of those, fail on a mutant", percent(one.telling)],
        ["mutants that a right test kills", percent(one.killed)],
        ["instances without a right test", str(one.without)],
    ]
    return ["", "value"], rows


def tell_flips(one: Consistency) -> list[str]:
    """The instances by name, for whoever wants to read the prompts."""
    lines = []
    for words, names in (("solved by another wording only", one.helped), ("lost by another wording", one.harmed)):
        if names:
            shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
            lines.append(f"{words}: {shown}")
    return lines


def draw_agreement(
    gain: Comparison, operators: Sequence[Effect], effects: Mapping[str, Mapping[str, int]]
) -> dict[str, str]:
    """By name; for a page, or to stand alone as a file."""
    ways = {
        (one.name, "pass@1"): Cell(one.pass_at_1, f"{one.name}: {percent(one.pass_at_1)}") for one in gain.standings
    }
    words = {}
    for one in operators:
        words[one.operator, "with it"] = Cell(one.pass_at_1, f"{one.operator}: {percent(one.pass_at_1)}")
        words[one.operator, "original"] = Cell(one.original, f"the original there: {percent(one.original)}")
    kinds = {
        (operator, name): Cell(
            number / max(1, sum(counts.values())), f"{operator}, {name}: {number} of {sum(counts.values())}"
        )
        for operator, counts in effects.items()
        for name, number in counts.items()
    }
    names = [one.operator for one in operators]
    return {
        "agreement-gain": draw_grid("pass@1 in %, by who chooses", [key for key, _ in ways], ["pass@1"], ways),
        "agreement-operators": draw_grid("pass@1 in %, by operator", names, ["with it", "original"], words),
        "agreement-effects": draw_grid("% of wordings by effect", [*effects], EFFECTS, kinds),
    }


def tell_not_counted(found: Comparison) -> str:
    """Aloud, or instances would be missing in silence."""
    return f"NOT COUNTED: harness errors on {', '.join(found.harness_errors)}" if found.harness_errors else ""


def tell_cost(material: RunArtifacts) -> str:
    """What was asked for the choice, beside what the original prompt alone would have taken."""
    everything = [record for answers in material.answers.values() for record in answers.records]
    alone = [record for record in everything if record["sample"] == 0]
    (asked, answered, cost), (own_asked, own_answered, own_cost) = map(
        format_usage, map(total_usage, (everything, alone))
    )
    return (
        f"it took {len(everything)} requests, {asked} tokens asked and {answered} answered, cost {cost}; the original"
        f" prompt alone {len(alone)} requests, {own_asked} and {own_answered} tokens, cost {own_cost};"
        f" {sum(material.matrix.count().values())} meetings of solutions and tests ran {material.matrix.seconds:.0f} s"
    )


RULES = ("codet", "b4", "mbr-exec")


@dataclass(frozen=True)
class Studied:
    gain: Comparison
    operators: Sequence[Effect]
    consistency: Consistency
    effects: dict[str, dict[str, int]]
    cost: str
    """What the choice took."""
    fault: str
    """What is not counted, and why; empty where everything is."""

    @property
    def tables(self) -> dict[str, Tabled]:
        return {
            "what agreement gives": tabulate_gain(self.gain),
            "by operator, against the original prompt": tabulate_operators(self.operators),
            "how alike wordings end": tabulate_consistency(self.consistency),
            "what wordings do, by operator": tabulate_effects(self.effects),
        }

    @property
    def pictures(self) -> dict[str, str]:
        """Files, by their names without the ending."""
        return {name: stand_alone(picture) for name, picture in self.grids.items()}

    @property
    def grids(self) -> dict[str, str]:
        return draw_agreement(self.gain, self.operators, self.effects)


def find_gain(
    material: RunArtifacts, run: Run, benchmark: Benchmark, rules: Sequence[str] = RULES, seed: int | None = None
) -> Comparison:
    """By the run's own choices and seed, unless another seed is given: lots then fall otherwise than in its samples."""
    drawn = int(run.config.get("seed", 0)) if seed is None else seed
    return hold_against(make_polls(material, rules, drawn, own=seed is None), rules[0], benchmark)


def study_material(material: RunArtifacts, run: Run, benchmark: Benchmark, seed: int | None = None) -> Studied:
    # the run's own rule first: the others are held against it
    own = str(run.config.get("rule", RULES[0]))
    rules = [own, *(rule for rule in RULES if rule != own)]
    gain = find_gain(material, run, benchmark, rules, seed)
    return Studied(
        gain,
        compare_operators(material, benchmark),
        measure_consistency(material),
        sort_effects(material),
        tell_cost(material),
        tell_not_counted(gain),
    )


def study_run(run: Run, benchmark: Benchmark) -> Studied | str | None:
    """None for a run without agreement, or one that has not chosen yet; where nothing can be shown, the reason."""
    if not (run.folder / FOLDER / CHOICES).is_file():
        return None
    try:
        return study_material(read_material(run.folder, benchmark), run, benchmark)
    except DLBenchError as error:
        return f"NOT SHOWN: {error}"
