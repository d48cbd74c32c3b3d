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
    from dlbench.analysis.bugs import Failure
    from dlbench.analysis.bugs.agreement import Votes
    from dlbench.analysis.bugs.llm_judge import JudgeVotes
    from dlbench.generation import ModelOptions

FAILURES = "failures.jsonl"


@command("bugs", analyze)
def bugs(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    output: StudyOutput,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for bugs.md, failures.jsonl (categories and reasons) and the judge's votes."),
    ] = None,
    votes: Annotated[
        list[Path] | None,
        typer.Option(help="People's votes, JSONL or CSV: run, instance, sample, category, annotator (repeatable)."),
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Also ask this model, named as for `run`. Requires --out.")] = None,
    judge_command: models.CommandOption = None,
    judge_examples: Annotated[
        int, typer.Option(min=0, help="Failures rated in --votes that the judge sees as examples, at most.")
    ] = 8,
    base_url: models.BaseUrlOption = None,
    api_key: models.ApiKeyOption = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Concurrent requests to the judge.")] = 4,
    request_timeout: models.RequestTimeoutOption = 300.0,
    retries: models.RetriesOption = 6,
    max_requests: models.MaxRequestsOption = None,
    max_cost: models.MaxCostOption = None,
    prices: models.PricesOption = None,
    benchmark: BenchmarkOption = None,
) -> None:
    """Classify the bugs that make candidates fail: by rules, an LLM judge and people's votes; measure agreement."""
    from dlbench.analysis.bugs import classify
    from dlbench.analysis.bugs.agreement import find_majority, measure_agreement, read_votes
    from dlbench.generation import ModelOptions
    from dlbench.reporting.studies import candidates as study

    if (judge or judge_command) and out is None:
        raise DLBenchError("--judge requires a folder for its votes", fix="give a folder as --out")
    failures, notes = read_failures(runs, dataset.load(benchmark))
    people = read_votes(votes or [], failures)
    by_rules = {one.id: found for one in failures if (found := classify(one))}
    raters: dict[str, Votes] = {"rules": {failure: found.category for failure, found in by_rules.items()}}
    reasons = {failure: found.reason for failure, found in by_rules.items()}
    main = "rules"
    if out is not None:
        make_folder(out)
    if out is not None and (judge or judge_command):
        opening = ModelOptions(base_url, api_key, judge_command, request_timeout, concurrency=concurrency)
        budget = models.BudgetOptions(max_requests, None, max_cost, prices)
        rated = find_majority(people.values())
        judged = _ask(opening, judge, failures, out, budget, retries, rated, judge_examples)
        main = "judge"
        raters |= {"judge": judged.votes, "judge, where certain": judged.certain}
        reasons = judged.reasons
        if judged.unreadable:
            notes.append(f"{judged.unreadable} answers of the judge name no category and are not counted")
    raters |= {f"person {name}": rated for name, rated in people.items()}
    chosen = raters[main]
    records = [_make_record(one, chosen.get(one.id, ""), reasons.get(one.id, "")) for one in failures]
    if out is not None:
        rewrite(out / FAILURES, records)
    silent = len(failures) - len(raters["rules"])
    if main == "rules" and silent:
        notes.append(
            f"{silent} of {len(failures)} failures are not classified: no rule agrees with people on them."
            " Give a model as --judge to classify all"
        )
    by_run: dict[str, list[str]] = {}
    for one in failures:
        by_run.setdefault(one.run, []).append(chosen.get(one.id, ""))
    tables = {f"kinds of bugs, by the {main}": study.tabulate_bugs(by_run)}
    record: dict[str, object] = {"failures": records}
    if len(raters) > 1:
        agreement = measure_agreement(raters)
        tables["kinds of bugs, by rater"] = study.tabulate_raters(raters)
        tables["agreement"] = study.tabulate_agreement(agreement)
        for pair in agreement.pairs:
            if pair.confusions:
                tables[f"{pair.a} and {pair.b}"] = study.tabulate_confusions(pair.confusions, (pair.a, pair.b))
        record |= {"agreement": agreement, "votes": raters}
    output.show(tables, notes, record | {"notes": notes}, study.draw_bugs(by_run))
    if out is not None:
        write_whole(out / "bugs.md", study.write_markdown(tables, notes))


def _make_record(failure: "Failure", category: str, reason: str) -> dict[str, object]:
    return {
        "run": failure.run,
        "instance": failure.instance.id,
        "sample": failure.verdict["sample"],
        "category": category or None,
        "reason": reason,
        "status": failure.verdict["status"],
        "message": failure.message,
    }


def read_failures(runs: Sequence[Path], benchmark: "dataset.Benchmark") -> "tuple[list[Failure], list[str]]":
    """The failures of all runs, and notes on what is left out."""
    from dlbench.analysis.bugs import find_failures
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
    failures: "Sequence[Failure]",
    out: Path,
    budget: models.BudgetOptions,
    retries: int,
    rated: "Votes",
    max_examples: int,
) -> "JudgeVotes":
    from dlbench.analysis.bugs.llm_judge import ask_judge

    name = opening.names([model] if model else None)[0]
    if name in ("reference", "stub"):
        raise DLBenchError(f"{name} cannot judge", where="--judge", fix="give a model that answers questions")
    opened = opening.open(name, log=log)
    folder = out / f"judge-{name.replace('/', '_').replace(':', '_')}"
    with counted(f"asking {opened.name}", len(failures)) as advance:
        return ask_judge(
            opened,
            failures,
            folder,
            rated=rated,
            max_examples=max_examples,
            concurrency=opening.concurrency,
            budget=budget.open(opened, name),
            retries=retries,
            on_answer=lambda record: advance(str(record["instance"])),
            log=log,
        )
