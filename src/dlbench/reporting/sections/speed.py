"""Report sections of the track `optimise`: speed-ups of each run, of each task, and by size."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from operator import itemgetter
from typing import Any

from dlbench.dataset.labels import Track
from dlbench.dataset.optimise import SIZES, Workload, read_eligible
from dlbench.reporting.charts.bars import draw_counts
from dlbench.reporting.report_data import ReportData
from dlbench.reporting.sections import PAGE, Block, Plot, Table, Text, section
from dlbench.reporting.tables import Columns, Tabled, number, percent, span, tabulate
from dlbench.scoring import speed as speeds
from dlbench.scoring.tally import group_by

Records = Sequence[Mapping[str, Any]]


def tabulate_speeds(runs: Mapping[str, Records]) -> Tabled:
    found = {name: speeds.summarise_speed(records) for name, records in runs.items()}
    columns: Columns[tuple[str, speeds.Speed]] = {
        "run": lambda one: one[0],
        "tasks": lambda one: one[1].tasks,
        "mean log2": lambda one: number(one[1].mean),
        "95 %": lambda one: span(one[1].interval, ".2f", 1),
        "times as fast": lambda one: number(2 ** one[1].mean),
        f"{speeds.FASTER:g} times": lambda one: percent(one[1].faster),
        f"{speeds.MUCH_FASTER:g} times": lambda one: percent(one[1].much_faster),
        f"{speeds.LEANER:g} of the memory": lambda one: percent(one[1].leaner),
        "not measured": lambda one: one[1].unmeasured,
    }
    return tabulate(found.items(), columns)


def tabulate_tasks(runs: Mapping[str, Records], workloads: Mapping[str, Workload]) -> Tabled:
    """One row per task and run: its best sample at every size."""
    pairs = (
        (name, task, max(known, key=speeds.find_gain))
        for name, records in runs.items()
        for task, known in sorted(group_by(records, itemgetter("instance")).items())
    )
    columns: Columns[tuple[str, str, Mapping[str, Any]]] = {
        "instance": lambda one: one[1],
        "run": lambda one: one[0],
        "speed-up": lambda one: _show(one[2].get("speedup")),
        **{size.replace("_", " "): partial(_show_size, size) for size in SIZES},
        "memory": lambda one: _show(one[2].get("memory_ratio")),
        "best known": lambda one: _show_best(workloads.get(one[1])),
        "here": lambda one: _remark(one[2]),
    }
    return tabulate(pairs, columns)


def _show(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.2f}"


def _show_size(size: str, one: tuple[str, str, Mapping[str, Any]]) -> str:
    ratio = one[2].get("sizes", {}).get(size)
    return "n/a" if ratio is None else f"{ratio['value']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"


def _show_best(workload: Workload | None) -> str:
    best = workload.best if workload else None
    return f"{best.speedup:.2f} ({best.found})" if best else "n/a"


def _remark(record: Mapping[str, Any]) -> str:
    if record["status"] != "pass":
        return str(record["status"])
    return str(record.get("cost_message") or record.get("contradiction") or "")


def describe_differences(gains: Mapping[str, Mapping[str, float]]) -> list[str]:
    """One sentence for each pair of runs. `gains`: by run and instance."""
    lines = []
    for one, other in combinations(gains, 2):
        tasks, difference, interval = speeds.compare_gains(gains[one], gains[other])
        shown = f"{number(difference, '+.2f')} ({span(interval, '.2f', 1)})"
        lines.append(f"{one} against {other}, {tasks} tasks: difference of mean log2 speed-ups {shown}")
    return lines


@section("speed", "Speed-ups", order=5)
def speed(data: ReportData) -> list[Block]:
    if data.benchmark.track is not Track.OPTIMISE:
        return []
    note = (
        "Processor time of the reference divided by that of the answer, on inputs of the held-out size; a slowdown on"
        " inputs of the recorded size is multiplied in. An answer that fails or is slower counts as 1."
    )
    runs = {name: run.verdicts for name, run in data.runs.items()}
    gains = {name: speeds.find_gains(records) for name, records in runs.items()}
    by_task = tabulate_tasks(runs, read_eligible(data.benchmark.root))
    tasks = Table(by_task, "Speed-ups by task and size, with 95 % intervals")
    return [Table(tabulate_speeds(runs), "Speed-ups"), Text(note), tasks, *map(Text, describe_differences(gains))]


@section("speed-plots", "Speed-ups by task and by size", order=6, formats=(PAGE,))
def speed_plots(data: ReportData) -> list[Block]:
    if data.benchmark.track is not Track.OPTIMISE:
        return []
    plots = []
    for name, run in data.runs.items():
        groups = group_by(run.verdicts, itemgetter("instance"))
        best = {task: max(known, key=speeds.find_gain) for task, known in groups.items()}
        by_task = {task: round(2 ** speeds.find_gain(one), 2) for task, one in best.items()}
        plots.append(Plot(draw_counts(f"Times as fast, {name}", by_task), f"Speed-up of each task, {name}"))
        seconds = {size: _average([one for one in best.values() if "sizes" in one], size) for size in SIZES}
        plots.append(Plot(draw_counts(f"Milliseconds by size, {name}", seconds), f"Cost by size, {name}"))
    return [plots]


def _average(records: Records, size: str) -> float:
    """Milliseconds of the answers; the geometric mean would hide that time grows."""
    found = [1000 * one["sizes"][size]["seconds"] / one["sizes"][size]["value"] for one in records]
    return round(sum(found) / len(found), 1) if found else 0.0
