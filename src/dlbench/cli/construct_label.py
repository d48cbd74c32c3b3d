"""Commands of the last construction steps: label, review, write, split."""

import math
import webbrowser
from collections import Counter
from collections.abc import Callable
from functools import cache
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench import dataset
from dlbench.cli.app import BenchmarkOption, JsonOption, command
from dlbench.cli.construct_common import WORK, WorkOption, construct
from dlbench.cli.output import log, print_json
from dlbench.errors import DLBenchError
from dlbench.jsonl import write_whole

if TYPE_CHECKING:
    from dlbench.construction import WorkFolder
    from dlbench.construction.labelling import LabelDecision
    from dlbench.construction.labelling.catalogue import Entry, Source

TreeOption = Annotated[
    Path | None, typer.Option(help="Source tree of the project, or a folder of trees named after their projects.")
]


@command("label", construct)
def label(
    work: WorkOption = WORK,
    votes: Annotated[
        list[Path] | None, typer.Option(help="Votes in a JSONL or CSV file instead of the folder's (repeatable).")
    ] = None,
    settled: Annotated[
        Path | None,
        typer.Option(
            help="JSONL with id, axis, value and reason of discussed ties; settled.jsonl of the work folder by default."
        ),
    ] = None,
    export_label_studio: Annotated[
        Path | None, typer.Option(help="Write tasks here (.json) and the configuration beside it (.xml), then exit.")
    ] = None,
    import_label_studio: Annotated[
        Path | None, typer.Option(help="First import the votes of a Label Studio export (JSON).")
    ] = None,
    tree: TreeOption = None,
    benchmark: BenchmarkOption = None,
    json: JsonOption = False,
) -> None:
    """Decide labels by the majority of at least three votes; list ties and measure annotator agreement."""
    from dlbench.construction import WorkFolder
    from dlbench.construction.labelling import decide, measure_alpha, read_settlements
    from dlbench.construction.labelling.catalogue import read_catalogue
    from dlbench.construction.labelling.label_studio import import_votes, read_export
    from dlbench.construction.labelling.votes import read_votes, votes_of

    folder = WorkFolder(work)
    catalogue = read_catalogue(folder)
    if export_label_studio:
        _export(export_label_studio, folder, catalogue, _reader(folder, tree, benchmark))
        return
    if import_label_studio:
        imported = read_export(import_label_studio)
        new = import_votes(imported, catalogue, votes_of(folder))
        log(f"{len(imported)} votes of {len({vote.annotator for vote in imported})} annotators read, {new} of them new")
    all_votes = read_votes(votes or folder)
    if not all_votes:
        raise DLBenchError("there are no votes yet", where=str(work), fix="vote with `dlbench construct review`")
    known = [vote for vote in all_votes if not catalogue or vote.id in catalogue]
    labelled = decide(known, read_settlements(settled or folder.path("settled")))
    alphas = measure_alpha(known)
    folder.write("labels", [one.as_row() for one in labelled if one.is_decided])
    unknown = sorted({vote.id for vote in all_votes} - {vote.id for vote in known})
    unvoted = sorted(set(catalogue) - {vote.id for vote in known})
    if json:
        outcomes = {one.id: {axis: decision.outcome for axis, decision in one.axes.items()} for one in labelled}
        rows = [one.as_row() | {"outcomes": outcomes[one.id]} for one in labelled]
        print_json({"functions": rows, "alpha": alphas, "no_vote": unvoted, "left_out": unknown})
        return
    _print_decisions(labelled, unknown, unvoted)
    shown = (f"{axis} {'n/a' if math.isnan(alpha) else f'{alpha:.3f}'}" for axis, alpha in alphas.items())
    typer.echo(f"Krippendorff's alpha: {', '.join(shown)}")
    typer.echo(f"{sum(one.is_decided for one in labelled)} of {len(catalogue) or len(labelled)} functions are labelled")


@command("review", construct)
def review(
    work: WorkOption = WORK,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Local port; 0 chooses a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    tree: TreeOption = None,
    benchmark: BenchmarkOption = None,
) -> None:
    """Open a local page to vote on labels, edit prompts, and accept or reject functions."""
    from dlbench.construction import WorkFolder
    from dlbench.construction.labelling.catalogue import read_catalogue
    from dlbench.construction.labelling.review_server import serve

    folder = WorkFolder(work)
    catalogue = read_catalogue(folder)
    if not catalogue:
        fix = "run the earlier steps, or give their folder as --work"
        raise DLBenchError("there is no admissible function to review", where=str(work), fix=fix)

    def ready(address: str) -> None:
        typer.echo(f"{len(catalogue)} functions to review at {address} (Ctrl-C to stop; everything is saved)")
        if not no_browser:
            webbrowser.open(address)

    serve(folder, _reader(folder, tree, benchmark), port=port, ready=ready)


