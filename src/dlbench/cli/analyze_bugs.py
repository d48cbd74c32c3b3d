"""The command `analyze bugs`: which kinds of bugs make candidates fail."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench import dataset
from dlbench.cli import models
from dlbench.cli.analyze import StudyOutput, analyze
from dlbench.cli.app import BenchmarkOption, command
from dlbench.cli.output import counted, log
from dlbench.errors import DLBenchError
from dlbench.jsonl import read_lines, rewrite, write_whole
from dlbench.runs import SAMPLES, make_folder, read_run

if TYPE_CHECKING:
    from dlbench.analysis.bugs.evidence import Failure
    from dlbench.analysis.bugs.explain import Explanation
    from dlbench.analysis.bugs.llm_judge import JudgeVotes
    from dlbench.generation import ModelOptions

FAILURES = "failures.jsonl"


@command("bugs", analyze)
def bugs(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    output: StudyOutput,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for bugs.md, failures.jsonl (evidence and reasons) and the judge's votes."),
    ] = None,
    votes: Annotated[
        list[Path] | None,
        typer.Option(help="People's votes, JSONL or CSV: run, instance, sample, category, annotator (repeatable)."),
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Also ask this model, named as for `run`. Requires --out.")] = None,
    judge_command: models.CommandOption = None,
    judge_below: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Ask the judge only if the rules' confidence is below this.")
    ] = 1.0,
    base_url: models.BaseUrlOption = None,
    api_key: models.ApiKeyOption = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Concurrent requests to the judge.")] = 4,
    request_timeout: models.RequestTimeoutOption = 300.0,
    retries: models.RetriesOption = 6,
    max_requests: models.MaxRequestsOption = None,
    max_cost: models.MaxCostOption = None,
    prices: models.PricesOption = None,
    references: Annotated[
        bool, typer.Option(help="Read the modules around candidates, if their projects are prepared.")
    ] = True,
    look_up: Annotated[bool, typer.Option(help="Query the projects' environments for missing names.")] = True,
    benchmark: BenchmarkOption = None,
) -> None:
    """Classify the bugs that make candidates fail: by rules, an LLM judge and people's votes; measure agreement."""
    from dlbench.analysis.bugs.agreement import measure_agreement, read_votes
    from dlbench.analysis.bugs.explain import ProjectModules, explain
    from dlbench.generation import ModelOptions
    from dlbench.reporting.studies import bugs as study

    if judge_below != 1.0 and not (judge or judge_command):
        raise DLBenchError("--judge-below requires a judge", fix="name one as --judge")
    if (judge or judge_command) and out is None:
        raise DLBenchError("--judge requires a folder for its votes", fix="give a folder as --out")
    loaded = dataset.load(benchmark)
    failures, notes = read_failures(runs, loaded)
    people = read_votes(votes or [], failures)
    with counted("explaining", len(failures), every=2.0) as advance:
        found = explain(failures, ProjectModules(loaded) if references else None, look_up=look_up, on_done=advance)
    unprepared = {
        one.failure.instance.project for one in found if any("not prepared" in note for note in one.evidence.notes)
    }
    if references and unprepared:
        notes.append(f"NOT PREPARED, so module names are unknown: {', '.join(sorted(unprepared))}")
    if out is not None:
        make_folder(out)
        rewrite(out / FAILURES, (one.as_record() for one in found))
    raters = {"rules": {one.failure.id: one.by_rules.category for one in found}}
    reasons: dict[str, str] = {}
    if out is not None and (judge or judge_command):
        opening = ModelOptions(base_url, api_key, judge_command, request_timeout, concurrency=concurrency)
        unsure = [one for one in found if judge_below == 1.0 or one.by_rules.confidence < judge_below]
        if not unsure:
            what = f"the rules' confidence is at least {judge_below:g} for every failure"
            raise DLBenchError(what, where="--judge-below", fix="give a higher value, or no judge")
        budget = models.BudgetOptions(max_requests, None, max_cost, prices)
        judged = _ask(opening, judge, unsure, out, budget, retries)
        raters["judge"], reasons = dict(judged.votes), judged.reasons
        if len(unsure) < len(found):
            notes.append(
                f"the judge rated {len(unsure)} of {len(found)} failures, those of which the rules are least sure;"
                " its figures and its agreement cover these only"
            )
        if judged.unreadable:
            notes.append(f"{judged.unreadable} answers of the judge name no category and are not counted")
    raters |= {f"person {name}": dict(rated) for name, rated in people.items()}
    by_run: dict[str, list[Explanation]] = {}
    for one in found:
        by_run.setdefault(one.failure.run, []).append(one)
    tables = {"kinds of bugs, by the rules": study.tabulate_bugs(by_run)}
    record: dict[str, object] = {"failures": [one.as_record() for one in found]}
    if len(raters) > 1:
        agreement = measure_agreement(raters)
        tables["kinds of bugs, by rater"] = study.tabulate_raters(raters)
        tables["agreement"] = study.tabulate_agreement(agreement)
        for pair in agreement.pairs:
            if pair.confusions:
                tables[f"{pair.a} and {pair.b}"] = study.tabulate_confusions(pair.confusions, (pair.a, pair.b))
        record |= {"agreement": agreement, "votes": raters, "judge_reasons": reasons}
    output.show(tables, notes, record | {"notes": notes}, study.draw_bugs(by_run))
    if out is not None:
        write_whole(out / "bugs.md", study.write_markdown(tables, notes))


