"""Render the study of a run with agreement as tables and charts, for the command line and the reports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dlbench.agreement import CHOICES, FOLDER, study
from dlbench.agreement.study import EFFECTS, Consistency, Effect, Quality, RunArtifacts
from dlbench.dataset import Benchmark
from dlbench.errors import DLBenchError
from dlbench.reporting.charts import stand_alone
from dlbench.reporting.charts.heatmap import Cell, draw_grid
from dlbench.reporting.tables import Tabled, format_usage, list_some, p_value, percent, points, span, tabulate
from dlbench.runs import Run
from dlbench.scoring import Comparison, total_usage

RULES = ("codet", "b4", "mbr-exec")
_MAX_NAMES = 10


def tabulate_gain(found: Comparison) -> Tabled:
    """A row for each way to select; differences are the first row's pass@1 minus the row's, on the same instances."""
    first, *others = found.standings
    headings, rows = tabulate(zip(others, found.pairs, strict=True), {
        "chosen by": lambda row: row[0].name,
        "pass@1": lambda row: percent(row[0].pass_at_1),
        "95 %": lambda row: span(row[0].interval),
        f"{first.name} gains": lambda row: points(row[1].difference),
        "95 %, paired": lambda row: span(row[1].interval, "+.1f"),
        "it alone": lambda row: len(row[1].only_a),
        "the other alone": lambda row: len(row[1].only_b),
        "p, Holm": lambda row: p_value(row[1].permutation_holm),
    })  # fmt: skip
    return headings, [[first.name, percent(first.pass_at_1), span(first.interval), *[""] * 5], *rows]


def tabulate_operators(found: Sequence[Effect]) -> Tabled:
    return tabulate(sorted(found, key=lambda one: -one.difference), {
        "operator": lambda one: one.operator,
        "instances": lambda one: one.instances,
        "pass@1": lambda one: percent(one.pass_at_1),
        "original": lambda one: percent(one.original),
        "difference": lambda one: points(one.difference),
        "95 %, paired": lambda one: span(one.interval, "+.1f"),
        "only it": lambda one: len(one.only_operator),
        "only original": lambda one: len(one.only_original),
        "p": lambda one: p_value(one.p),
        "p, all operators": lambda one: p_value(one.p_holm),
    })  # fmt: skip


def tabulate_consistency(one: Consistency) -> Tabled:
    return _list_values({
        "instances": one.instances,
        "solved by every variant": one.all_pass,
        "solved by no variant": one.none_pass,
        "the original fails, another variant passes": len(one.helped),
        "the original passes, another variant fails": len(one.harmed),
        "two variants both pass or both fail": percent(one.agreeing),
        "selected code differs from the original's": percent(one.from_variants),
        "random choice, since nothing passed": one.fell_back,
    })  # fmt: skip


def tabulate_quality(one: Quality) -> Tabled:
    return _list_values({
        "usable tests": one.written,
        "  distinct": one.distinct,
        "dropped tests": one.dropped,
        "right: the reference passes": percent(one.right),
        "  of those, fail on a mutant": percent(one.telling),
        "mutants that a right test kills": percent(one.killed),
        "instances without a right test": one.without,
    })  # fmt: skip


def _list_values(values: Mapping[str, object]) -> Tabled:
    return ["", "value"], [[name, str(value)] for name, value in values.items()]


def describe_flips(one: Consistency) -> list[str]:
    """The instances by name, so that their prompts can be read."""
    flips = {"solved by another variant only": one.helped, "failed by another variant": one.harmed}
    return [f"{what}: {list_some(names, _MAX_NAMES)}" for what, names in flips.items() if names]


def describe_not_counted(found: Comparison) -> str:
    return f"NOT COUNTED: harness errors on {', '.join(found.harness_errors)}" if found.harness_errors else ""


def describe_cost(artifacts: RunArtifacts) -> str:
    """The requests of the run, beside those for the original prompt alone."""
    records = [record for answers in artifacts.answers.values() for record in answers.records]
    original = [record for record in records if record["sample"] == 0]
    prompt, completion, cost = format_usage(total_usage(records))
    own_prompt, own_completion, own_cost = format_usage(total_usage(original))
    return (
        f"it took {len(records)} requests, {prompt} prompt and {completion} completion tokens, cost {cost}; the"
        f" original prompt alone {len(original)} requests, {own_prompt} and {own_completion} tokens, cost {own_cost};"
        f" {sum(artifacts.matrix.count().values())} runs of solutions on tests took {artifacts.matrix.seconds:.0f} s"
    )


@dataclass(frozen=True)
class AgreementStudy:
    gain: Comparison
    operators: Sequence[Effect]
    consistency: Consistency
    effects: dict[str, dict[str, int]]
    cost: str
    fault: str
    """What is not counted, and why; empty if everything is."""

    @property
    def tables(self) -> dict[str, Tabled]:
        effects = [[operator, *(str(counts[name]) for name in EFFECTS)] for operator, counts in self.effects.items()]
        return {
            "gain from agreement": tabulate_gain(self.gain),
            "operators against the original prompt": tabulate_operators(self.operators),
            "consistency across variants": tabulate_consistency(self.consistency),
            "effects of variants, by operator": (["operator", *EFFECTS], effects),
        }

    @property
    def plots(self) -> dict[str, str]:
        """SVG files by name, without the suffix."""
        return {name: stand_alone(plot) for name, plot in self.grids.items()}

    @property
    def grids(self) -> dict[str, str]:
        gains = {(one.name, "pass@1"): (one.pass_at_1, one.name) for one in self.gain.standings}
        operators = {}
        for one in self.operators:
            operators[one.operator, "with it"] = one.pass_at_1, one.operator
            operators[one.operator, "original"] = one.original, f"the original on the instances of {one.operator}"
        effects = {
            (operator, name): (number / max(1, sum(counts.values())), f"{operator}, {name}, {number} variants")
            for operator, counts in self.effects.items()
            for name, number in counts.items()
        }
        return {
            "agreement-gain": _draw("pass@1 in %, by selection", gains),
            "agreement-operators": _draw("pass@1 in %, by operator", operators),
            "agreement-effects": _draw("% of variants by effect", effects),
        }


def _draw(title: str, values: Mapping[tuple[str, str], tuple[float, str]]) -> str:
    cells = {key: Cell(value, f"{tip}: {percent(value)}") for key, (value, tip) in values.items()}
    rows, columns = (list(dict.fromkeys(key[axis] for key in values)) for axis in (0, 1))
    return draw_grid(title, rows, columns, cells)


def find_gain(
    artifacts: RunArtifacts, run: Run, benchmark: Benchmark, rules: Sequence[str] = RULES, seed: int | None = None
) -> Comparison:
    """With the run's own choices and seed; another seed draws other solutions than those of its samples."""
    drawn = int(run.config.get("seed", 0)) if seed is None else seed
    return study.compare_rules(study.collect_votes(artifacts, rules, drawn, own=seed is None), rules[0], benchmark)


def study_artifacts(artifacts: RunArtifacts, run: Run, benchmark: Benchmark, seed: int | None = None) -> AgreementStudy:
    own = str(run.config.get("rule", RULES[0]))  # first: the others are compared with it
    gain = find_gain(artifacts, run, benchmark, [own, *(rule for rule in RULES if rule != own)], seed)
    return AgreementStudy(
        gain,
        study.compare_operators(artifacts, benchmark),
        study.measure_consistency(artifacts),
        study.count_effects(artifacts),
        describe_cost(artifacts),
        describe_not_counted(gain),
    )


def study_run(run: Run, benchmark: Benchmark) -> AgreementStudy | str | None:
    """None for a run without agreement or without choices yet; the reason if the study is not possible."""
    if not (run.folder / FOLDER / CHOICES).is_file():
        return None
    try:
        return study_artifacts(study.read_artifacts(run.folder, benchmark), run, benchmark)
    except DLBenchError as error:
        return f"NOT SHOWN: {error}"
