"""The command `import evalplus`: solutions that evalplus wrote, as samples to be judged here."""

from pathlib import Path
from typing import Annotated

import typer

from dlbench.cli.app import BenchmarkOption, command
from dlbench.cli.import_official import imports
from dlbench.errors import DLBenchError


@command("evalplus", imports)
def evalplus(
    solutions: Annotated[Path, typer.Argument(help="JSONL that evalplus wrote: task_id, and solution or completion.")],
    out: Annotated[Path, typer.Option(help="Samples to write (JSONL); the file must not exist yet.")],
    tasks: Annotated[Path | None, typer.Option(help="The exported tasks, where lines hold completions.")] = None,
    benchmark: BenchmarkOption = None,
) -> None:
    """Read solutions that evalplus has a model write, for `dlbench evaluate`."""
    from dlbench.bridges.exports.evalplus import read_prompts, read_solutions
    from dlbench.dataset import load
    from dlbench.jsonl import rewrite

    if out.exists():
        raise DLBenchError("this exists already", where=str(out), mend="give --out a file that is not there yet")
    samples = read_solutions(solutions, load(benchmark), read_prompts(tasks) if tasks else {})
    out.parent.mkdir(parents=True, exist_ok=True)
    rewrite(out, samples)
    typer.echo(f"{len(samples)} answers are in {out}: dlbench evaluate {out} --out RUN", err=True)
