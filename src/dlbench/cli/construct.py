"""Commands that make instances out of projects: one for each step, and `run` for all of them."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench import dataset
from dlbench.cli import (  # noqa: F401 - they register
    construct_files,
    construct_label,
    construct_optimise,
    construct_releases,
)
from dlbench.cli.app import DAYS, Chosen, JsonOption, SandboxOption, WorkerOptions, WorkersOption, command
from dlbench.cli.construct_common import (
    WORK,
    ProjectOptions,
    WorkOption,
    construct,
    make_construction_engine,
    need_construction,
    report_failures,
)
from dlbench.cli.output import counted, log, print_json
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.construction.pipeline import Pipeline
    from dlbench.construction.project_spec import ProjectSpec

MostOption = Annotated[int | None, typer.Option(min=1, help="Maximum number of functions of a project.")]
SecondsOption = Annotated[
    float, typer.Option("--trace-seconds", min=1, help="Time limit for all tests of a project together.")
]


@command("collect", construct)
def collect(chosen: ProjectOptions, sandbox: SandboxOption = "auto") -> None:
    """Fetch the projects' newest releases, build their environments, and collect their tests (step 3)."""

    def do(pipeline: "Pipeline") -> str:
        pipeline.collect()
        tests, left_out = (len(pipeline.work.read(step, pipeline.name)) for step in ("collected", "uncollected"))
        return f"{tests} tests; {left_out} files not collected"

    chosen.run_step(WorkerOptions(1, sandbox=sandbox), do)


@command("trace", construct)
def trace(
    chosen: ProjectOptions,
    seconds: SecondsOption = 600.0,
    workers: WorkersOption = None,
    sandbox: SandboxOption = "auto",
) -> None:
    """Run each test once and record which functions it executes (step 4)."""

    def do(pipeline: "Pipeline") -> str:
        pipeline.trace(seconds)
        found = pipeline.read_trace()
        passed = sum(test.outcome == "passed" for test in found.tests)
        return f"{len(found.tests)} tests ran, {passed} passed; {len(found.functions)} functions ran"

    chosen.run_step(WorkerOptions(workers, sandbox=sandbox), do)


@command("extract", construct)
def extract(
    chosen: ProjectOptions,
    dates: Annotated[
        bool, typer.Option("--dates", help="Search earlier releases for the date when each appeared.")
    ] = False,
    sandbox: SandboxOption = "auto",
) -> None:
    """List every function that ran: file, qualified name, lines, hash, signature (step 5)."""

    def do(pipeline: "Pipeline") -> str:
        pipeline.extract(dates=dates)
        found, left_out = (len(pipeline.work.read(step, pipeline.name)) for step in ("functions", "extract_left_out"))
        return f"{found} functions; {left_out} left out"

    chosen.run_step(WorkerOptions(1, sandbox=sandbox), do)


@command("screen", construct)
def screen(chosen: ProjectOptions, sandbox: SandboxOption = "auto") -> None:
    """Decide which functions can become instances, with the reason for the others (step 6)."""

    def do(pipeline: "Pipeline") -> str:
        pipeline.screen()
        counts = Counter(row["reason"] or "kept" for row in pipeline.work.read("screened", pipeline.name))
        reasons = ", ".join(f"{reason} {count}" for reason, count in counts.most_common() if reason != "kept")
        return f"{counts['kept']} of {counts.total()} functions are kept; left out: {reasons or 'none'}"

    chosen.run_step(WorkerOptions(1, sandbox=sandbox), do)


