"""What commands that judge have in common: judging into a run folder, and showing scores. Also the command `report`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.app import BenchmarkOption, command
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.dataset import Benchmark
    from dlbench.execution import Engine
    from dlbench.execution.samples import Sample


def judge_into(
    benchmark: "Benchmark",
    samples: "list[Sample]",
    out: Path,
    engine: "Engine",
    workers: int,
    mode: str,
    pool_memory: int,
) -> None:
    from dlbench.cli.engine import make_pool, prepare_projects
    from dlbench.cli.progress import counted
    from dlbench.execution import Verdict
    from dlbench.execution.evaluate import evaluate

    instances = [benchmark.instances[key] for key in dict.fromkeys(sample.instance for sample in samples)]
    pool = make_pool(engine, prepare_projects(benchmark, instances), workers, mode, pool_memory)
    with counted("judging", len(samples)) as advance:

        def shown(verdict: Verdict) -> None:
            advance(f"{verdict.instance}: {verdict.status}")

        evaluate(benchmark, pool, samples, out, on_verdict=shown)


def show_scores(folders: list[Path], report: Path, benchmark: "Benchmark") -> None:
    """Tables to the terminal, a report beside the runs; ends 1 when some of it was our own fault."""
    from rich.console import Console

    from dlbench.journal import write_whole
    from dlbench.reporting import read_run, write_report
    from dlbench.reporting.tables import score_table, status_table
    from dlbench.scoring import summarise

    runs = [read_run(folder) for folder in folders]
    summaries = {run.name: summarise(run.verdicts, benchmark) for run in runs}
    console = Console()
    console.print(score_table(summaries))
    console.print(status_table(summaries))
    write_whole(report, write_report(runs, benchmark))
    typer.echo(f"report: {report}")
    faults = [record for run in runs for record in run.verdicts if record["status"] == "harness_error"]
    if faults:
        what = f"{len(faults)} verdict(s) are harness errors, our fault and not the model's"
        mend = "start the same command again, which tries them again; `dlbench doctor` looks at the machine"
        raise DLBenchError(f"{what}; the first: {faults[0]['message']}", where=faults[0]["instance"], mend=mend)


@command("report")
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, side by side.")],
    out: Annotated[
        Path | None, typer.Option(help="File for the report; report.md in the first run by default.")
    ] = None,
    benchmark: BenchmarkOption = None,
) -> None:
    """Score runs again from what they saved, without running anything."""
    from dlbench.dataset import load

    show_scores(runs, out or runs[0] / "report.md", load(benchmark))
