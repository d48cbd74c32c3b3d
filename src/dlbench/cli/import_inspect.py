"""The command `import inspect`: what a log of inspect holds of ours, as a run folder."""

import json
from pathlib import Path
from typing import Annotated

import typer

from dlbench.cli.app import BenchmarkOption, command
from dlbench.cli.extras import need
from dlbench.cli.import_official import imports
from dlbench.errors import DLBenchError


@command("inspect", imports)
def inspect(
    log: Annotated[Path, typer.Argument(help="A log of inspect (.eval or .json).")],
    out: Annotated[Path, typer.Option(help="Write samples.jsonl here, and verdicts.jsonl where our judge was asked.")],
    benchmark: BenchmarkOption = None,
) -> None:
    """Read answers, and our verdicts on them, from a log of inspect."""
    need("inspect_ai", "inspect")
    from dlbench.bridges.inspect.logs import read_log
    from dlbench.dataset import load
    from dlbench.jsonl import rewrite, write_whole
    from dlbench.runs import CONFIG, SAMPLES, make_folder
    from dlbench.runs.verdict import VERDICTS

    for name in (SAMPLES, VERDICTS, CONFIG):
        if (out / name).exists():
            raise DLBenchError("this exists already", where=str(out / name), mend="give a new --out")
    found = read_log(log, load(benchmark))
    for where, why in found.left_out:
        typer.echo(f"LEFT OUT: {where}: {why}", err=True)
    make_folder(out)
    rewrite(out / SAMPLES, found.samples)
    if found.verdicts:
        write_whole(out / CONFIG, json.dumps(found.config, indent=2, ensure_ascii=False) + "\n")
        rewrite(out / VERDICTS, found.verdicts)
    typer.echo(f"{len(found.samples)} answers and {len(found.verdicts)} verdicts are in {out}", err=True)
    if len(found.verdicts) < len(found.samples):
        typer.echo(f"judge them: dlbench evaluate {out / SAMPLES} --out {out}-judged", err=True)