@command("draft", construct)
def draft(
    chosen: ProjectOptions,
    model: Annotated[
        str, typer.Option(help="Model that writes the drafts: embedded, or one behind --base-url.")
    ] = "embedded",
    base_url: Annotated[str | None, typer.Option(help="An OpenAI-compatible endpoint.")] = None,
    api_key: Annotated[str | None, typer.Option(help="API key; prefer the environment (docs/models.md).")] = None,
    most: MostOption = None,
    sandbox: SandboxOption = "auto",
) -> None:
    """Let a model draft prompts for admissible functions, for a person to rewrite (step 7)."""
    from dlbench.construction.labelling.catalogue import draft_project
    from dlbench.generation import EmbeddedModel, OpenAIModel, RateLimiter

    async def draft_all() -> None:
        opened = EmbeddedModel(1, log, 0) if model == "embedded" else OpenAIModel(model, base_url, api_key)
        limiter = RateLimiter(opened, log=log)
        try:
            for pipeline in chosen.open(WorkerOptions(1, sandbox=sandbox)):
                count = await draft_project(
                    pipeline.work, pipeline.name, pipeline.prepared.tree, limiter, most=most, on_draft=log
                )
                typer.echo(f"{pipeline.name}: {count} drafts; each must be rewritten by a person before use")
        finally:
            await opened.close()

    asyncio.run(draft_all())


@command("admit", construct)
def admit(
    chosen: ProjectOptions,
    workers: WorkerOptions,
    most: MostOption = None,
    like: Annotated[
        list[str] | None, typer.Option(help="Only functions whose ids match, such as `*.metrics.*` (repeatable).")
    ] = None,
) -> None:
    """Run the automatic admission checks (step 8). Rerun the same command to resume."""

    def do(pipeline: "Pipeline") -> str:
        pipeline.admit(most, like or ())
        rows = pipeline.work.read_by_id("measured", pipeline.name).values()
        return f"{sum(row['admissible'] for row in rows)} of {len(rows)} functions are admissible"

    chosen.run_step(workers, do)


@command("run", construct)
def run(
    chosen: ProjectOptions,
    most: MostOption = None,
    seconds: SecondsOption = 600.0,
    workers: WorkersOption = None,
    sandbox: SandboxOption = "auto",
) -> None:
    """Run steps 3 to 6 and 8, from package names to admissible functions. Rerun to resume."""
    _run_steps(chosen.work, chosen.read(), WorkerOptions(workers, sandbox=sandbox), most, seconds)


@command("live", construct)
def live(
    since: Annotated[datetime, typer.Option(formats=DAYS, help="Functions that appeared on or after this date.")],
    chosen: ProjectOptions,
    most: MostOption = None,
    seconds: SecondsOption = 600.0,
    workers: WorkersOption = None,
    sandbox: SandboxOption = "auto",
) -> None:
    """Find functions introduced since a date, which models trained before it cannot have seen."""
    from dlbench.construction.history import find_recent_projects

    if not chosen.names and not chosen.projects:
        chosen = replace(chosen, names=[f"index:{name}" for name in dataset.load().projects])
    recent, left_out = find_recent_projects([replace(spec, version="") for spec in chosen.read()], since.date(), log)
    for row in left_out:
        typer.echo(f"{row['project']}: {row['why'].splitlines()[0]}")
    work = chosen.work / f"live-{since.date()}"
    _run_steps(work, recent, WorkerOptions(workers, sandbox=sandbox), most, seconds, since.date())


def _run_steps(
    work: Path,
    specs: "list[ProjectSpec]",
    options: WorkerOptions,
    most: int | None,
    seconds: float,
    since: date | None = None,
) -> None:
    from dlbench.construction import WorkFolder, describe_losses, summarize_project
    from dlbench.construction.pipeline import run_all

    need_construction()
    folder, engine = WorkFolder(work), make_construction_engine(options)
    failed = run_all(engine, folder, specs, log, workers=options.count, most=most, seconds=seconds, since=since)
    admissible = 0
    for spec in specs:
        if spec.name not in failed:
            row = summarize_project(folder, spec.name)
            admissible += row["admissible"]
            typer.echo(", ".join(f"{key} {value}" for key, value in row.items() if value is not None))
            for line in describe_losses(folder, spec.name):
                typer.echo(f"  {line}")
    report_failures(failed)
    if len(failed) == len(specs):
        raise DLBenchError("every project was left out", where=str(work), fix="fix the reasons above and run it again")
    if admissible:
        option = "" if work == WORK else f" --work {work}"
        typer.echo(f"next: dlbench construct review{option}, then dlbench construct write --into BENCHMARK{option}")
        typer.echo(f"or at once: dlbench construct write --into BENCHMARK --accept-all --annotator NAME{option}")


