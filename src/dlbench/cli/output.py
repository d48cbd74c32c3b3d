"""Print tables, JSON and progress: a progress bar on a terminal, one line per step elsewhere."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console


def open_console() -> "Console":
    """A console as wide as the terminal; without a terminal, so wide that nothing wraps."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=10_000)


def print_json(value: object) -> None:
    """Print strict JSON; NaN becomes null."""
    from dlbench.reporting.tables import make_plain

    typer.echo(json.dumps(make_plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def log(text: str) -> None:
    """Print one line of progress to standard error."""
    print(f"· {text}", file=sys.stderr, flush=True)


@contextmanager
def counted(what: str, total: int, *, every: float = 0.0) -> Iterator[Callable[[str], None]]:
    """Show progress up to `total` with rate and remaining time; each call of the yielded function is one step.

    `every`: least seconds between two lines when there is no terminal, for steps that come by the hundred.
    """
    began = printed = time.monotonic()
    count = 0

    def pace() -> str:
        nonlocal count
        count += 1
        seconds = max(time.monotonic() - began, 1e-6)
        return f"{count / seconds:.1f}/s, {seconds / count * (total - count):.0f} s left"

    if not sys.stderr.isatty():

        def line(text: str) -> None:
            nonlocal printed
            message = f"{what} {count + 1}/{total} ({pace()}) {text}"
            if time.monotonic() - printed >= every:
                printed = time.monotonic()
                log(message)

        yield line
        return

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[last]}"))
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(what, total=total, last="")
        yield lambda text: progress.update(task, advance=1, last=f"{pace()}  {text}")
