"""What can be read of a run afterwards, without the program? A page of Markdown: scores, statuses, every verdict."""

from dlbench import __version__
from dlbench.dataset import Benchmark
from dlbench.reporting.runs import Run
from dlbench.reporting.tables import find_score, percent, score_rows
from dlbench.scoring import summarise


def write_report(runs: list[Run], benchmark: Benchmark) -> str:
    summaries = {run.name: summarise(run.verdicts, benchmark) for run in runs}
    names = list(summaries)
    lines = ["# DL-Bench report", "", f"dlbench {__version__}, benchmark {benchmark.version}.", "", "## pass@1", ""]
    lines += _table(["axis", "label", "instances", *names])
    for axis, label in score_rows(summaries):
        cells = [find_score(summary, axis, label) for summary in summaries.values()]
        lines.append(_row([axis, label, str(max(n for n, _ in cells)), *(percent(value) for _, value in cells)]))
    rates = ", ".join(f"{name} {percent(summary.overall.passing_rate)}" for name, summary in summaries.items())
    lines += ["", f"Average passing rate (share of tests passed): {rates}.", "", "## What became of the answers", ""]
    lines += _table(["status", *names])
    for status in dict.fromkeys(status for summary in summaries.values() for status in summary.statuses):
        lines.append(_row([status, *(str(summary.statuses.get(status, 0)) for summary in summaries.values())]))
    for run in runs:
        lines += ["", f"## Verdicts: {run.name}", ""]
        lines += [f"- {key}: {value}" for key, value in run.config.items() if key != "model"]
        lines += ["", *_table(["instance", "sample", "status", "tests passed", "seconds", "memory", "sandbox"])]
        for record in run.verdicts:
            outcomes = list(record["tests"].values())
            passed = f"{outcomes.count('passed')} of {len(outcomes)}"
            facts = [record["instance"], str(record["sample"]), record["status"], passed]
            lines.append(_row([*facts, f"{record['seconds']:.1f}", f"{record['memory_mb']:.0f} MB", record["sandbox"]]))
    return "\n".join(lines) + "\n"


def _table(headings: list[str]) -> list[str]:
    return [_row(headings), _row(["---"] * len(headings))]


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
