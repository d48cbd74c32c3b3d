"""How do the runs stand? Everything that tables and pictures are made of, found out once."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from dlbench.dataset import Benchmark
from dlbench.jsonl import read_lines
from dlbench.reporting.caveats import collect_caveats
from dlbench.reporting.run_names import find_spreads
from dlbench.runs import SAMPLES, Run
from dlbench.scoring import BREAKDOWNS, CUTOFFS, Score, Spread, Summary, Tally, Usage, summarise_all, tally, total_usage
from dlbench.scoring.breakdowns import group


@dataclass(frozen=True)
class ReportData:
    """By the name of a run, in one order everywhere."""

    runs: Mapping[str, Run]
    summaries: Mapping[str, Summary]
    usages: Mapping[str, Usage | None]
    repeats: Mapping[str, Spread]
    warnings: Sequence[str]
    """What must be known before the numbers."""
    tallies: Mapping[str, Mapping[str, Tally]]
    benchmark: Benchmark

    @property
    def names(self) -> list[str]:
        return list(self.summaries)

    def scores(self, axis: str) -> dict[str, list[Score | None]]:
        """By label, each run's score."""
        found = [{one.label: one for one in each.scores if one.axis == axis} for each in self.summaries.values()]
        known = group(dict.fromkeys(one for each in self.tallies.values() for one in each), self.benchmark, [axis])
        return {label: [scores.get(label) for scores in found] for name, label in known if name == axis}

    def _place(self, name: str) -> tuple[bool, float]:
        score = self.summaries[name].overall.pass_at_1
        return math.isnan(score), -score

    def ranked(self) -> "ReportData":
        """The best run first; runs without a score last."""
        best = sorted(self.names, key=self._place)
        return replace(
            self,
            runs={name: self.runs[name] for name in best},
            summaries={name: self.summaries[name] for name in best},
            tallies={name: self.tallies[name] for name in best},
        )


def collect_report_data(runs: Mapping[str, Run], benchmark: Benchmark, cutoffs: Sequence[date] = CUTOFFS) -> ReportData:
    judged = {name: run.verdicts for name, run in runs.items()}
    summaries = summarise_all(judged, benchmark, BREAKDOWNS, cutoffs)
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
    """What its samples cost, where the folder has them."""
    path = folder / SAMPLES
    return total_usage(record for _, record in read_lines(path)) if path.is_file() else None