@command("write", construct)
def write(
    into: Annotated[Path, typer.Option(help="Benchmark folder to write to; created if it does not exist.")],
    work: WorkOption = WORK,
    accept_all: Annotated[
        bool, typer.Option("--accept-all", help="Accept what nobody has rejected, for a private benchmark.")
    ] = False,
    annotator: Annotated[str, typer.Option(help="Who accepts with --accept-all.")] = "",
) -> None:
    """Write accepted, labelled and admissible functions as instances of a benchmark."""
    from dlbench.construction import WorkFolder
    from dlbench.construction.history import date_functions
    from dlbench.construction.labelling.votes import check_name
    from dlbench.construction.write_instances import write_instances
    from dlbench.workspace.source import fetch

    if accept_all != bool(annotator):
        raise DLBenchError("--accept-all and --annotator belong together", fix="pass both, or neither")
    folder = WorkFolder(work)
    if not folder.projects():
        raise DLBenchError("no project was constructed here", where=str(work), fix="run `dlbench construct run` first")
    made = dataset.load(work / "benchmark")

    @cache
    def find_tree(project: str) -> Path:
        return fetch(made.projects[project], made.root, log)

    alone = check_name(annotator) if accept_all else ""
    written = write_instances(folder, into, find_tree, date_functions, accept_all=alone)
    for function, why in written.left_out.items():
        typer.echo(f"{function}: left out: {why}")
    if accept_all:
        log("where nobody voted, the labels are the default ones; to choose them, vote in `dlbench construct review`")
    typer.echo(f"{len(written.paths)} instances written to {into}, {len(written.left_out)} functions left out")
    if not written.paths:
        fix = "accept functions with `dlbench construct review`, or all with --accept-all --annotator NAME"
        raise DLBenchError("no instance was written", where=str(into), fix=fix)


@command("split", construct)
def split(
    name: Annotated[str, typer.Argument(help="Name of the split, for example lite.")],
    size: Annotated[int, typer.Option(min=1, help="Number of instances.")],
    benchmark: BenchmarkOption = None,
) -> None:
    """Choose a small representative split, balanced over labels and projects; deterministic."""
    from dlbench.dataset.splits import choose_balanced

    loaded = dataset.load(benchmark)
    if name == "full" or name.startswith("live-") or not name.replace("-", "").isalnum():
        fix = "use letters, digits and -; full and live-YYYY-MM (new functions since that month) are reserved"
        raise DLBenchError(f"{name!r} is not a valid name for a split", fix=fix)
    chosen = choose_balanced(loaded.instances.values(), size)
    path = loaded.root / "splits" / f"{name}.txt"
    path.parent.mkdir(exist_ok=True)
    write_whole(path, "".join(f"{instance.id}\n" for instance in chosen))
    projects = len({instance.project for instance in chosen})
    typer.echo(f"{len(chosen)} of {len(loaded.instances)} instances, {projects} projects, in splits/{name}.txt")


def _reader(work: "WorkFolder", tree: Path | None, benchmark: Path | None) -> "Callable[[str], Source]":
    """Read code from the given tree, or from sources that are already fetched."""
    from dlbench.construction.labelling.catalogue import read_catalogue, read_source
    from dlbench.workspace.source import source_tree

    made = work.root / "benchmark"

    @cache
    def find_fetched(project: str) -> Path | None:
        loaded = dataset.load(benchmark or (made if made.is_dir() else None))
        found = source_tree(loaded.projects[project], loaded.root) if project in loaded.projects else None
        return found if found and found.is_dir() else None

    def read(function: str) -> "Source":
        entry = read_catalogue(work)[function]
        folder = find_fetched(entry.project) if tree is None else tree
        if folder is None:
            fix = "fetch it with `dlbench prepare`, or give the tree with --tree"
            raise DLBenchError(f"the source of {entry.project} is not on this machine", fix=fix)
        inner = folder / entry.project
        return read_source(entry, inner if tree is not None and (inner / entry.function["path"]).is_file() else folder)

    return read


def _export(path: Path, work: "WorkFolder", catalogue: "dict[str, Entry]", read: "Callable[[str], Source]") -> None:
    from dlbench.construction.labelling.label_studio import write_configuration, write_task
    from dlbench.construction.labelling.votes import read_reviews

    configuration = path.with_suffix(".xml")
    if configuration == path:
        fix = "use a .json name for the tasks"
        raise DLBenchError("this name is used for the configuration", where=str(path), fix=fix)
    reviews = read_reviews(work)
    tasks = []
    for entry in catalogue.values():
        review = reviews.get(entry.id)
        prompt = review.prompt if review and review.prompt is not None else entry.draft
        tasks.append(write_task(entry, prompt, read(entry.id)))
    write_whole(path, dumps(tasks, indent=1) + "\n")
    write_whole(configuration, write_configuration())
    typer.echo(f"{len(tasks)} tasks in {path}, the labelling configuration in {configuration}")


def _print_decisions(labelled: "list[LabelDecision]", unknown: list[str], unvoted: list[str]) -> None:
    from dlbench.construction.labelling import MIN_VOTES, Outcome
    from dlbench.dataset.labels import AXES

    for one in labelled:
        decided = {axis: one.axes[axis] for axis in AXES}
        shown = (f"{axis} {found.value or 'undecided'} ({found.outcome})" for axis, found in decided.items())
        typer.echo(f"{one.id}: {', '.join(shown)}")
    for axis, labels in AXES.items():
        counts = Counter(one.axes[axis].value for one in labelled)
        typer.echo(f"\n{axis}\n" + "\n".join(f"  {label:<24} {counts[label]:>4}" for label in labels))
    typer.echo("")
    for one in labelled:
        for axis, decision in one.axes.items():
            if decision.outcome is Outcome.TIE:
                typer.echo(f"tie to discuss: {one.id}: {axis}: {', '.join(decision.votes)}")
            elif decision.outcome is Outcome.TOO_FEW:
                typer.echo(f"too few votes: {one.id}: {axis}: {len(decision.votes)} of {MIN_VOTES}")
    for function in unvoted:
        typer.echo(f"no vote yet: {function}")
    for function in unknown:
        typer.echo(f"left out, no such admissible function: {function}")
