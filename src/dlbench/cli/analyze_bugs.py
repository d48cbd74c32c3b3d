"""The commands that ask why candidates fail: bugs, and plant-bugs, which makes failures whose cause is known."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.analyze import PicturesOption, analyze, show, write_pictures
from dlbench.cli.app import BenchmarkOption, Chosen, JsonOption, MemoryOption, SandboxOption, TimeoutOption, command
from dlbench.cli.models import (
    ApiKeyOption,
    BaseUrlOption,
    CommandOption,
    MaxCostOption,
    MaxRequestsOption,
    PricesOption,
    RequestTimeoutOption,
    RetriesOption,
)
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.analysis.bugs.agreement import Measured
    from dlbench.analysis.bugs.evidence import Failure
    from dlbench.analysis.bugs.explain import Explained
    from dlbench.analysis.bugs.llm_judge import Judged
    from dlbench.analysis.bugs.planting.truth import Truth
    from dlbench.dataset import Benchmark
    from dlbench.generation import Limits, ModelOptions

FAILURES = "failures.jsonl"


class Half(StrEnum):
    """Of planted bugs, which to look at."""

    BUILDING = "building"
    MEASURING = "measuring"
    ALL = "all"


HalfOption = Annotated[Half, typer.Option(help="Of planted bugs: the half for writing rules, the one for measuring.")]


@command("bugs", analyze)
def bugs(
    runs: Annotated[list[Path], typer.Argument(help="Run folders; also one that `plant-bugs` wrote.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for bugs.md, failures.jsonl (evidence and reasons) and the judge's votes."),
    ] = None,
    votes: Annotated[
        list[Path] | None,
        typer.Option(help="What people say, JSONL or CSV: run, instance, sample, category, annotator (repeatable)."),
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Also ask this model; named as for `run`. Needs --out.")] = None,
    judge_command: CommandOption = None,
    judge_below: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Ask the judge only where the rules are less confident than this.")
    ] = 1.0,
    base_url: BaseUrlOption = None,
    api_key: ApiKeyOption = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Requests to the judge at once.")] = 4,
    request_timeout: RequestTimeoutOption = 300.0,
    retries: RetriesOption = 6,
    max_requests: MaxRequestsOption = None,
    max_cost: MaxCostOption = None,
    prices: PricesOption = None,
    half: HalfOption = Half.MEASURING,
    references: Annotated[
        bool, typer.Option(help="Compare candidates with references, where they are prepared.")
    ] = True,
    look_up: Annotated[bool, typer.Option(help="Ask the projects' environments which names they have.")] = True,
    benchmark: BenchmarkOption = None,
    pictures: PicturesOption = None,
    json: JsonOption = False,
) -> None:
    """Which kinds of bugs make candidates fail? By rules, a model as judge, people's votes; and how they agree."""
    from dlbench.analysis.bugs.agreement import agree, read_people
    from dlbench.analysis.bugs.explain import Library, explain
    from dlbench.cli.output import counted
    from dlbench.dataset import load
    from dlbench.generation import Limits, ModelOptions
    from dlbench.jsonl import rewrite, write_whole
    from dlbench.reporting.studies import bugs as telling
    from dlbench.runs import make_folder

    if judge_below != 1.0 and not (judge or judge_command):
        raise DLBenchError("there is no judge to ask", where="--judge-below", fix="name one as --judge")
    if (judge or judge_command) and out is None:
        raise DLBenchError("a judge's votes have to be kept", where="--judge", fix="give a folder as --out")
    loaded = load(benchmark)
    failures, truths, notes = read_failures(runs, loaded, half)
    people = read_people(votes or [], failures)
    library = Library(loaded) if references else None
    with counted("explaining", len(failures), every=2.0) as advance:
        found = explain(failures, library, look_up=look_up, on_done=advance)
    lacking = {
        one.failure.instance.project for one in found if any("not prepared" in note for note in one.evidence.notes)
    }
    if references and lacking:
        notes.append(f"NOT COMPARED with references, which are not prepared here: {', '.join(sorted(lacking))}")
    if out is not None:
        make_folder(out)
        rewrite(out / FAILURES, (one.as_record() for one in found))
    raters = {"rules": {one.failure.id: one.by_rules.category for one in found}}
    reasons: dict[str, str] = {}
    if out is not None and (judge or judge_command):
        opening = ModelOptions(base_url, api_key, judge_command, request_timeout, concurrency=concurrency)
        unsure = [one for one in found if judge_below == 1.0 or one.by_rules.confidence < judge_below]
        if not unsure:
            fix = "give a higher --judge-below, or no judge"
            raise DLBenchError("the rules are confident of every failure", where="--judge-below", fix=fix)
        judged = _ask(opening, judge, unsure, out, Limits(max_requests, None, max_cost), prices, retries)
        raters["judge"], reasons = dict(judged.votes), judged.reasons
        if len(unsure) < len(found):
            notes.append(
                f"the judge was asked about {len(unsure)} of {len(found)} failures, those of which the rules are least"
                " sure: its figures, and how far it agrees, are about these alone"
            )
        if judged.unreadable:
            notes.append(f"{judged.unreadable} answers of the judge name no category, and are no votes")
    raters |= {f"person {name}": dict(given) for name, given in people.items()}
    notes += telling.tell_right(raters, {one: truth.category for one, truth in truths.items()})
    by_run: dict[str, list[Explained]] = {}
    for one in found:
        by_run.setdefault(one.failure.run, []).append(one)
    tables = {"kinds of bugs, by the rules": telling.tabulate_bugs(by_run)}
    drawn = telling.draw_bugs(by_run)
    record: dict[str, object] = {"failures": [one.as_record() for one in found]}
    measured = _measure(found, truths)
    if measured is not None:
        tables["planted bugs and what the rules name them"] = telling.tabulate_measured(measured)
        tables["most frequent confusions"] = telling.tabulate_confusions(measured.confusions, ("planted", "named"))
        notes += telling.tell_measured(measured, half)
        drawn |= telling.draw_confusions(measured)
        record["measured"] = measured
    if len(raters) > 1:
        agreement = agree(raters)
        tables["kinds of bugs, by rater"] = telling.tabulate_raters(raters)
        tables["agreement"] = telling.tabulate_agreement(agreement)
        for pair in agreement.pairs:
            if pair.confusions:
                tables[f"{pair.a} and {pair.b}"] = telling.tabulate_confusions(pair.confusions, (pair.a, pair.b))
        record |= {"agreement": agreement, "votes": raters, "judge_reasons": reasons}
    show(tables, notes, record | {"notes": notes} if json else None)
    if out is not None:
        write_whole(out / "bugs.md", telling.write_markdown(tables, notes))
    write_pictures(pictures, drawn)


