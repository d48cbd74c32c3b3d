"""Tables, reports, and what a run folder holds.

What can be read of a run afterwards, without the program? A page of Markdown: scores, statuses, every verdict.
"""

from dlbench import __version__
from dlbench.reporting.report_data import ReportData, read_usage
from dlbench.reporting.run_names import name_runs
from dlbench.reporting.studies.agreement import study_run
from dlbench.reporting.tables import breakdown, overview, spreads, statuses, to_markdown
from dlbench.runs import Run, open_run, read_run
from dlbench.scoring import BREAKDOWNS

_NOTE = (
    "pass@1 with its 95 % interval: bootstrap over instances, Wilson's where a group is small or went all alike."
    " A `!` counts harness errors in, a `*` sums only the samples that tell."
)


def write_report(standing: ReportData) -> str:
    runs, summaries, benchmark = standing.runs, standing.summaries, standing.benchmark
    lines = ["# DL-Bench report", "", f"dlbench {__version__}, benchmark {benchmark.version}.", ""]
    lines += [line for told in standing.warnings for line in (told, "")]
    lines += ["## Runs", "", *to_markdown(overview(summaries, standing.usages)), "", _NOTE, ""]
    lines += ["## pass@1", "", *to_markdown(breakdown(summaries, BREAKDOWNS)), ""]
    if standing.repeats:
        lines += ["## The same again", "", *to_markdown(spreads(standing.repeats)), ""]
    lines += ["## What became of the answers", "", *to_markdown(statuses(summaries))]
    for name, run in runs.items():
        if isinstance(studied := study_run(run, benchmark), str):
            lines += ["", f"## In other words: {name}", "", studied]
        elif studied:
            lines += ["", f"## In other words: {name}", "", f"For the choice {studied.cost}."]
            lines += ["", studied.fault] if studied.fault else []
            for title, table in studied.tables.items():
                lines += ["", f"### {title.capitalize()}", "", *to_markdown(table)]
    for name, run in runs.items():
        lines += ["", f"## Verdicts: {name}", ""]
        lines += [f"- {key}: {value}" for key, value in run.config.items() if key != "model"]
        headings = ["instance", "sample", "status", "tests passed", "seconds", "memory", "sandbox"]
        lines += ["", *to_markdown((headings, [_tell_verdict(record) for record in run.verdicts]))]
    return "\n".join(lines) + "\n"


def _tell_verdict(record: dict[str, object]) -> list[str]:
    tests = record["tests"]
    outcomes = list(tests.values()) if isinstance(tests, dict) else []
    passed = f"{outcomes.count('passed')} of {len(outcomes)}"
    facts = [str(record["instance"]), str(record["sample"]), str(record["status"]), passed]
    return [*facts, f"{record['seconds']:.1f}", f"{record['memory_mb']:.0f} MB", str(record["sandbox"])]


__all__ = ["Run", "name_runs", "open_run", "read_run", "read_usage", "write_report"]
