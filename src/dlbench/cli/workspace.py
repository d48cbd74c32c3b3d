"""Commands that manage this machine's workspace: prepare, tests, doctor, clean, lock, train-set build."""

import time
from pathlib import Path
from typing import Annotated

import typer

from dlbench import dataset
from dlbench.cli.app import BenchmarkOption, Chosen, JsonOption, SandboxOption, WorkerOptions, add_group, command
from dlbench.cli.construct_common import make_construction_engine
from dlbench.cli.engine import prepare_named
from dlbench.cli.output import log, print_json
from dlbench.errors import DLBenchError


@command("prepare")
def prepare(
    chosen: Chosen,
    everything: Annotated[
        bool, typer.Option("--all", help="Every project of the benchmark, ignoring the selection.")
    ] = False,
) -> None:
    """Fetch the chosen instances' projects, verify them, and build their environments.

    A project named by --project needs no instance, and a benchmark without instances is prepared as a whole."""
    benchmark = chosen.benchmark
    if everything or not (benchmark.instances or chosen.project):
        names = list(benchmark.projects)
    else:
        names = chosen.project or [instance.project for instance in chosen.instances]
    for name, prepared in prepare_named(benchmark, names).items():
        typer.echo(f"{name} {prepared.project.version} is ready")


@command("tests")
def list_tests(
    project: Annotated[str, typer.Argument(help="Name of a project of the benchmark.")],
    part: Annotated[
        str, typer.Argument(help="Only this folder, FILE, CLASS or FUNCTION; or joined, as FILE::CLASS::FUNCTION.")
    ] = "",
    benchmark: BenchmarkOption = None,
    sandbox: SandboxOption = "auto",
) -> None:
    """Print the ids of a project's tests, one per line, with one line for each case of a parametrized test."""
    from dlbench.construction.collect import collect_part

    engine = make_construction_engine(WorkerOptions(1, sandbox=sandbox))
    prepared = prepare_named(dataset.load(benchmark), [project])[project]
    log(f"collecting the tests of {project}")
    found = collect_part(engine, prepared, part)
    for file, why in (found.errors | found.skipped).items():
        log(f"{file}: not collected: {why.strip().splitlines()[-1]}")
    if not found.tests:
        fix = "list all tests without the second argument, and check the spelling"
        raise DLBenchError(f"no test matches {part!r}" if part else "pytest collects no test", where=project, fix=fix)
    typer.echo("\n".join(found.tests))


@command("doctor")
def doctor(benchmark: BenchmarkOption = None, json: JsonOption = False) -> None:
    """Report what this machine has and what is missing, with how to fix it."""
    from dlbench.execution import find_sandboxes
    from dlbench.workspace import Finding, examine, prepared_if_ready

    findings = examine()
    confinements = find_sandboxes()
    for kind, obstacle in confinements:
        findings.append(Finding(f"sandbox {kind.name}", not obstacle, obstacle or kind.warning or "works"))
    loaded = dataset.load(benchmark)
    for project in loaded.projects.values():
        ready = prepared_if_ready(project, loaded.root) is not None
        detail = f"{project.version} is prepared" if ready else f"{project.version} is not prepared yet"
        findings.append(Finding(f"project {project.name}", ready, detail, "dlbench prepare"))
    if json:
        print_json(findings)
    else:
        for finding in findings:
            fix = f"  (fix: {finding.fix})" if finding.fix and not finding.ok else ""
            typer.echo(f"{'ok' if finding.ok else 'missing':<7}  {finding.name:<26} {finding.detail}{fix}")
    if all(obstacle for _, obstacle in confinements):
        raise typer.Exit(1)


@command("clean")
def clean(
    sources: Annotated[bool, typer.Option("--sources", help="Fetched archives and sources.")] = False,
    environments: Annotated[bool, typer.Option("--environments", help="Built environments and uv's cache.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Everything, including the embedded model's weights.")
    ] = False,
) -> None:
    """Remove workspace content; without an option, only what killed commands left behind."""
    from dlbench.workspace import clean as remove

    what = {"temporary"}
    what |= {"sources", "archives"} if sources or everything else set()
    what |= {"environments", "uv"} if environments or everything else set()
    what |= {"models", "collected", "training"} if everything else set()
    typer.echo(f"{remove(what, log) / 1e6:.0f} MB freed")


@command("lock")
def lock(
    environment: Annotated[str, typer.Argument(help="Name of an environment: locks/NAME.in becomes locks/NAME.txt.")],
    python: Annotated[str, typer.Option(help="Python version that the environment is for.")] = "3.11",
    benchmark: BenchmarkOption = None,
) -> None:
    """Pin an environment's requirements with hashes, when adding a project."""
    from dlbench.workspace import compile_lock

    folder: Path = (benchmark or dataset.default_root()) / "locks"
    requirements = folder / f"{environment}.in"
    if not requirements.is_file():
        raise DLBenchError("the file does not exist", where=str(requirements), fix="list the direct requirements there")
    log(f"resolving the requirements of {environment}")
    compile_lock(requirements, folder / f"{environment}.txt", python, log)
    typer.echo(f"wrote {folder / environment}.txt")


train_set = add_group("train-set", "Tasks to train models on, from projects that the benchmark does not have.")


@command("build", train_set)
def build(
    out: Annotated[
        Path | None, typer.Option(help="Folder to write, which must not exist (default: in the workspace, for --set).")
    ] = None,
    facts: Annotated[Path | None, typer.Option(help="Folder with the facts (default: the built-in).")] = None,
) -> None:
    """Fetch the projects of the training set and write its prompts; the result is a benchmark folder."""
    from dlbench.construction.write_instances import build_training_set
    from dlbench.dataset.loading import find_own
    from dlbench.workspace.home import TRAINING, place_training_set

    began, loaded = time.monotonic(), dataset.load(facts or find_own(TRAINING))
    folder = out or place_training_set(loaded.root)
    build_training_set(loaded, folder, log)
    counts = ", ".join(f"{len(ids)} {name}" for name, ids in loaded.splits.items())
    typer.echo(f"{len(loaded.instances)} instances of {len(loaded.projects)} projects in {folder} ({counts})")
    log(f"{time.monotonic() - began:.0f} s; environments are built on first use, or by `dlbench prepare --set train`")
