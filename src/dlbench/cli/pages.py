"""What commands that write pages have in common, and the command `browse`."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.app import Chosen, command
from dlbench.errors import DLBenchError

if TYPE_CHECKING:
    from dlbench.dataset import Benchmark, Instance
    from dlbench.reporting.report_data import ReportData

PublicOption = Annotated[
    bool, typer.Option("--public", help="Leave out every line of the projects' own code, to share the page.")
]
PICTURES = "pictures"
_FILE = Path("dlbench-dataset.html")


def read_fetched(benchmark: "Benchmark") -> "Callable[[Instance], str | None]":
    """Gives the text of an instance's module where its source is on this machine; fetches nothing."""
    from dlbench.workspace.source import source_tree

    @functools.cache
    def tree_of(project: str) -> Path | None:
        try:
            tree = source_tree(benchmark.projects[project], benchmark.root)
        except DLBenchError:
            return None
        return tree if tree.is_dir() else None

    @functools.cache
    def text_of(project: str, path: str) -> str | None:
        tree = tree_of(project)
        try:
            return (tree / path).read_text(encoding="utf-8") if tree else None
        except (OSError, UnicodeDecodeError):
            return None

    return lambda instance: text_of(instance.project, instance.path)


def write_folder(standing: "ReportData", out: Path, *, public: bool) -> None:
    """The page and the tables for other programs, beside `report.md`."""
    from dlbench.cli.progress import counted, say
    from dlbench.jsonl import write_whole
    from dlbench.reporting.candidates import read_candidates
    from dlbench.reporting.export import NO_PARQUET, has_parquet, write_tables
    from dlbench.reporting.pages import write_page
    from dlbench.reporting.pages.figures import draw_stills
    from dlbench.runs import make_folder

    candidates = {}
    for name, run in standing.runs.items():
        with counted(f"reading {name}", len(run.verdicts), every=2.0) as advance:
            candidates[name] = read_candidates(run, standing.benchmark, public=public, on_read=advance)
    say("writing the page")
    page = write_page(standing, candidates, read_fetched(standing.benchmark), public=public)
    write_whole(out / "report.html", page)
    written = write_tables(standing, out)
    make_folder(out / PICTURES)
    for name, picture in draw_stills(standing).items():
        write_whole(out / PICTURES / f"{name}.svg", picture)
    if not has_parquet():
        say(NO_PARQUET)
    say(f"the page is {out / 'report.html'}; beside it are {', '.join(written)} and {PICTURES}/")


@command("browse")
def browse(
    chosen: Chosen,
    out: Annotated[Path, typer.Option(help="File for the page.")] = _FILE,
    run: Annotated[
        list[Path] | None, typer.Option(help="A run folder that tells how hard each instance is (repeatable).")
    ] = None,
    public: PublicOption = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only write the page.")] = False,
) -> None:
    """Write one page with every chosen instance (prompt, tests, labels, measures, reference) and open it."""
    from dlbench.jsonl import write_whole
    from dlbench.reporting.candidates import tells_difficulty
    from dlbench.reporting.pages import write_browser
    from dlbench.runs import read_run
    from dlbench.scoring import tally

    told = [read_run(folder) for folder in run or ()]
    tallies = [tally(one.verdicts, chosen.benchmark) for one in told if tells_difficulty(one)]
    read_module = read_fetched(chosen.benchmark)
    page = write_browser(chosen.benchmark, chosen.instances, read_module, tallies, public=public)
    try:
        write_whole(out, page)
    except OSError as error:
        what, mend = f"cannot be written: {error.strerror}", "give another --out, in a folder that is there"
        raise DLBenchError(what, where=str(out), mend=mend) from None
    typer.echo(f"{len(chosen.instances)} instances: {out}")
    if not no_browser:
        import webbrowser

        webbrowser.open(out.resolve().as_uri())
