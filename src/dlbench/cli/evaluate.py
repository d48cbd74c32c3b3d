"""The commands `check` and `validate`, on a benchmark, and `evaluate`, on answers that exist already."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dlbench import __version__, dataset
from dlbench.cli.app import (
    BenchmarkOption,
    Chosen,
    ExecutionOptions,
    JsonOption,
    JudgingOptions,
    SandboxOption,
    TrackOption,
    WorkerOptions,
    command,
)
from dlbench.cli.engine import judge_into, judging, make_engine, make_judging_engine, make_pool, prepare_projects
from dlbench.cli.output import counted, log, print_json
from dlbench.cli.report import show_scores
from dlbench.cli.run_tasks import plan_judge, refuse_for_tasks
from dlbench.cli.task import open_records, open_tasks, validate_tasks
from dlbench.dataset.labels import Track
from dlbench.errors import DLBenchError
from dlbench.runs import keep_samples, open_run


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
    from dlbench.validation.sources import check_sources, check_tree

    benchmark, problems = check_records(chosen.folder or dataset.default_root())
    known = [instance for instance in benchmark.instances.values() if instance.project in benchmark.projects]
    if not records_only:
        selected = {instance.id for instance in chosen.instances_of(benchmark)} if known else set()
        instances = [instance for instance in known if instance.id in selected]
        problems += check_sources(benchmark, instances, make_engine(WorkerOptions(sandbox=sandbox)), log)
        if not read_rules(benchmark.root).docstring_prompts:  # an owner may quote their own docstrings
            problems += check_tree(benchmark, chosen.project or list(benchmark.projects), log)
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


@command("validate")
def validate(
    chosen: Chosen,
    execution: ExecutionOptions,
    compare_modes: Annotated[
        bool, typer.Option(help="Judge reference, stubs and mutants in warm and fresh mode; list every difference.")
    ] = False,
    mutants: Annotated[int, typer.Option(min=0, help="Mutants of each reference for --compare-modes.")] = 3,
    repeat: Annotated[
        int, typer.Option(min=0, help="Run each reference this many more times to find flaky tests.")
    ] = 0,
    shuffle: Annotated[bool, typer.Option(help="With --repeat: shuffle the tests each time.")] = False,
    plus: Annotated[
        bool, typer.Option("--plus", help="Also try the references on the further inputs of their instances.")
    ] = False,
    track: TrackOption = Track.FUNCTION,
    json: JsonOption = False,
) -> None:
    """Check that references pass every test and that stubs fail every test."""
    from dlbench import validation
    from dlbench.validation.mutants import BODIES

    if track is Track.OPTIMISE:
        _validate_costs(chosen.on_functions(track), execution, max(1, repeat), json=json)
        return
    engine = make_judging_engine(execution, chosen.benchmark.root if plus else None)
    if track is not Track.FUNCTION:
        if compare_modes or plus:
            raise DLBenchError("--compare-modes and --plus are for functions", fix="leave them out")
        validate_tasks(open_tasks(chosen, track), execution.count, engine, repeat=repeat, shuffle=shuffle, json=json)
        return
    instances = chosen.instances
    prepared = prepare_projects(chosen.benchmark, instances)
    pool = make_pool(engine, prepared, execution)
    trials_each = 2 * (1 + len(BODIES) + mutants) if compare_modes else 2 + len(BODIES)
    with counted("validating", (trials_each + repeat) * len(instances)) as advance:

        def show(trial: validation.Trial) -> None:
            advance(f"{trial.instance} {trial.name}: {'holds' if trial.holds else 'DOES NOT HOLD'}")

        if compare_modes:
            trials = validation.compare_modes(
                pool,
                make_pool(engine, prepared, replace(execution, mode="fresh")),
                instances,
                mutants,
                on_warm=lambda task: advance(f"{task.instance.id} {task.name}: judged warm"),
                on_trial=show,
            )
            if repeat:
                trials += validation.repeat(pool, instances, repeat, shuffle=shuffle, on_trial=show)
        else:
            trials = validation.validate(pool, instances, repeat, shuffle=shuffle, on_trial=show)
    broken = [trial for trial in trials if not trial.holds]
    if json:
        print_json([{"instance": t.instance, "trial": t.name, "holds": t.holds, "detail": t.detail} for t in trials])
    else:
        for trial in trials:
            if trial.detail:
                remark = "holds, but " if trial.holds else ""
                typer.echo(f"{trial.instance}: {trial.name}: {remark}{trial.detail}")
        valid = len(instances) - len({trial.instance for trial in broken})
        typer.echo(f"{valid} of {len(instances)} instances hold ({engine.confinement.name})")
    if broken:
        raise typer.Exit(1)


def _validate_costs(chosen: Chosen, execution: ExecutionOptions, repeat: int, *, json: bool) -> None:
    """Print the speed-ups of references over themselves, which must be 1."""
    from dlbench.validation.optimise import CostFinding, CostTrial, open_pool

    instances = chosen.instances
    engine = make_judging_engine(execution, costs=chosen.benchmark.root)
    pool = open_pool(engine, prepare_projects(chosen.benchmark, instances))
    findings: list[CostFinding] = []
    with counted("measuring references against themselves", repeat * len(instances)) as advance:

        def keep(trial: CostTrial, found: CostFinding) -> None:
            findings.append(found)
            shown = ", ".join(f"{size} {one:.3f}" for size, one in found.speedups.items())
            advance(f"{found.instance}: {shown or found.fault}")

        pool.run([CostTrial(one) for one in instances for _ in range(repeat)], keep)
    broken = [found for found in findings if not found.holds]
    if json:
        print_json(findings)
    else:
        for found in broken:
            typer.echo(f"{found.instance}: {found.fault or found.speedups}")
        typer.echo(f"{len(findings) - len(broken)} of {len(findings)} references are as fast as themselves, within 3 %")
    if broken:
        raise typer.Exit(1)


@command("evaluate")
def evaluate(
    samples: Annotated[Path, typer.Argument(help="JSONL with instance, sample, and answer (raw text) or code.")],
    out: Annotated[Path, typer.Option(help="Run folder for verdicts and report; an interrupted run resumes.")],
    execution: JudgingOptions,
    track: TrackOption = Track.FUNCTION,
    benchmark: BenchmarkOption = None,
) -> None:
    """Judge answers that already exist, from a file."""
    from dlbench.dataset.optimise import describe_track
    from dlbench.dataset.tracks import has_functions, open_track
    from dlbench.dataset.validation import name_records
    from dlbench.runs.samples import read_samples

    loaded = dataset.load(benchmark)
    parsed = read_samples(samples, opened := open_track(loaded, track))
    is_function = has_functions(opened)
    if not is_function:
        refuse_for_tasks(execution)
    costs = loaded.root if track is Track.OPTIMISE else None
    engine = make_judging_engine(execution, loaded.root if execution.plus and is_function else None, costs)
    name = samples.name.removesuffix(".gz").removesuffix(".jsonl")
    config: dict[str, object] = {"dlbench": __version__, "benchmark": name_records(loaded), "model": name}
    config |= {"timeout": execution.timeout, "memory": execution.memory}
    config |= describe_track(costs) if costs else {}
    open_run(out, config | (execution.describe() if is_function else {"track": str(track)}))
    if is_function:
        judge_into(loaded, parsed, out, engine, execution)
    else:
        named = {one.instance: opened.instances[one.instance] for one in parsed}
        tasks = {one.record.id: one for one in open_records(replace(opened, instances=named))}
        judge = plan_judge(engine, tasks, execution.count, len(parsed))
        with judging(opened, judge, parsed, out, len(parsed)) as evaluation:
            evaluation.finish(parsed)
    keep_samples(samples, out)
    show_scores([out], out / "report.md", loaded)
