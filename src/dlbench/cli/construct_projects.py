"""Which projects does a step of construction go through, and what is told of those that fail?"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dlbench.cli.engine import HERE, Where

if TYPE_CHECKING:
    from dlbench.construction.chain import Chain
    from dlbench.construction.project import Wish
    from dlbench.execution import Engine


def read_chosen(names: list[str] | None, projects: Path | None) -> "list[Wish]":
    from dlbench.construction.project import Wish
    from dlbench.construction.wishes import read_wishes
    from dlbench.errors import DLBenchError

    known = {wish.name: wish for wish in read_wishes(projects)} if projects else {}
    if not names and not known:
        raise DLBenchError("no project is named", mend="give names of packages, or --projects FILE")
    return [known.get(name, Wish(name)) for name in names] if names else list(known.values())


def make_patient_engine(sandbox: str, where: Where = HERE) -> "Engine":
    from dataclasses import replace

    from dlbench.cli.engine import make_engine

    engine = make_engine(sandbox, where=where)
    return replace(engine, limits=replace(engine.limits, load_seconds=300.0, test_seconds=25.0))


def make_chains(
    names: list[str] | None, projects: Path | None, work: Path, sandbox: str, workers: int = 1, where: Where = HERE
) -> "list[Chain]":
    from dlbench.cli.progress import say
    from dlbench.construction.chain import Chain
    from dlbench.construction.work import Work

    engine = make_patient_engine(sandbox, where)
    return [Chain(engine, Work(work), wish, say, workers=workers) for wish in read_chosen(names, projects)]


def do_each(chains: "list[Chain]", do: "Callable[[Chain], None]") -> None:
    """Does a step with every project; those that fail are told at the end, when the others have had their turn."""
    from dlbench.cli.progress import say
    from dlbench.construction.each import explain, try_each
    from dlbench.errors import DLBenchError

    failed = try_each(chains[0].work, chains, do, say)
    for name, error in failed.items():
        told = str(error) if isinstance(error, DLBenchError) else explain(error)
        typer.echo(f"{name}: failed: {told}", err=True)
    if failed:
        raise typer.Exit(1)
