"""The command `construct optimise`: workloads for the optimise track, and the best known costs."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.app import Chosen, SandboxOption, WorkerOptions, command
from dlbench.cli.construct_common import construct
from dlbench.cli.output import counted
from dlbench.runs import read_run

if TYPE_CHECKING:
    from dlbench.dataset.optimise import Workload


@command("optimise", construct)
def optimise(
    chosen: Chosen,
    again: Annotated[bool, typer.Option("--again", help="Also functions that have a record.")] = False,
    best: Annotated[
        list[Path] | None,
        typer.Option(help="Propose nothing; record the best costs of this run (repeatable).", metavar="RUN"),
    ] = None,
    sandbox: SandboxOption = "auto",
) -> None:
    """Make workloads of functions that can be made faster (docs/optimise.md). Rerun the same command to resume."""
    from dlbench.cli.engine import make_engine, prepare_projects
    from dlbench.construction.optimise import OptimiseTask, open_pool
    from dlbench.dataset.optimise import read_workloads, write_workload

    root = chosen.benchmark.root
    known = read_workloads(root)
    if best:
        for record in _find_best(known, best):
            write_workload(root, record)
            assert record.best is not None
            typer.echo(f"{record.instance}: {record.best.speedup:.2f} times as fast, by {record.best.by}")
        return
    instances = [one for one in chosen.instances if again or one.id not in known]
    pool = open_pool(make_engine(WorkerOptions(1, sandbox=sandbox)), prepare_projects(chosen.benchmark, instances))
    counts: Counter[str] = Counter()
    with counted("making workloads", len(instances)) as advance:

        def keep(task: OptimiseTask, record: "Workload") -> None:
            write_workload(root, record)
            counts[record.reason] += 1
            advance(f"{record.instance}: {record.reason or 'eligible'}")

        pool.run([OptimiseTask(one) for one in instances], keep)
    typer.echo(f"{counts.pop('', 0)} functions are eligible")
    for reason, count in counts.most_common():
        typer.echo(f"{count}: {reason}")


def _find_best(known: "dict[str, Workload]", runs: Iterable[Path]) -> "list[Workload]":
    """The records that a measured answer of a run improves."""
    from dlbench.dataset.optimise import Best
    from dlbench.scoring.speed import find_gain

    found: dict[str, Workload] = {}
    for run in map(read_run, runs):
        for verdict in run.verdicts:
            record = found.get(verdict["instance"]) or known.get(verdict["instance"])
            if (
                record is None
                or not find_gain(verdict)
                or verdict["speedup"] <= (record.best.speedup if record.best else 1)
            ):
                continue
            one = Best(
                speedup=round(verdict["speedup"], 3),
                memory=verdict.get("memory_ratio"),
                by=str(run.config.get("model", run.folder.name)),
                found=datetime.now(UTC).date(),
            )
            found[record.instance] = record.model_copy(update={"best": one})
    return list(found.values())
