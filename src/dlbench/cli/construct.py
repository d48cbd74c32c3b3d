"""The commands that make instances out of projects: one for each step, and one for all of them."""

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli import construct_discover, construct_label
from dlbench.cli.app import (
    CORES,
    ExecutorOption,
    JsonOption,
    RayAddressOption,
    SandboxOption,
    SeatsOption,
    WorkersOption,
    app,
    command,
)
from dlbench.cli.construct_common import do_each, make_chains, make_patient_engine, read_chosen
from dlbench.cli.construct_discover import WORK, WorkOption
from dlbench.cli.engine import Where

if TYPE_CHECKING:
    from dlbench.construction.pipeline import Pipeline
    from dlbench.construction.work_folder import WorkFolder

construct = typer.Typer(
    help="Make verified instances out of Python projects, in nine steps.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(construct, name="construct")
construct_discover.register(construct)
construct_label.register(construct)

NamesArgument = Annotated[list[str] | None, typer.Argument(help="Names of packages; all of --projects by default.")]
ProjectsOption = Annotated[
    Path | None, typer.Option("--projects", help="TOML file: projects with what is known of each.")
]
MostOption = Annotated[int | None, typer.Option(min=1, help="No more functions of a project than this.")]
SecondsOption = Annotated[float, typer.Option("--trace-seconds", min=1, help="For the tests of a project together.")]


@command("collect", construct)
def collect(
    names: NamesArgument = None,
    projects: ProjectsOption = None,
    work: WorkOption = WORK,
    sandbox: SandboxOption = "auto",
) -> None:
    """Fetch the projects' newest releases, build what they need, and collect their tests (step 3)."""

    def do(chain: "Pipeline") -> None:
        chain.collect()
        left_out = len(chain.work.read("uncollected", chain.name))
        typer.echo(
            f"{chain.name}: {len(chain.work.read('collected', chain.name))} tests; {left_out} files not collected"
        )

    do_each(make_chains(names, projects, work, sandbox), do)


@command("trace", construct)
def trace(
    names: NamesArgument = None,
    projects: ProjectsOption = None,
    work: WorkOption = WORK,
    seconds: SecondsOption = 600.0,
    workers: WorkersOption = CORES,
    sandbox: SandboxOption = "auto",
) -> None:
    """Note which functions each test runs, by running it once, and how far the text alone would tell (step 4)."""

    def do(chain: "Pipeline") -> None:
        chain.trace(seconds)
        seen = chain.read_trace()
        passed = sum(test.outcome == "passed" for test in seen.tests)
        typer.echo(f"{chain.name}: {len(seen.tests)} tests ran, {passed} passed; {len(seen.functions)} functions ran")
        found = chain.compare_with_text()
        typer.echo(
            f"{chain.name}: of what the text says a test comes to, {found.all.precision:.0%} ran, and it says"
            f" {found.all.recall:.0%} of what ran; called by the test itself: {found.direct.precision:.0%} and"
            f" {found.direct.recall:.0%}"
        )

    do_each(make_chains(names, projects, work, sandbox, workers), do)


@command("extract", construct)
def extract(
    names: NamesArgument = None,
    projects: ProjectsOption = None,
    work: WorkOption = WORK,
    dates: Annotated[bool, typer.Option("--dates", help="Look into earlier releases: when did each appear?")] = False,
    sandbox: SandboxOption = "auto",
) -> None:
    """Name every function that ran: file, qualified name, lines, hash, signature (step 5)."""

    def do(chain: "Pipeline") -> None:
        chain.extract(dates=dates)
        left_out = len(chain.work.read("extract_left_out", chain.name))
        typer.echo(f"{chain.name}: {len(chain.work.read('functions', chain.name))} functions; {left_out} left out")

    do_each(make_chains(names, projects, work, sandbox), do)


@command("screen", construct)
def screen(
    names: NamesArgument = None,
    projects: ProjectsOption = None,
    work: WorkOption = WORK,
    sandbox: SandboxOption = "auto",
) -> None:
    """Keep the functions that can be an instance; the rest with the reason (step 6)."""

    def do(chain: "Pipeline") -> None:
        chain.screen()
        counts = Counter(row["reason"] or "kept" for row in chain.work.read("screened", chain.name))
        reasons = ", ".join(f"{reason} {count}" for reason, count in counts.most_common() if reason != "kept")
        typer.echo(
            f"{chain.name}: {counts['kept']} of {counts.total()} functions are kept; left out: {reasons or 'none'}"
        )

    do_each(make_chains(names, projects, work, sandbox), do)


@command("draft", construct)
def draft(
    names: NamesArgument = None,
    projects: ProjectsOption = None,
    work: WorkOption = WORK,
    model: Annotated[str, typer.Option(help="Who writes: embedded, or a model behind --base-url.")] = "embedded",
    base_url: Annotated[str | None, typer.Option(help="An OpenAI-compatible endpoint.")] = None,
    api_key: Annotated[str | None, typer.Option(help="Its key; better in the environment (docs/models.md).")] = None,
    most: MostOption = None,
    sandbox: SandboxOption = "auto",
) -> None:
    """Let a model write first texts for admissible functions, for a person to write anew (step 7)."""
    import asyncio

    from dlbench.cli.output import log
    from dlbench.construction.draft import draft_project
    from dlbench.generation import EmbeddedModel, OpenAIModel, RateLimiter

    async def draft_all() -> None:
        opened = EmbeddedModel(1, log, 0) if model == "embedded" else OpenAIModel(model, base_url, api_key)
        gate = RateLimiter(opened, log=log)
        try:
            for chain in make_chains(names, projects, work, sandbox):
                count = await draft_project(chain.work, chain.name, chain.prepared.tree, gate, most=most, on_draft=log)
                typer.echo(
                    f"{chain.name}: {count} drafts; none of them is a prompt before somebody has written it anew"
                )
        finally:
            await opened.close()

    asyncio.run(draft_all())


@command("admit", construct)
def admit(
    names: NamesArgument = None,
    projects: ProjectsOption = None,
    work: WorkOption = WORK,
    most: MostOption = None,
    like: Annotated[
        list[str] | None, typer.Option(help="Only functions whose ids match, as `*.metrics.*` (repeatable).")
    ] = None,
    workers: SeatsOption = None,
    executor: ExecutorOption = "local",
    ray_address: RayAddressOption = None,
    sandbox: SandboxOption = "auto",
) -> None:
    """Run every check of admission that needs no person (step 8); goes on where it was stopped."""

    def do(chain: "Pipeline") -> None:
        chain.admit(most, like or ())
        rows = chain.work.read_last("measured", chain.name)
        typer.echo(f"{chain.name}: {sum(row['admissible'] for row in rows)} of {len(rows)} functions are admissible")

    do_each(make_chains(names, projects, work, sandbox, workers or CORES, Where(executor, ray_address, workers)), do)


@command("run", construct)
def run(
    names: NamesArgument = None,
    projects: ProjectsOption = None,
    work: WorkOption = WORK,
    most: MostOption = None,
    seconds: SecondsOption = 600.0,
    workers: WorkersOption = CORES,
    sandbox: SandboxOption = "auto",
) -> None:
    """From names of packages to admissible functions: steps 3 to 6 and 8, each where it was left."""
    from dlbench.cli.output import log
    from dlbench.construction.pipeline import run_all
    from dlbench.construction.work_folder import WorkFolder

    wishes = read_chosen(names, projects)
    folder = WorkFolder(work)
    run_all(make_patient_engine(sandbox), folder, wishes, log, workers=workers, most=most, seconds=seconds)
    _show(folder, [wish.name for wish in wishes])


@command("live", construct)
def live(
    since: Annotated[
        datetime, typer.Option(formats=["%Y-%m-%d"], help="Functions that appeared on or after this day.")
    ],
    names: NamesArgument = None,
    projects: ProjectsOption = None,
    work: WorkOption = WORK,
    most: MostOption = None,
    seconds: SecondsOption = 600.0,
    workers: WorkersOption = CORES,
    sandbox: SandboxOption = "auto",
) -> None:
    """Propose instances that no model trained before a day can have seen."""
    from dataclasses import replace

    from dlbench.cli.output import log
    from dlbench.construction.history import find_recent_projects
    from dlbench.construction.pipeline import run_all
    from dlbench.construction.work_folder import WorkFolder
    from dlbench.dataset import load

    known = names if names or projects else list(load().projects)
    wishes = [replace(wish, version="") for wish in read_chosen(known, projects)]
    fresh, left_out = find_recent_projects(wishes, since.date(), log)
    folder = WorkFolder(work / f"live-{since.date()}")
    run_all(
        make_patient_engine(sandbox),
        folder,
        fresh,
        log,
        workers=workers,
        most=most,
        seconds=seconds,
        since=since.date(),
    )
    _show(folder, [wish.name for wish in fresh])
    for row in left_out:
        typer.echo(f"{row['project']}: {row['why'].splitlines()[0]}")


@command("tables", construct)
def tables(
    work: WorkOption = WORK,
    kept: Annotated[
        Path | None,
        typer.Option(help="A file with what came of earlier passes: this one's is put by there, and both are shown."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Print what came of every project: counts, and the reasons for what was left out."""
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
