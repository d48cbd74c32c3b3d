"""The commands that ask the same in other words and let solutions and tests vote."""

import typer

from dlbench.cli.app import app

agree = typer.Typer(
    help="Ask the same in other words, and let solutions and tests vote.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(agree, name="agree")
