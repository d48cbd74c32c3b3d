"""Print tables, JSON and progress: a progress bar on a terminal, one line per step elsewhere."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars


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


class Progress:
    """Steps up to `total`, with rate and remaining time; each call is one step. Bars on a terminal, else lines."""

    def __init__(self, what: str, total: int, every: float, bars: "Bars | None") -> None:
        self._what, self._total, self._every, self._bars = what, total, every, bars
        self._count = self._kept = 0
        self._began = self._printed = time.monotonic()
        self._task = bars.add_task(what, total=total, last="") if bars is not None else None

    def keep(self, count: int) -> None:
        """Count steps of an earlier start: they are done, but say nothing about the rate."""
        self._count += count
        self._kept += count
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, advance=count)
        elif count:
            log(f"{self._what}: {count} of {self._total} kept from an earlier start")

    def __call__(self, text: str) -> None:
        self._count += 1
        new, now = self._count - self._kept, time.monotonic()
        seconds = max(now - self._began, 1e-6)
        pace = f"{new / seconds:.1f}/s, {seconds / new * (self._total - self._count):.0f} s left"
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, advance=1, last=f"{pace}  {text}")
        elif now - self._printed >= self._every:
            self._printed = now
            log(f"{self._what} {self._count}/{self._total} ({pace}) {text}")


_bars: "ContextVar[Bars | None]" = ContextVar("bars", default=None)
"""The bars on the terminal, which can be shown only once; a second counter inside the first joins them."""


@contextmanager
def counted(what: str, total: int, *, every: float = 0.0) -> Iterator[Progress]:
    """Show progress; `every`: least seconds between two lines without a terminal, for steps that are many."""
    if (bars := _bars.get()) is not None or not sys.stderr.isatty():
        yield Progress(what, total, every, bars)
        return

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[last]}"))
    with Bars(*columns, console=Console(stderr=True)) as bars:
        token = _bars.set(bars)
        try:
            yield Progress(what, total, every, bars)
        finally:
            _bars.reset(token)
