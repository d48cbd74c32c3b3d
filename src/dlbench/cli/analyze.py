"""The commands that study datasets: complexity and relevance. Those that study scores stand in `analyze_scores`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.app import JsonOption, app, command

if TYPE_CHECKING:
    from dlbench.analysis.corpora import Corpus
    from dlbench.reporting.tables import Tabled

analyze = typer.Typer(
    help="What the data, the scores and the failures say: docs/studies.md.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(analyze, name="analyze")

CorporaArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[DATASET]...",
        help="`ours`, a benchmark's folder, a folder of official DL-Bench files, DS-1000's JSONL; or NAME=PATH.",
    ),
]
SourcesOption = Annotated[
    Path | None,
    typer.Option(help="Folder with a source tree a project, to find references of datasets that hold no code."),
]
PicturesOption = Annotated[Path | None, typer.Option(help="Also draw it into this folder (SVG).")]


@command("complexity", analyze)
def complexity(
    datasets: CorporaArgument = None,
    sources: SourcesOption = None,
    pictures: PicturesOption = None,
    json: JsonOption = False,
) -> None:
    """How long and how tangled are the references? Lines, cyclomatic, cognitive, nesting, calls."""
    from dlbench.analysis.complexity import measure_complexity
    from dlbench.cli.progress import counted
    from dlbench.reporting.studies import draw_complexity, tabulate_complexity, tell_complexity

    corpora = read(datasets, sources)
    with counted("measuring", sum(len(corpus.with_code) for corpus in corpora), every=2.0) as advance:
        found = [measure_complexity(corpus, advance) for corpus in corpora]
    show({"complexity": tabulate_complexity(found)}, tell_complexity(found), found if json else None)
    write_pictures(pictures, draw_complexity(found))


@command("relevance", analyze)
def relevance(
    datasets: CorporaArgument = None,
    sources: SourcesOption = None,
    pictures: PicturesOption = None,
    json: JsonOption = False,
) -> None:
    """How much of prompts and of code speaks of deep learning? The share of words that contain a keyword."""
    from dlbench.analysis.relevance import measure_relevance
    from dlbench.reporting.studies import draw_relevance, tabulate_categories, tabulate_relevance, tell_missing

    corpora = read(datasets, sources)
    found = [one for corpus in corpora for one in measure_relevance(corpus)]
    tables = {
        "DL-relevance: share of distinct words": tabulate_relevance(found),
        "words by kind of keyword": tabulate_categories(found),
    }
    show(tables, tell_missing(corpora), found if json else None)
    write_pictures(pictures, draw_relevance(found))


def show(tables: "Mapping[str, Tabled]", notes: Sequence[str], record: object = None) -> None:
    """Tables and what has to be known about them; or, for programs, the record alone."""
    from dlbench.cli.printing import open_console, print_json
    from dlbench.reporting.tables import draw

    if record is not None:
        print_json(record)
        return
    for title, table in tables.items():
        open_console().print(draw(title, table))
    for line in notes:
        typer.echo(line)


def write_pictures(folder: Path | None, pictures: Mapping[str, str]) -> None:
    from dlbench.cli.progress import say
    from dlbench.jsonl import write_whole
    from dlbench.runs import make_folder

    if folder is None:
        return
    make_folder(folder)
    for name, picture in pictures.items():
        write_whole(folder / f"{name}.svg", picture)
    say(f"drawn: {', '.join(str(folder / f'{name}.svg') for name in pictures)}")


def read(datasets: list[str] | None, sources: Path | None, *, want_code: bool = True) -> "list[Corpus]":
    from dlbench.analysis.corpora import OURS, read_corpora
    from dlbench.cli.progress import say

    return read_corpora(datasets or [OURS], sources=sources, want_code=want_code, say=say)
