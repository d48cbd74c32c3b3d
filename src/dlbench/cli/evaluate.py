"""The commands that run candidates already written: validate and evaluate."""

from pathlib import Path
from typing import Annotated

import typer

from dlbench.cli.app import (
    CORES,
    BenchmarkOption,
    Chosen,
    ExecutorOption,
    JsonOption,
    MemoryOption,
    ModeOption,
    PoolMemoryOption,
    RayAddressOption,
    SandboxOption,
    SeatsOption,
    TimeoutOption,
    command,
)


@command("validate")
def validate(
    chosen: Chosen,
    workers: SeatsOption = None,
    executor: ExecutorOption = "local",
    ray_address: RayAddressOption = None,
    sandbox: SandboxOption = "auto",
    timeout: TimeoutOption = 60.0,
    memory: MemoryOption = 4096,
    mode: ModeOption = "auto",
    compare_modes: Annotated[
        bool, typer.Option(help="Judge reference, stubs and mutants warm and fresh; name every difference.")
    ] = False,
    mutants: Annotated[int, typer.Option(min=0, help="Mutants of each reference, for --compare-modes.")] = 3,
    repeat: Annotated[int, typer.Option(min=0, help="Run each reference so many times more; name flaky tests.")] = 0,
    shuffle: Annotated[bool, typer.Option(help="With --repeat: another order of the tests each time.")] = False,
    json: JsonOption = False,
) -> None:
    """Check that references pass, and that stubs which raise or return None fail every test."""
    from dlbench import validation as trying
    from dlbench.cli.engine import Where, check_mode, make_engine, make_pool, prepare_projects
    from dlbench.cli.output import counted
    from dlbench.validation.mutants import BODIES

    check_mode(mode)
    engine = make_engine(sandbox, timeout, memory, Where(executor, ray_address, workers))
    instances = chosen.instances
    prepared = prepare_projects(chosen.benchmark, instances)
    pool = make_pool(engine, prepared, workers or CORES, mode)
    most = 2 * len(instances) * (1 + len(BODIES) + mutants) if compare_modes else trying.count_trials(instances)
    with counted("validating", most + repeat * len(instances)) as advance:

        def shown(trial: trying.Trial) -> None:
            advance(f"{trial.instance} {trial.name}: {'holds' if trial.holds else 'DOES NOT HOLD'}")

        if compare_modes:
            fresh = make_pool(engine, prepared, workers or CORES, "fresh")
            trials = trying.compare_modes(
                pool,
                fresh,
                instances,
                mutants,
                on_warm=lambda task: advance(f"{task.instance.id} {task.name}: judged warm"),
                on_trial=shown,
            )
            if repeat:
                trials += trying.repeat(pool, instances, repeat, shuffle=shuffle, on_trial=shown)
        else:
            trials = trying.validate(pool, instances, repeat, shuffle=shuffle, on_trial=shown)
    broken = [trial for trial in trials if not trial.holds]
    if json:
        import json as format

        records = [{"instance": t.instance, "trial": t.name, "holds": t.holds, "detail": t.detail} for t in trials]
        typer.echo(format.dumps(records, indent=2, ensure_ascii=False))
    else:
        for trial in trials:
            if trial.detail:
                remark = "holds, though " if trial.holds else ""
                typer.echo(f"{trial.instance}: {trial.name}: {remark}{trial.detail}")
        sound = len(chosen.instances) - len({trial.instance for trial in broken})
        typer.echo(f"{sound} of {len(chosen.instances)} instances hold ({engine.confinement.name})")
    if broken:
        raise typer.Exit(1)


@command("evaluate")
def evaluate(
    samples: Annotated[Path, typer.Argument(help="JSONL: instance, sample, and answer (raw) or code (bare).")],
    out: Annotated[Path, typer.Option(help="Folder for verdicts.jsonl and the report; goes on where it stopped.")],
    benchmark: BenchmarkOption = None,
    workers: SeatsOption = None,
    executor: ExecutorOption = "local",
    ray_address: RayAddressOption = None,
    sandbox: SandboxOption = "auto",
    timeout: TimeoutOption = 60.0,
    memory: MemoryOption = 4096,
    mode: ModeOption = "auto",
    pool_memory: PoolMemoryOption = 6144,
) -> None:
    """Judge answers that a model has given already."""
    from dlbench import __version__
    from dlbench.cli.engine import Where, check_mode, make_engine
    from dlbench.cli.report import judge_into, show_scores
    from dlbench.dataset import load
    from dlbench.runs import keep_samples, open_run
    from dlbench.runs.samples import read_samples

    loaded = load(benchmark)
    given = read_samples(samples, loaded)
    check_mode(mode)
    engine = make_engine(sandbox, timeout, memory, Where(executor, ray_address, workers))
    config = {
        "dlbench": __version__,
        "benchmark": str(loaded.version),
        "model": samples.name.removesuffix(".gz").removesuffix(".jsonl"),
    }
    open_run(out, config | {"timeout": timeout, "memory": memory})
    judge_into(loaded, given, out, engine, workers or CORES, mode, pool_memory)
    keep_samples(samples, out)
    show_scores([out], out / "report.md", loaded)
