"""The `analyze stage` commands: evaluate, train and use the classifier of stage, task and data."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.cli.analyze import CorporaArgument, StudyOutput, analyze, read
from dlbench.cli.app import add_group, command, need
from dlbench.cli.output import counted, log
from dlbench.jsonl import Journal, rewrite
from dlbench.runs import make_folder, open_run

if TYPE_CHECKING:
    from dlbench.analysis.labelled_prompts import Prompts

stage = add_group("stage", "Predict stage, task and data type from prompts: docs/studies.md.", analyze)

DatasetArgument = Annotated[
    str, typer.Argument(help="Labelled prompts: `ours`, a benchmark folder, or a folder of official DL-Bench files.")
]
AlsoOption = Annotated[
    str | None,
    typer.Option(
        metavar="DATASET",
        help="Also train on the labelled prompts of another dataset, except those of projects that both have.",
    ),
]
EncoderOption = Annotated[str, typer.Option(help="`minilm`, or a sentence-transformers model by folder or name.")]


@command("evaluate", stage)
def evaluate(
    output: StudyOutput,
    dataset: DatasetArgument = "ours",
    out: Annotated[Path, typer.Option(help="Folder for folds and predictions; rerun to resume.")] = Path("runs/stage"),
    also: AlsoOption = None,
    folds: Annotated[int, typer.Option(min=2)] = 5,
    new_projects: Annotated[
        bool, typer.Option("--new-projects", help="Test only on projects that were not trained on.")
    ] = False,
    fast: Annotated[bool, typer.Option("--fast", help="Only the methods that need no encoder.")] = False,
    encoder: EncoderOption = "minilm",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the folds.")] = 0,
) -> None:
    """Predict stage, task and data type from prompts (cross-validated), with baselines."""
    from dlbench.analysis.classifier import METHODS, WITHOUT_ENCODER, cross_validate
    from dlbench.generation.techniques.examples import hash_prompt
    from dlbench.reporting import studies

    need("sklearn", "analysis")
    name, prompts = _gather(dataset, also)
    config = {"dataset": name, "prompts": len(prompts.ids), "data": prompts.digest, "folds": folds}
    config |= {"encoder": encoder, "seed": seed} | ({"added": prompts.added} if prompts.added else {})
    open_run(out, config | ({"new_projects": True} if new_projects else {}))
    methods = WITHOUT_ENCODER if fast else METHODS
    with Journal(out / "folds.jsonl") as journal:
        on_line = _throttle(log)
        found = cross_validate(
            prompts, name, folds, methods, journal, on_line, encoder=encoder, seed=seed, new_projects=new_projects
        )
    hashes = {id: hash_prompt(text) for id, text in zip(prompts.ids, prompts.texts, strict=True)}
    answers = found.answers[methods[-1]]
    rewrite(out / "predictions.jsonl", ({"instance": id, "prompt": hashes[id], **answers[id]} for id in answers))
    added = f", trained with {prompts.added} prompts of another dataset" if prompts.added else ""
    separated = " with separate projects" if new_projects else ""
    tables = {f"{name}, {folds} folds{separated}, seed {seed}{added}": studies.tabulate_methods(found)}
    for one in found.figures:
        if one.method == methods[-1]:
            title = f"{one.axis} by {one.method}: true labels in rows, predicted ones in columns"
            tables[title] = studies.tabulate_labels(one)
    notes = [f"predictions for unseen prompts by {methods[-1]}: {out / 'predictions.jsonl'}"]
    output.show(tables, notes, found, studies.draw_methods(found))


@command("train", stage)
def train(
    dataset: DatasetArgument = "ours",
    out: Annotated[Path, typer.Option(help="Folder for the classifier.")] = Path("runs/stage-classifier"),
    also: AlsoOption = None,
    encoder: EncoderOption = "minilm",
) -> None:
    """Write a classifier trained on all labelled prompts of a dataset, for `predict`."""
    from dlbench.analysis.classifier import train as write_classifier

    _, prompts = _gather(dataset, also)
    make_folder(out)
    write_classifier(prompts, out, encoder)
    typer.echo(f"trained on {len(prompts.ids)} prompts: {out}")


@command("predict", stage)
def predict(
    output: StudyOutput,
    datasets: CorporaArgument = None,
    model: Annotated[Path, typer.Option(help="Folder that `train` wrote.")] = Path("runs/stage-classifier"),
    out: Annotated[Path | None, typer.Option(help="Also write the predictions for each prompt (JSONL).")] = None,
) -> None:
    """Predict stage, task and data type of every prompt of a dataset, and count the labels."""
    from dlbench.analysis.classifier import predict as predict_labels
    from dlbench.reporting import studies

    need("sklearn", "analysis")
    corpora = read(datasets, None, with_code=False)
    predicted = {}
    for corpus in corpora:
        ids, texts = [item.id for item in corpus.items], [item.prompt for item in corpus.items]
        with counted(f"predicting {corpus.name}", len(ids), every=5.0) as advance:
            predicted[corpus.name] = predict_labels(model, ids, texts, advance)
    if out is not None:
        rows = ((name, id, labels) for name, found in predicted.items() for id, labels in found.items())
        rewrite(out, ({"dataset": name, "instance": id, **labels} for name, id, labels in rows))
    true = {corpus.name: {item.id: item.labels for item in corpus.items} for corpus in corpora}
    tables = {"predicted and true labels": studies.tabulate_predictions(predicted, true)}
    output.show(tables, [], predicted, studies.draw_predictions(predicted))


def _gather(dataset: str, also: str | None) -> "tuple[str, Prompts]":
    from dlbench.analysis.labelled_prompts import add_prompts, gather_prompts

    corpus, *others = read([dataset, *([] if also is None else [also])], None, with_code=False)
    prompts = gather_prompts(corpus)
    return corpus.name, add_prompts(prompts, corpus, *others) if others else prompts


def _throttle(log: Callable[[str], None], every: float = 5.0) -> Callable[[str], None]:
    """Log each finished fold and method; other lines at most every few seconds."""
    last = 0.0

    def throttled(text: str) -> None:
        nonlocal last
        if text.startswith("fold") or time.monotonic() - last >= every:
            last = time.monotonic()
            log(text)

    return throttled
