"""Report sections of tasks of many files: the share of hidden tests by size, and for each task."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from dlbench.dataset.file_task import FileTask
from dlbench.reporting.report_data import ReportData
from dlbench.reporting.sections import Block, Table, Text, section
from dlbench.reporting.tables import Tabled, breakdown, percent, render_label, share_cell
from dlbench.scoring import Tally
from dlbench.scoring.tally import group_by


def tabulate_shares(data: ReportData) -> Tabled:
    return breakdown(data.summaries, ["size"], share_cell)


def tabulate_tasks(data: ReportData) -> Tabled:
    """One row per task by size; for each run the share of hidden tests and the status, or how many attempts pass."""
    judged = {one for tallies in data.tallies.values() for one in tallies}
    records = [one for one in data.benchmark.instances.values() if isinstance(one, FileTask) and one.id in judged]
    found = {name: group_by(run.verdicts, itemgetter("instance")) for name, run in data.runs.items()}
    rows = []
    for one in sorted(records, key=lambda one: one.lines):
        cells = [_describe(tallies.get(one.id), found[name].get(one.id, ())) for name, tallies in data.tallies.items()]
        rows.append([one.id, f"{one.lines:,}", str(len(one.hidden)), *cells])
    return ["task", "lines", "hidden tests", *data.tallies], rows


def _describe(tally: Tally | None, attempts: Sequence[Mapping[str, Any]]) -> str:
    if tally is None:
        return "n/a"
    result = render_label(attempts[0]["status"]) if len(attempts) == 1 else f"{tally.passed} of {len(attempts)} pass"
    return f"{percent(tally.rate)}, {result}"


@section("shares", "Hidden tests passed", order=20, on_functions=False)
def shares(data: ReportData) -> list[Block]:
    note = (
        "The mean share of hidden tests passed, with its 95 % interval by project: projects resampled, or Wilson's of"
        " as many projects where there are few tasks. pass@1 is the share of attempts that pass every hidden test."
    )
    return [Table(tabulate_shares(data), "Hidden tests passed, by lines to write"), Text(note)]


@section("tasks", "Tasks", order=21, on_functions=False)
def tasks(data: ReportData) -> list[Block]:
    return [Table(tabulate_tasks(data), "Hidden tests passed, and status, by task")]
