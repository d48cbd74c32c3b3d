"""Commands that make instances out of projects: one for each step, and `run` for all of them."""

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli import construct_discover, construct_label
from dlbench.cli.app import (
    CORES,
    JsonOption,
    SandboxOption,
    WorkerOptions,
    WorkersOption,
    app,
    command,
)
from dlbench.cli.construct_common import make_construction_engine, make_pipelines, read_chosen, run_step
from dlbench.cli.construct_discover import WORK, WorkOption

if TYPE_CHECKING:
    from dlbench.construction.pipeline import Pipeline
    from dlbench.construction.work_folder import WorkFolder

construct = typer.Typer(
    help="Make verified instances out of Python projects, in nine steps.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(construct, name="construct")
construct_discover.register(construct)
construct_label.register(construct)

NamesArgument = Annotated[list[str] | None, typer.Argument(help="Package names; all of --projects by default.")]
ProjectsOption = Annotated[
    Path | None, typer.Option("--projects", help="TOML file: projects with what is known about each.")
]
MostOption = Annotated[int | None, typer.Option(min=1, help="Maximum number of functions of a project.")]
SecondsOption = Annotated[
    float, typer.Option("--trace-seconds", min=1, help="Time limit for all tests of a project together.")
]


@command("collect", construct)
def collect(
    names: NamesArgument = None,
    projects: ProjectsOption = None,
    work: WorkOption = WORK,
    sandbox: SandboxOption = "auto",
) -> None:
    """Fetch the projects' newest releases, build their environments, and collect their tests (step 3)."""

    def do(pipeline: "Pipeline") -> None:
        pipeline.collect()
        tests, left_out = (len(pipeline.work.read(step, pipeline.name)) for step in ("collected", "uncollected"))
        typer.echo(f"{pipeline.name}: {tests} tests; {left_out} files not collected")

    run_step(make_pipelines(names, projects, work, WorkerOptions(1, sandbox=sandbox)), do)


@command("trace", construct)
def trace(
    names: NamesArgument = None,
    projects: ProjectsOption = None,
    work: WorkOption = WORK,
    seconds: SecondsOption = 600.0,
    workers: WorkersOption = None,
    sandbox: SandboxOption = "auto",
) -> None:
    """Run each test once and record which functions it executes (step 4)."""

    def do(pipeline: "Pipeline") -> None:
        pipeline.trace(seconds)
        found = pipeline.read_trace()
        passed = sum(test.outcome == "passed" for test in found.tests)
        typer.echo(
            f"{pipeline.name}: {len(found.tests)} tests ran, {passed} passed; {len(found.functions)} functions ran"
        )

    run_step(make_pipelines(names, projects, work, WorkerOptions(workers, sandbox=sandbox)), do)


@command("extract", construct)
def extract(
    names: NamesArgument = None,
    projects: ProjectsOption = None,
    work: WorkOption = WORK,
    dates: Annotated[
        bool, typer.Option("--dates", help="Search earlier releases for the date when each appeared.")
    ] = False,
    sandbox: SandboxOption = "auto",
) -> None:
    """List every function that ran: file, qualified name, lines, hash, signature (step 5)."""

    def do(pipeline: "Pipeline") -> None:
        pipeline.extract(dates=dates)
        left_out = len(pipeline.work.read("extract_left_out", pipeline.name))
        typer.echo(
            f"{pipeline.name}: {len(pipeline.work.read('functions', pipeline.name))} functions; {left_out} left out"
        )

    run_step(make_pipelines(names, projects, work, WorkerOptions(1, sandbox=sandbox)), do)


@command("screen", construct)
def screen(
    names: NamesArgument = None,
    projects: ProjectsOption = None,
    work: WorkOption = WORK,
    sandbox: SandboxOption = "auto",
) -> None:
    """Decide which functions can become instances, with the reason for the others (step 6)."""

    def do(pipeline: "Pipeline") -> None:
        pipeline.screen()
        counts = Counter(row["reason"] or "kept" for row in pipeline.work.read("screened", pipeline.name))
        reasons = ", ".join(f"{reason} {count}" for reason, count in counts.most_common() if reason != "kept")
        typer.echo(
            f"{pipeline.name}: {counts['kept']} of {counts.total()} functions are kept; left out: {reasons or 'none'}"
        )

    run_step(make_pipelines(names, projects, work, WorkerOptions(1, sandbox=sandbox)), do)


@command("draft", construct)
def draft(
    names: NamesArgument = None,
    projects: ProjectsOption = None,
    work: WorkOption = WORK,
    model: Annotated[
        str, typer.Option(help="Model that writes the drafts: embedded, or one behind --base-url.")
    ] = "embedded",
    base_url: Annotated[str | None, typer.Option(help="An OpenAI-compatible endpoint.")] = None,
    api_key: Annotated[str | None, typer.Option(help="API key; prefer the environment (docs/models.md).")] = None,
    most: MostOption = None,
    sandbox: SandboxOption = "auto",
) -> None:
    """Let a model draft prompts for admissible functions, for a person to rewrite (step 7)."""
    import asyncio

    from dlbench.cli.output import log
    from dlbench.construction.draft import draft_project
    from dlbench.generation import EmbeddedModel, OpenAIModel, RateLimiter

    async def draft_all() -> None:
        opened = EmbeddedModel(1, log, 0) if model == "embedded" else OpenAIModel(model, base_url, api_key)
        limiter = RateLimiter(opened, log=log)
        try:
            for pipeline in make_pipelines(names, projects, work, WorkerOptions(1, sandbox=sandbox)):
                count = await draft_project(
                    pipeline.work, pipeline.name, pipeline.prepared.tree, limiter, most=most, on_draft=log
                )
                typer.echo(f"{pipeline.name}: {count} drafts; each must be rewritten by a person before use")
        finally:
            await opened.close()

    asyncio.run(draft_all())


@command("admit", construct)
def admit(
    workers: WorkerOptions,
    names: NamesArgument = None,
    projects: ProjectsOption = None,
    work: WorkOption = WORK,
    most: MostOption = None,
    like: Annotated[
        list[str] | None, typer.Option(help="Only functions whose ids match, such as `*.metrics.*` (repeatable).")
    ] = None,
) -> None:
    """Run the automatic admission checks (step 8). Rerun the same command to resume."""

    def do(pipeline: "Pipeline") -> None:
        pipeline.admit(most, like or ())
        rows = pipeline.work.read_by_id("measured", pipeline.name).values()
        typer.echo(f"{pipeline.name}: {sum(row['admissible'] for row in rows)} of {len(rows)} functions are admissible")

    run_step(make_pipelines(names, projects, work, workers), do)


@command("run", construct)
def run(
    names: NamesArgument = None,
    projects: ProjectsOption = None,
    work: WorkOption = WORK,
    most: MostOption = None,
    seconds: SecondsOption = 600.0,
    workers: WorkersOption = None,
    sandbox: SandboxOption = "auto",
) -> None:
    """Run steps 3 to 6 and 8, from package names to admissible functions. Rerun to resume."""
    from dlbench.cli.output import log
    from dlbench.construction.pipeline import run_all
    from dlbench.construction.work_folder import WorkFolder

    specs = read_chosen(names, projects)
    folder = WorkFolder(work)
    engine = make_construction_engine(WorkerOptions(workers, sandbox=sandbox))
    run_all(engine, folder, specs, log, workers=workers or CORES, most=most, seconds=seconds)
    _show(folder, [spec.name for spec in specs])


@command("live", construct)
def live(
    since: Annotated[
        datetime, typer.Option(formats=["%Y-%m-%d"], help="Functions that appeared on or after this date.")
    ],
    names: NamesArgument = None,
    projects: ProjectsOption = None,
    work: WorkOption = WORK,
    most: MostOption = None,
    seconds: SecondsOption = 600.0,
    workers: WorkersOption = None,
    sandbox: SandboxOption = "auto",
) -> None:
    """Find functions introduced since a date, which models trained before it cannot have seen."""
    from dataclasses import replace

    from dlbench.cli.output import log
    from dlbench.construction.history import find_recent_projects
    from dlbench.construction.pipeline import run_all
    from dlbench.construction.work_folder import WorkFolder
    from dlbench.dataset import load

    known = names if names or projects else list(load().projects)
    specs = [replace(spec, version="") for spec in read_chosen(known, projects)]
    recent, left_out = find_recent_projects(specs, since.date(), log)
    folder = WorkFolder(work / f"live-{since.date()}")
    engine = make_construction_engine(WorkerOptions(workers, sandbox=sandbox))
    run_all(engine, folder, recent, log, workers=workers or CORES, most=most, seconds=seconds, since=since.date())
    _show(folder, [spec.name for spec in recent])
    for row in left_out:
        typer.echo(f"{row['project']}: {row['why'].splitlines()[0]}")


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
    import json as format

    from dlbench.construction.summary import merge_kept, render_tables, summarize_all
    from dlbench.construction.work_folder import WorkFolder

    lines = summarize_all(WorkFolder(work))
    if kept:
        lines = merge_kept(kept, lines)
    typer.echo(format.dumps(lines, indent=2) if json else render_tables(lines), nl=json)


def _show(work: "WorkFolder", names: list[str]) -> None:
    from dlbench.construction.summary import summarize_project

    for name in names:
        row = summarize_project(work, name)
        typer.echo(", ".join(f"{key} {value}" for key, value in row.items() if value is not None))
