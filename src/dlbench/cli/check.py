"""The command `check`: report every problem of a benchmark."""

from typing import Annotated

import typer

from dlbench import dataset
from dlbench.cli.app import Chosen, JsonOption, SandboxOption, WorkerOptions, command
from dlbench.cli.engine import make_engine
from dlbench.cli.output import log, print_json


@command("check")
def check(
    chosen: Chosen,
    records_only: Annotated[
        bool, typer.Option("--records-only", help="Check the records only; fetch no sources.")
    ] = False,
    json: JsonOption = False,
    sandbox: SandboxOption = "auto",
) -> None:
    """Report every problem of a benchmark in one pass: where, what, and how to fix it."""
    from dlbench.dataset.validation import check_records, read_rules
    from dlbench.validation.sources import check_sources
    from dlbench.workspace.provenance import check_tree

    benchmark, problems = check_records(chosen.folder or dataset.default_root())
    known = [instance for instance in benchmark.instances.values() if instance.project in benchmark.projects]
    if not records_only:
        selected = {instance.id for instance in chosen.instances_of(benchmark)} if known else set()
        instances = [instance for instance in known if instance.id in selected]
        problems += check_sources(benchmark, instances, make_engine(WorkerOptions(sandbox=sandbox)), log)
        if not read_rules(benchmark.root).docstring_prompts:  # an owner may quote their own docstrings
            problems += check_tree(benchmark, log)
    if json:
        print_json(problems)
    else:
        for problem in problems:
            typer.echo(f"{problem.where}: {problem.kind}: {problem.what}\n  fix: {problem.fix}")
        depth = "records only" if records_only else "records, sources and tests"
        count = f"{len(benchmark.instances)} instances of {len(benchmark.projects)} projects"
        typer.echo(f"{count} checked ({depth}): {len(problems) or 'no'} problem{'' if len(problems) == 1 else 's'}")
    if problems:
        raise typer.Exit(1)
