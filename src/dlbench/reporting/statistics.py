"""The statistics of a run: one registered descriptor per figure, in the order of all tables and exports."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dlbench.registry import Registry
from dlbench.reporting.tables import Tabled, format_usage, percent, span
from dlbench.scoring import Interval, Score, Summary, Usage
from dlbench.scoring.intervals import NOTHING
from dlbench.scoring.summary import KS


@dataclass(frozen=True)
class Subject:
    """What a statistic is computed from: a group of instances of one run, and the whole run."""

    score: Score
    summary: Summary
    usage: Usage | None


@dataclass(frozen=True)
class Statistic:
    heading: str
    """Of its row in the overview. Two leading spaces mark a detail of the row above; an empty one shows no row."""
    compute: Callable[[Subject], float | str | Interval]
    format: Callable[[Any], str] = str
    columns: tuple[str, ...] = ()
    """Of scores.csv: one for a number; low, high and perhaps kind for an interval; none leaves it out."""
    page: str = ""
    """Heading of its column in the page's table of runs; empty leaves it out."""
    is_optional: bool = False
    """Hidden where no run has a value."""

    def cell(self, subject: Subject) -> str:
        return self.format(self.compute(subject))

    def is_shown(self, subjects: Iterable[Subject]) -> bool:
        return not self.is_optional or any(self.cell(subject) != "n/a" for subject in subjects)

    def export(self, subject: Subject) -> dict[str, object]:
        value = self.compute(subject)
        values = (value.low, value.high, value.kind) if isinstance(value, Interval) else (value,)
        return dict(zip(self.columns, values, strict=False))


STATISTICS: Registry[Statistic] = Registry("statistic")
_INTERVAL = "  95 % interval"

add = STATISTICS.add
add("instances", Statistic("instances", lambda one: one.score.instances, str, ("instances",), "instances"))
add("samples", Statistic("samples", lambda one: one.score.samples, str, ("samples",), "samples"))
add("pass_at_1", Statistic("pass@1", lambda one: one.score.pass_at_1, percent, ("pass_at_1",), "pass@1"))
add("interval", Statistic(_INTERVAL, lambda one: one.score.interval, span, ("low", "high", "interval"), "95 %"))
_CLUSTERED = "projects resampled"
_ENDS = ("clustered_low", "clustered_high")
add("clustered", Statistic(f"  {_CLUSTERED}", lambda one: one.score.clustered, span, _ENDS, _CLUSTERED))
_PLUS = "pass@1+"
add("plus", Statistic(_PLUS, lambda one: one.score.plus, percent, ("pass_at_1_plus",), _PLUS, is_optional=True))
_RATE = "tests passed"
add("rate", Statistic(f"{_RATE}, on average", lambda one: one.score.passing_rate, percent, ("tests_passed",), _RATE))
add("rate_interval", Statistic(_INTERVAL, lambda one: one.summary.rate_interval, span))
_ENDS = ("tests_passed_low", "tests_passed_high")
add("rate_clustered", Statistic("  by project", lambda one: one.score.rate_clustered, span, _ENDS))


def _add_pass_at(k: int) -> None:
    name = f"pass_at_{k}"
    share = Statistic(f"pass@{k}", lambda one: one.score.pass_at.get(k, math.nan), percent, (name,), is_optional=True)
    ends, find = (f"{name}_low", f"{name}_high"), lambda one: one.score.pass_at_interval.get(k, NOTHING)
    add(name, share)
    add(f"{name}_interval", Statistic(_INTERVAL, find, span, ends, is_optional=True))


for _k in KS[1:]:
    _add_pass_at(_k)


def _add_usage(name: str, heading: str, place: int) -> None:
    add(name, Statistic(heading, lambda one: format_usage(one.usage, per_sample=True)[place], is_optional=True))


_add_usage("prompt_tokens", "prompt tokens per sample", 0)
_add_usage("completion_tokens", "completion tokens per sample", 1)
_add_usage("cost", "cost of the run", 2)
add("harness_errors", Statistic("", lambda one: one.score.harness_errors, columns=("harness_errors",)))


def tabulate_statistics(subjects: Mapping[str, Subject], names: Iterable[str] | None = None) -> Tabled:
    """One row per statistic, one column per run. `names`: of the statistics; all by default."""
    rows = []
    for name in STATISTICS if names is None else names:
        one = STATISTICS[name]
        if one.heading and one.is_shown(subjects.values()):
            rows.append([one.heading, *(one.cell(subject) for subject in subjects.values())])
    return ["", *subjects], rows
