"""The group of commands that ask in other words and let solutions and tests vote; each stands in a file of its own."""

import typer

from dlbench.cli.app import app

agree = typer.Typer(
    help="Prompt mutation and dual execution agreement: docs/agreement.md.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(agree, name="agree")