def read_failures(
    runs: Sequence[Path], benchmark: "Benchmark", half: Half
) -> "tuple[list[Failure], dict[str, Truth], list[str]]":
    """The failures of all runs, what was planted by the failure's id, and what has to be known."""
    from dlbench.analysis.bugs.evidence import gather
    from dlbench.analysis.bugs.planting.truth import PLANTED, read_truths
    from dlbench.jsonl import read_lines
    from dlbench.reporting import name_runs
    from dlbench.runs import SAMPLES, read_run
    from dlbench.runs.samples import parse_samples

    failures: list[Failure] = []
    truths: dict[str, Truth] = {}
    notes: list[str] = []
    for name, run in name_runs([read_run(folder) for folder in runs]).items():
        path, planted = run.folder / SAMPLES, run.folder / PLANTED
        known = read_truths(planted) if planted.is_file() else {}
        lines = (
            [line for line in read_lines(path) if line[1].get("instance") in benchmark.instances]
            if path.is_file()
            else []
        )
        samples = {one.key: one for one in parse_samples(lines, str(path), benchmark)} if lines else {}
        found = gather(name, benchmark, run.verdicts, samples, {key: one.prompt for key, one in known.items()})
        chosen = [one for one in found.failures if not known or half is Half.ALL or known[one.key].half == half]
        failures += chosen
        truths |= {one.id: known[one.key] for one in chosen if one.key in known}
        if not samples:
            notes.append(f"{name}: the folder has no samples, so that only the verdicts' messages speak")
        if found.harness_errors:
            notes.append(f"HARNESS ERRORS: {found.harness_errors} verdicts of {name} are our own fault, and left out")
        if found.unknown:
            notes.append(f"{name}: {found.unknown} verdicts are on instances that the benchmark does not have")
    if not failures:
        fix = "give a run in which some candidate failed, of this benchmark"
        raise DLBenchError("there is no failure to look at", where=", ".join(map(str, runs)), fix=fix)
    return failures, truths, notes