@command("plus", construct)
def plus(
    chosen: Chosen,
    workers: WorkerOptions,
    solutions: Annotated[
        list[Path], typer.Option(help="JSONL with independent solutions, as for `evaluate` (repeatable).")
    ],
    rewrites: Annotated[
        list[Path] | None, typer.Option(help="JSONL with rewrites of the references that keep their behaviour.")
    ] = None,
    mutants: Annotated[
        int, typer.Option(min=0, help="Mutants per reference that measure the tests with and without the inputs.")
    ] = 0,
    again: Annotated[bool, typer.Option("--again", help="Also instances that have a record.")] = False,
) -> None:
    """Choose further inputs on which passing answers are tried (docs/plus.md). Rerun the same command to resume."""
    from dlbench.cli.engine import make_engine, prepare_projects
    from dlbench.dataset.plus import PlusRecord, read_plus, write_plus
    from dlbench.execution.sample_judge import find_code
    from dlbench.runs.samples import read_samples
    from dlbench.validation.plus import PlusTask, open_pool

    benchmark = chosen.benchmark

    def read_codes(files: list[Path]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for sample in (sample for file in files for sample in read_samples(file, benchmark)):
            code = find_code(sample, benchmark.instances[sample.instance].qualname).code
            found.setdefault(sample.instance, []).extend([code] if code else [])
        return found

    solved, rewritten = read_codes(solutions), read_codes(rewrites or [])
    known = {} if again else read_plus(benchmark.root)
    enough = [one for one in chosen.instances if len(solved.get(one.id, ())) > 1]
    if not enough:
        fix = "pass the solutions of two or more independent authors: --solutions A.jsonl --solutions B.jsonl"
        raise DLBenchError("no instance has two solutions", where=", ".join(map(str, solutions)), fix=fix)
    instances = [one for one in enough if one.id not in known]
    if len(instances) < len(enough):
        log(f"{len(enough) - len(instances)} instances have a record; --again chooses their inputs again")
    tasks = [PlusTask(one, tuple(solved[one.id]), tuple(rewritten.get(one.id, ())), mutants) for one in instances]
    pool = open_pool(make_engine(workers), prepare_projects(benchmark, instances), workers.count)
    counts: Counter[str] = Counter()
    with counted("choosing inputs", len(tasks)) as advance:

        def keep(task: PlusTask, record: PlusRecord) -> None:
            with lock:
                write_plus(benchmark.root, record)
                counts[record.reason] += 1
            advance(f"{record.instance}: {len(record.inputs)} inputs{record.reason and f' ({record.reason})'}")

        lock = Lock()
        pool.run(tasks, keep)
    typer.echo(f"{counts.pop('', 0)} instances have further inputs")
    for reason, count in counts.most_common():
        typer.echo(f"{count}: {reason}")


@command("tables", construct)
def tables(
    work: WorkOption = WORK,
    kept: Annotated[
        Path | None,
        typer.Option(help="File with the summaries of earlier passes: this one is merged into it, and all are shown."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Print a summary of all projects: counts, and the reasons for what was left out."""
    from dlbench.construction import WorkFolder, merge_kept, render_tables, summarize_all

    lines = summarize_all(WorkFolder(work))
    if kept:
        lines = merge_kept(kept, lines)
    if json:
        print_json(lines)
    else:
        typer.echo(render_tables(lines), nl=False)
