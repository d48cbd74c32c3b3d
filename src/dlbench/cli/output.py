"""How does a command print for programs, and how wide for people?

What does a person see while something takes long? On a terminal a bar; elsewhere a line for each thing done.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

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


class Advance(Protocol):
    def __call__(self, text: str) -> None: ...


def log(text: str) -> None:
    """One line of progress, beside the output proper."""
    print(f"· {text}", file=sys.stderr, flush=True)


@contextmanager
def counted(what: str, total: int, *, every: float = 0.0) -> Iterator[Advance]:
    """Counts up to `total`; each call is one thing done. Says how fast it goes, and how long it will take.

    `every`: seconds between two lines where there is no terminal, for things done by the hundred.
    """
    began = said = time.monotonic()
    count = 0

    def pace() -> str:
        nonlocal count
        count += 1
        seconds = max(time.monotonic() - began, 1e-6)
        return f"{count / seconds:.1f}/s, {seconds / count * (total - count):.0f} s left"

    if not sys.stderr.isatty():

        def line(text: str) -> None:
            nonlocal said
            told = f"{what} {count + 1}/{total} ({pace()}) {text}"
            if time.monotonic() - said >= every:
                said = time.monotonic()
                log(told)

        yield line
        return

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[last]}"))
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(what, total=total, last="")
        yield lambda text: progress.update(task, advance=1, last=f"{pace()}  {text}")
