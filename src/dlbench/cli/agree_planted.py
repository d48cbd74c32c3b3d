"""The command `agree planted`: the whole pipeline without a model, on solutions known to be right or wrong."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from dlbench.cli.agree import agree
from dlbench.cli.app import (
    CORES,
    Chosen,
    ExecutorOption,
    JsonOption,
    MemoryOption,
    PoolMemoryOption,
    RayAddressOption,
    SandboxOption,
    SeatsOption,
    TimeoutOption,
    command,
)


@command("planted", agree)
def planted(
    chosen: Chosen,
    out: Annotated[Path, typer.Option(help="Folder for matrix and verdicts; goes on where it stopped.")],
    solutions: Annotated[int, typer.Option(min=2, help="Solutions of each instance.")] = 8,
    right: Annotated[int, typer.Option(min=0, help="How many of them are the reference; the others are mutants.")] = 2,
    checks: Annotated[int, typer.Option(min=1, help="Most tests of each instance.")] = 10,
    wrong: Annotated[float, typer.Option(min=0.0, max=0.9, help="Share of tests that are planted wrong.")] = 0.4,
    turned: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of the wrong ones that pass just where solutions err.")
    ] = 0.5,
    seed: Annotated[int, typer.Option(help="Of the mix, and of ties.")] = 0,
    seconds: Annotated[float, typer.Option(min=0.1, help="Seconds that one test may take.")] = 10.0,
    workers: SeatsOption = None,
    executor: ExecutorOption = "local",
    ray_address: RayAddressOption = None,
    sandbox: SandboxOption = "auto",
    timeout: TimeoutOption = 60.0,
    memory: MemoryOption = 4096,
    pool_memory: PoolMemoryOption = 4096,
    json: JsonOption = False,
) -> None:
    """Choose among the reference and its mutants, by tests of the project with wrong ones planted among them."""
    from dlbench.agreement.planted import Mix
    from dlbench.agreement.planting import run_planted
    from dlbench.agreement.study import compare_rules
    from dlbench.cli.engine import Where, make_engine, make_pool, prepare_projects
    from dlbench.cli.output import counted, open_console, print_json
    from dlbench.errors import DLBenchError
    from dlbench.execution.cross_run import CrossRunPool
    from dlbench.reporting.studies.agreement import describe_not_counted, tabulate_gain
    from dlbench.reporting.tables import draw
    from dlbench.runs import open_run

    if right > solutions:
        what = f"{right} of {solutions} solutions cannot be the reference"
        raise DLBenchError(what, where="--right", fix="ask for as many --solutions, or more")
    mix = Mix(solutions, right, checks, wrong, turned, seed)
    instances = chosen.instances
    engine = make_engine(sandbox, timeout, memory, Where(executor, ray_address, workers))
    prepared = prepare_projects(chosen.benchmark, instances)
    config = {"benchmark": str(chosen.benchmark.version), "model": "planted", "mix": repr(mix)}
    limits = {"seconds": seconds, "timeout": timeout, "memory": memory}
    open_run(out, config | limits | {"instances": [instance.id for instance in instances]})
    rooms = CrossRunPool(engine, prepared, workers=workers or CORES, seconds=seconds, outputs=True)
    pool = make_pool(engine, prepared, workers or CORES, "auto", pool_memory)
    with counted("planted", len(instances) * (1 + 2 * solutions), every=2.0) as advance:
        made = run_planted(chosen.benchmark, instances, rooms, pool, mix, out, advance)
    if not made.polls:
        raise DLBenchError("no test of the chosen instances stands alone", fix="choose other instances")
    found = {
        name: compare_rules(polls, "codet", chosen.benchmark, has_original=False)
        for name, polls in (("all tests", made.polls), ("tests that nobody chose by", made.held_out))
        if polls
    }
    if json:
        print_json(
            {
                "instances": len(made.polls),
                "left_out": made.left_out,
                "not_run": made.not_run,
                "comparison": found,
            }
        )
        return
    for name, one in found.items():
        open_console().print(draw(f"{len(one.instances)} instances, judged by {name}; {mix}", tabulate_gain(one)))
        if fault := describe_not_counted(one):
            typer.echo(fault)
    for told in made.not_run:
        typer.echo(f"NOT RUN: {told}")
    reasons = Counter(made.left_out.values())
    told = "; ".join(f"{reason}: {count}" for reason, count in reasons.items())
    typer.echo(f"left out: {len(made.left_out)} instances" + (f" ({told})" if told else ""))
