"""Collect everything that tables, pages and exports show of a set of runs, computed once."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from dlbench.dataset.tracks import TrackBenchmark
from dlbench.jsonl import read_lines
from dlbench.reporting.caveats import collect_caveats, find_spreads
from dlbench.reporting.statistics import Subject
from dlbench.runs import SAMPLES, Run
from dlbench.scoring import CUTOFFS, Score, Spread, Summary, Tally, Usage, summarise_all, tally, total_usage
from dlbench.scoring.breakdowns import group, list_axes


@dataclass(frozen=True)
class ReportData:
    """Mappings are by the name of a run, all in the same order."""

    runs: Mapping[str, Run]
    summaries: Mapping[str, Summary]
    usages: Mapping[str, Usage | None]
    repeats: Mapping[str, Spread]
    warnings: Sequence[str]
    """Caveats to read before the numbers."""
    tallies: Mapping[str, Mapping[str, Tally]]
    benchmark: TrackBenchmark

    @property
    def names(self) -> list[str]:
        return list(self.summaries)

    @property
    def subjects(self) -> dict[str, Subject]:
        """Each run as a whole, for its statistics."""
        return {name: Subject(each.overall, each, self.usages.get(name)) for name, each in self.summaries.items()}

    def scores(self, axis: str) -> dict[str, list[Score | None]]:
        """By label, the score of each run."""
        found = [{one.label: one for one in each.scores if one.axis == axis} for each in self.summaries.values()]
        known = group(dict.fromkeys(one for each in self.tallies.values() for one in each), self.benchmark, [axis])
        return {label: [scores.get(label) for scores in found] for name, label in known if name == axis}

    def ranked(self) -> "ReportData":
        """The best run first; runs without a score last."""

        def place(name: str) -> tuple[bool, float]:
            score = self.summaries[name].overall.pass_at_1
            return math.isnan(score), -score

        best = sorted(self.names, key=place)
        return replace(
            self,
            runs={name: self.runs[name] for name in best},
            summaries={name: self.summaries[name] for name in best},
            tallies={name: self.tallies[name] for name in best},
        )


def collect_report_data(
    runs: Mapping[str, Run], benchmark: TrackBenchmark, cutoffs: Sequence[date] = CUTOFFS
) -> ReportData:
    verdicts = {name: run.verdicts for name, run in runs.items()}
    summaries = summarise_all(verdicts, benchmark, list_axes(benchmark), cutoffs)
    return ReportData(
        runs=runs,
        summaries=summaries,
        usages={name: read_usage(run.folder) for name, run in runs.items()},
        repeats=find_spreads(runs, summaries),
        warnings=collect_caveats(runs, summaries, benchmark),
        tallies={name: tally(run.verdicts, benchmark) for name, run in runs.items()},
        benchmark=benchmark,
    )


def read_usage(folder: Path) -> Usage | None:
    """Tokens and cost of its samples, where the folder has them."""
    path = folder / SAMPLES
    return total_usage(record for _, record in read_lines(path)) if path.is_file() else None
