"""The command line: one file per group of commands; each parses, calls and prints."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated

import typer

from dlbench import __version__
from dlbench.cli.app import app

for module in iter_modules(__path__):  # they register their commands
    import_module(f"dlbench.cli.{module.name}")


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"dlbench {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    app()