def read_failures(runs: Sequence[Path], benchmark: "dataset.Benchmark") -> "tuple[list[Failure], list[str]]":
    """The failures of all runs, and notes on what is left out."""
    from dlbench.analysis.bugs.evidence import find_failures
    from dlbench.reporting import name_runs
    from dlbench.runs.samples import parse_samples

    failures: list[Failure] = []
    notes: list[str] = []
    for name, run in name_runs([read_run(folder) for folder in runs]).items():
        path = run.folder / SAMPLES
        lines = list(read_lines(path)) if path.is_file() else []
        lines = [line for line in lines if line[1].get("instance") in benchmark.instances]
        samples = {one.key: one for one in parse_samples(lines, str(path), benchmark)} if lines else {}
        found = find_failures(name, benchmark, run.verdicts, samples)
        failures += found.failures
        if not samples:
            notes.append(f"{name}: the folder has no samples; only the messages of the verdicts are used")
        if found.harness_errors:
            notes.append(f"HARNESS ERRORS: {found.harness_errors} verdicts of {name} are left out")
        if found.unknown:
            notes.append(f"{name}: {found.unknown} verdicts are on instances that the benchmark does not have")
    if not failures:
        fix = "give a run of this benchmark in which some candidate failed"
        raise DLBenchError("there are no failures", where=", ".join(map(str, runs)), fix=fix)
    return failures, notes


def _ask(
    opening: "ModelOptions",
    model: str | None,
    found: "list[Explanation]",
    out: Path,
    budget: models.BudgetOptions,
    retries: int,
) -> "JudgeVotes":
    from dlbench.analysis.bugs.llm_judge import ask_judge

    name = opening.names([model] if model else None)[0]
    if name in ("reference", "stub"):
        raise DLBenchError(f"{name} cannot judge", where="--judge", fix="give a model that answers questions")
    opened = opening.open(name, log=log)
    folder = out / f"judge-{name.replace('/', '_').replace(':', '_')}"
    with counted(f"asking {opened.name}", len(found)) as advance:
        return ask_judge(
            opened,
            found,
            folder,
            concurrency=opening.concurrency,
            budget=budget.open(opened, name),
            retries=retries,
            on_answer=lambda record: advance(str(record["instance"])),
            log=log,
        )
