"""Report section of runs with the technique `repair`: the score after each round."""

from typing import Any

from dlbench.jsonl import read_lines
from dlbench.reporting.formatting import percent, span
from dlbench.reporting.report_data import ReportData
from dlbench.reporting.sections import Block, Table, Text, section
from dlbench.reporting.tables import Tabled
from dlbench.runs import SAMPLES, Run
from dlbench.scoring import summarise


def read_rounds(run: Run) -> list[tuple[int, list[dict[str, Any]]]]:
    """For each round, the number of answers in it, and the verdicts after it: a sample that is not answered again keeps
    its verdict. Round 0 is the first answer."""
    rounds, path = run.config.get("repair_rounds"), run.folder / SAMPLES
    if not isinstance(rounds, int) or not path.is_file():
        return []
    earlier = {
        (record["instance"], record["sample"]): [
            turn["verdict"] for turn in record.get("earlier_turns", ()) if "verdict" in turn
        ]
        for _, record in read_lines(path)
    }
    found = []
    for number in range(rounds + 1):
        before = [(verdict, earlier.get((verdict["instance"], verdict["sample"]), [])) for verdict in run.verdicts]
        answers = sum(len(turns) >= number for _, turns in before)
        found.append((answers, [one | turns[number] if number < len(turns) else one for one, turns in before]))
    return found


def tabulate_rounds(data: ReportData) -> Tabled:
    rows = []
    for name, run in data.runs.items():
        for number, (answers, verdicts) in enumerate(read_rounds(run)):
            score = summarise(verdicts, data.benchmark, ()).overall
            rows.append([name, str(number), str(answers), percent(score.pass_at_1), span(score.interval)])
    return ["run", "round", "answers", "pass@1", "95 % interval"], rows


@section("rounds", "Repair rounds", order=55)
def repair_rounds(data: ReportData) -> list[Block]:
    table = tabulate_rounds(data)
    note = "Round 0 is the first answer. Later rounds saw test results: compare them only with such runs."
    return [Table(table, "Score after each round"), Text(note)] if table[1] else []
