"""How does a command print for programs, and how wide for people?"""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console

_WIDE = 160


def open_console() -> "Console":
    """As wide as the terminal; where there is none, wide enough that no number is folded."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=_WIDE)


def print_json(value: object) -> None:
    """JSON that any parser takes: null where there is no number."""
    import json

    from dlbench.reporting.tables import make_plain

    typer.echo(json.dumps(make_plain(value), indent=2, ensure_ascii=False, allow_nan=False))
