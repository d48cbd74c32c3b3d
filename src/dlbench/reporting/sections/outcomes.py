"""Report sections of outcomes: statuses, repair rounds, overlap between runs, prompt variants, and every verdict."""

from typing import Any

from dlbench.dataset.tracks import has_functions
from dlbench.jsonl import read_lines
from dlbench.reporting.charts import rect
from dlbench.reporting.charts.bars import draw_mix
from dlbench.reporting.charts.heatmap import Cell, draw_grid
from dlbench.reporting.report_data import ReportData
from dlbench.reporting.sections import MARKDOWN, PAGE, Block, Legend, Plot, SideBySide, Table, Text, section
from dlbench.reporting.sections.scores import MOST_BESIDE
from dlbench.reporting.tables import Tabled, number, percent, render_label, span, statuses, tabulate
from dlbench.runs import AGREEMENT, SAMPLES, Run
from dlbench.runs.verdict import Status
from dlbench.scoring import summarise
from dlbench.scoring.compare import find_overlaps

_LONGEST = 20
_CAPTIONS = ("pass@1 in percent, by who chooses", "pass@1 in percent, by operator", "percent of variants, by effect")


@section("statuses", "Outcomes", order=60)
def outcomes(data: ReportData) -> list[Block]:
    known = [str(status) for status in Status if any(status in each.statuses for each in data.summaries.values())]
    counts = {name: {status: each.statuses.get(status, 0) for status in known} for name, each in data.summaries.items()}
    plot = Plot(draw_mix("Statuses of the verdicts by run", counts), "Share of each status")
    table = Table(statuses(data.summaries), "Verdicts by status", has_labels=True)
    keys = [(rect(-6, -6, 12, 12, kind=f"status {status}"), render_label(status)) for status in known]
    return [Legend(keys), SideBySide(plot, table, len(data.names) > MOST_BESIDE)]


@section("agreement", "Agreement between runs", order=80, formats=(PAGE,))
def overlap(data: ReportData) -> list[Block]:
    if len(data.names) < 2:
        return []
    places = {name: str(place + 1) for place, name in enumerate(data.names)}
    rows = {name: f"{place} {name}" for name, place in places.items()}
    rows = {name: row if len(row) <= _LONGEST else row[: _LONGEST - 1] + "…" for name, row in rows.items()}
    cells: dict[tuple[str, str], Cell] = {}
    for (a, b), found in find_overlaps(data.tallies).items():
        tip = (
            f"{a} and {b}: the same outcome on {percent(found.share)} of {found.instances}; both solve {found.both},"
            f" only the first {found.only_a}, only the second {found.only_b}, neither {found.neither};"
            f" kappa {number(found.kappa)}"
        )
        # each pair twice: the share below the diagonal, kappa above it
        cells[rows[b], places[a]] = Cell(found.share, tip)
        cells[rows[a], places[b]] = Cell(found.kappa, tip)
    grid = draw_grid("Agreement between runs", list(rows.values()), list(places.values()), cells, slant=False)
    note = (
        "Below the diagonal: percent of the instances on which two runs have the same outcome, both solving it or both"
        " failing. Above it: Cohen's kappa in percent, which is 0 for the agreement expected by chance."
    )
    return [Plot(grid, "Do two runs solve the same instances?"), Text(note)]


@section("wordings", "Prompt variants", order=90, on_functions=True)
def prompt_variants(data: ReportData) -> list[Block]:
    chosen = {name: run for name, run in data.runs.items() if (run.folder / AGREEMENT).is_dir()}
    if not chosen:
        return []
    from dlbench.reporting.studies.agreement import study_run  # takes half a second

    assert has_functions(data.benchmark)
    blocks: list[Block] = []
    for name, run in chosen.items():
        studied = study_run(run, data.benchmark)
        if isinstance(studied, str):
            blocks += [Text(name, "heading"), Text(studied, "warning")]
        elif studied is not None:
            blocks += [Text(name, "heading"), Text(f"For the choice {studied.cost}.")]
            blocks += [Text(studied.fault, "warning")] if studied.fault else []
            blocks.append([Plot(*each) for each in zip(studied.grids.values(), _CAPTIONS, strict=True)])
            blocks += [Table(table, title.capitalize(), is_folded=True) for title, table in studied.tables.items()]
    return blocks


@section("verdicts", "Verdicts", order=110, formats=(MARKDOWN,))
def verdicts(data: ReportData) -> list[Block]:
    blocks: list[Block] = []
    for name, run in data.runs.items():
        hidden = {"model", "endpoint"}  # the heading has the model; the address is private, and reports are shared
        settings = "\n".join(f"- {key}: {value}" for key, value in run.config.items() if key not in hidden)
        content = tabulate(run.verdicts, {
            "instance": lambda one: one["instance"],
            "sample": lambda one: one["sample"],
            "status": lambda one: one["status"],
            "tests passed": _count_passed,
            "seconds": lambda one: f"{one['seconds']:.1f}",
            "memory": lambda one: f"{one['memory_mb']:.0f} MB",
            "sandbox": lambda one: one["sandbox"],
        })  # fmt: skip
        blocks += [Text(name, "heading"), Text(settings), Table(content, "Verdicts")]
    return blocks


def _count_passed(record: dict[str, Any]) -> str:
    outcomes = list(record["tests"].values())
    return f"{outcomes.count('passed')} of {len(outcomes)}"


def read_rounds(run: Run) -> list[tuple[int, list[dict[str, Any]]]]:
    """By round, the first answer being round 0: its number of answers, and the verdicts that then hold."""
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
    for place in range(rounds + 1):
        before = [(verdict, earlier.get((verdict["instance"], verdict["sample"]), [])) for verdict in run.verdicts]
        answers = sum(len(turns) >= place for _, turns in before)
        found.append((answers, [one | turns[place] if place < len(turns) else one for one, turns in before]))
    return found


def tabulate_rounds(data: ReportData) -> Tabled:
    rows = []
    for name, run in data.runs.items():
        for place, (answers, verdicts) in enumerate(read_rounds(run)):
            score = summarise(verdicts, data.benchmark, ()).overall
            rows.append([name, str(place), str(answers), percent(score.pass_at_1), span(score.interval)])
    return ["run", "round", "answers", "pass@1", "95 % interval"], rows


@section("rounds", "Repair rounds", order=55)
def repair_rounds(data: ReportData) -> list[Block]:
    table = tabulate_rounds(data)
    note = "Round 0 is the first answer. Later rounds saw test results: compare them only with such runs."
    return [Table(table, "Score after each round"), Text(note)] if table[1] else []