def _measure(found: "Sequence[Explained]", truths: "dict[str, Truth]") -> "Measured | None":
    from dlbench.analysis.bugs.agreement import measure
    from dlbench.analysis.bugs.taxonomy import read_categories

    pairs = [
        ((truth.category, truth.kind), (one.by_rules.category, one.by_rules.kind))
        for one in found
        if (truth := truths.get(one.failure.id)) is not None
    ]
    kinds = {slug: len(category.kinds) for slug, category in read_categories().items()}
    return measure(pairs, kinds) if pairs else None


def _ask(
    opening: "ModelOptions",
    model: str | None,
    found: "list[Explained]",
    out: Path,
    limits: "Limits",
    prices: Path | None,
    retries: int,
) -> "Judged":
    from dlbench.analysis.bugs.llm_judge import ask_judge
    from dlbench.cli.models import make_budget
    from dlbench.cli.output import counted, log

    name = opening.names([model] if model else None)[0]
    if name in ("reference", "stub"):
        raise DLBenchError(f"{name} cannot judge", where="--judge", fix="give a model that answers questions")
    asked = opening.open(name, log=log)
    folder = out / f"judge-{name.replace('/', '_').replace(':', '_')}"
    with counted(f"asking {asked.name}", len(found)) as advance:
        return ask_judge(
            asked,
            found,
            folder,
            concurrency=opening.concurrency,
            budget=make_budget(asked, name, limits, prices),
            retries=retries,
            on_answer=lambda record: advance(str(record["instance"])),
            log=log,
        )


@command("plant-bugs", analyze)
def plant_bugs(
    chosen: Chosen,
    out: Annotated[Path, typer.Option(help="Run folder that gets samples, what was planted, and verdicts.")],
    most: Annotated[int, typer.Option(min=1, help="Bugs of each category in one function, at most.")] = 1,
    seed: Annotated[int, typer.Option(help="Of the draw of bugs and of the two halves.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Candidates judged at once.")] = 1,
    sandbox: SandboxOption = "auto",
    timeout: TimeoutOption = 5.0,
    memory: MemoryOption = 2048,
) -> None:
    """Plant known bugs of every category into references and judge them: failures whose cause is known."""
    from dlbench import __version__
    from dlbench.analysis.bugs.planting.sow import inject_bugs
    from dlbench.analysis.bugs.planting.truth import PLANTED, tell
    from dlbench.cli.engine import make_engine
    from dlbench.cli.output import counted
    from dlbench.cli.report import judge_into
    from dlbench.generation.sources import Sources
    from dlbench.jsonl import rewrite
    from dlbench.runs import SAMPLES, open_run
    from dlbench.runs.samples import read_samples

    engine = make_engine(sandbox, timeout, memory)
    ids = [instance.id for instance in chosen.instances]
    config = {"dlbench": __version__, "benchmark": str(chosen.benchmark.version), "model": "planted bugs"}
    open_run(out, config | {"seed": seed, "most": most, "timeout": timeout, "memory": memory, "instances": ids})
    sources = Sources(chosen.benchmark)
    truths, samples = [], []
    with counted("planting", len(ids), every=2.0) as advance:
        for instance in chosen.instances:
            for number, plant in enumerate(inject_bugs(instance, sources.module(instance), most, seed)):
                truths.append(tell(instance.id, number, plant, seed).as_record())
                samples.append({"instance": instance.id, "sample": number, "code": plant.code})
            advance(instance.id)
    rewrite(out / PLANTED, truths)
    rewrite(out / SAMPLES, samples)
    verdicts = judge_into(chosen.benchmark, read_samples(out / SAMPLES, chosen.benchmark), out, engine, workers)
    failed = sum(not one.passed for one in verdicts)
    typer.echo(f"{failed} of {len(verdicts)} planted bugs are failures in {out}: `dlbench analyze bugs {out}`")
