"""The command `train-set build`: make the training set on this machine."""

import time
from pathlib import Path
from typing import Annotated

import typer

from dlbench import dataset
from dlbench.cli.app import add_group, command
from dlbench.cli.output import log

train_set = add_group("train-set", "Tasks to train models on, from projects that the benchmark does not have.")


@command("build", train_set)
def build(
    out: Annotated[
        Path | None, typer.Option(help="Folder to write, which must not exist (default: in the workspace, for --set).")
    ] = None,
    facts: Annotated[Path | None, typer.Option(help="Folder with the facts (default: the built-in).")] = None,
) -> None:
    """Fetch the projects of the training set and write its prompts; the result is a benchmark folder."""
    from dlbench.construction.training_set import build_training_set
    from dlbench.dataset.loading import find_own
    from dlbench.workspace.home import TRAINING, place_training_set

    began, loaded = time.monotonic(), dataset.load(facts or find_own(TRAINING))
    folder = out or place_training_set(loaded.root)
    build_training_set(loaded, folder, log)
    counts = ", ".join(f"{len(ids)} {name}" for name, ids in loaded.splits.items())
    typer.echo(f"{len(loaded.instances)} instances of {len(loaded.projects)} projects in {folder} ({counts})")
    log(f"{time.monotonic() - began:.0f} s; environments are built on first use, or by `dlbench prepare --set train`")
