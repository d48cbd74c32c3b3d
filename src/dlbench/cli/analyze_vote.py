"""The command with which people vote on failures: `analyze vote-bugs`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.analyze import analyze
from dlbench.cli.analyze_bugs import Half, HalfOption, read_failures
from dlbench.cli.app import BenchmarkOption, command

if TYPE_CHECKING:
    from dlbench.analysis.bugs.explain import Explained


@command("vote-bugs", analyze)
def vote_bugs(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    out: Annotated[Path, typer.Option(help="Folder for votes, one file a voter; `bugs --votes` reads them.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of this machine; 0 takes a free one.")] = 0,
    half: HalfOption = Half.MEASURING,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    benchmark: BenchmarkOption = None,
) -> None:
    """Open a page of this machine to say which kind of bug each failure is, blind to what others say."""
    from dlbench.analysis.bugs.explain import Library, explain
    from dlbench.analysis.bugs.voting.booth import Booth
    from dlbench.analysis.bugs.voting.page import serve
    from dlbench.cli.output import counted
    from dlbench.dataset import load

    loaded = load(benchmark)
    failures, _, _ = read_failures(runs, loaded, half)
    library = Library(loaded)
    with counted("gathering evidence", len(failures), every=2.0) as advance:
        found = explain(failures, library, look_up=False, on_done=advance)

    def read_reference(one: "Explained") -> str | None:
        around = library.around(one.failure.instance)
        return around.target.text if around else None

    def ready(address: str) -> None:
        typer.echo(f"{len(found)} failures to vote on at {address} (Ctrl-C ends it; all votes are kept)")
        if not no_browser:
            import webbrowser

            webbrowser.open(address)

    serve(Booth(found, out, read_reference), port, ready)
