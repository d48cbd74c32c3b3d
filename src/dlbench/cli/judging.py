"""The commands that run candidates already written: validate and evaluate."""

import os
from pathlib import Path
from typing import Annotated

import typer

from dlbench.cli.app import (
    BenchmarkOption,
    Chosen,
    JsonOption,
    MemoryOption,
    SandboxOption,
    TimeoutOption,
    WorkersOption,
    command,
)

CORES = os.cpu_count() or 1


@command("validate")
def validate(
    chosen: Chosen,
    workers: WorkersOption = CORES,
    sandbox: SandboxOption = "auto",
    timeout: TimeoutOption = 60.0,
    memory: MemoryOption = 4096,
    json: JsonOption = False,
) -> None:
    """Check that references pass, and that stubs which raise or return None fail every test."""
    from dlbench.cli.engine import make_engine, prepare_projects
    from dlbench.cli.progress import counted
    from dlbench.execution.stubs import BODIES
    from dlbench.execution.validate import Trial
    from dlbench.execution.validate import validate as run_trials

    engine = make_engine(sandbox, timeout, memory)
    prepared = prepare_projects(chosen.benchmark, chosen.instances)
    total = len(chosen.instances) * (2 + len(BODIES))
    with counted("validating", total) as advance:

        def shown(trial: Trial) -> None:
            advance(f"{trial.instance} {trial.name}: {'holds' if trial.holds else 'DOES NOT HOLD'}")

        trials = run_trials(engine, chosen.instances, prepared, workers=workers, on_trial=shown)
    broken = [trial for trial in trials if not trial.holds]
    if json:
        import json as format

        records = [{"instance": t.instance, "trial": t.name, "holds": t.holds, "detail": t.detail} for t in trials]
        typer.echo(format.dumps(records, indent=2, ensure_ascii=False))
    else:
        for trial in broken:
            typer.echo(f"{trial.instance}: {trial.name}: {trial.detail}")
        sound = len(chosen.instances) - len({trial.instance for trial in broken})
        typer.echo(f"{sound} of {len(chosen.instances)} instances hold ({engine.confinement.name})")
    if broken:
        raise typer.Exit(1)


@command("evaluate")
def evaluate(
    samples: Annotated[Path, typer.Argument(help="JSONL: instance, sample, and answer (raw) or code (bare).")],
    out: Annotated[Path, typer.Option(help="Folder for verdicts.jsonl and the report; goes on where it stopped.")],
    benchmark: BenchmarkOption = None,
    workers: WorkersOption = CORES,
    sandbox: SandboxOption = "auto",
    timeout: TimeoutOption = 60.0,
    memory: MemoryOption = 4096,
) -> None:
    """Judge answers that a model has given already."""
    from dlbench import __version__
    from dlbench.cli.engine import make_engine
    from dlbench.cli.scores import judge_into, show_scores
    from dlbench.dataset import load
    from dlbench.execution.samples import read_samples
    from dlbench.reporting import open_run

    loaded = load(benchmark)
    given = read_samples(samples, loaded)
    engine = make_engine(sandbox, timeout, memory)
    config = {"dlbench": __version__, "benchmark": str(loaded.version), "model": samples.stem}
    open_run(out, config | {"timeout": timeout, "memory": memory})
    judge_into(loaded, given, out, engine, workers)
    show_scores([out], out / "report.md", loaded)
