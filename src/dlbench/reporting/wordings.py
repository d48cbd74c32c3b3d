"""What came of asking in other words? The study of a run with agreement, for whoever shows it: command, page, Markdown.

Read from the run's folder once. A run that is not finished has none; the rest of a report stands without it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dlbench.agreement import CHOICES, FOLDER
from dlbench.agreement.study import (
    Consistency,
    Effect,
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
from dlbench.reporting.agreement import (
    draw_agreement,
    tabulate_consistency,
    tabulate_effects,
    tabulate_gain,
    tabulate_operators,
    tell_cost,
    tell_not_counted,
)
from dlbench.reporting.pictures.alone import stand_alone
from dlbench.reporting.tables import Tabled
from dlbench.runs import Run
from dlbench.scoring import Comparison

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
