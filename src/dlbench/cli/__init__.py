"""The command line: one file per group of commands; each parses, calls and prints."""

from typing import Annotated

import typer

from dlbench.cli import (  # noqa: F401 - they register
    agree,
    analyze,
    analyze_bugs,
    analyze_stage,
    check,
    compare,
    construct,
    dataset,
    evaluate,
    exchange,
    import_official,
    leaderboard,
    report,
    run,
    workspace,
)
from dlbench.cli.app import app


def _show_version(value: bool) -> None:
    if value:
        from dlbench import __version__

        typer.echo(f"dlbench {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    pass


def main() -> None:
    app()
