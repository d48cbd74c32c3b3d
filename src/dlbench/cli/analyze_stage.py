"""The commands about the classifier of stages, tasks and kinds of data: train it, measure it, ask it."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlbench.analysis.classifier.data import Recipe
from dlbench.cli.analyze import CorporaArgument, PicturesOption, analyze, read, show, write_pictures
from dlbench.cli.app import JsonOption, command, need

if TYPE_CHECKING:
    from dlbench.analysis.classifier.data import Prompts

stage = typer.Typer(
    help="A classifier of stage, task and data, from prompts alone: docs/studies.md.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
analyze.add_typer(stage, name="stage")

DatasetArgument = Annotated[
    str, typer.Argument(help="Labelled prompts: `ours`, a benchmark's folder, or a folder of official DL-Bench files.")
]
AlsoOption = Annotated[
    str | None,
    typer.Option(
        metavar="DATASET",
        help="Learn from another dataset's labelled prompts too; those of projects that both have are left out.",
    ),
]
EncoderOption = Annotated[str, typer.Option(help="`minilm`, or an encoder of BERT's kind by folder or name.")]
FrozenOption = Annotated[int, typer.Option(min=0, help="Lowest layers that stay as they are.")]
EpochsOption = Annotated[int, typer.Option(min=1)]
BatchOption = Annotated[int, typer.Option(min=1)]
RateOption = Annotated[float, typer.Option(min=0.0, help="Learning rate of the encoder; its heads learn faster.")]
TokensOption = Annotated[int, typer.Option(min=8, help="Prompts are cut there.")]
SeedOption = Annotated[int, typer.Option(min=0, help="Of folds, order and heads.")]


@command("evaluate", stage)
def evaluate(
    dataset: DatasetArgument = "ours",
    out: Annotated[Path, typer.Option(help="Folder for folds and predictions; the same folder goes on.")] = Path(
        "runs/stage"
    ),
    also: AlsoOption = None,
    folds: Annotated[int, typer.Option(min=2)] = 5,
    new_projects: Annotated[
        bool, typer.Option("--new-projects", help="Ask only about projects of which nothing was learnt.")
    ] = False,
    fast: Annotated[bool, typer.Option("--fast", help="Only the baselines; nothing is tuned.")] = False,
    encoder: EncoderOption = Recipe.encoder,
    frozen: FrozenOption = Recipe.frozen,
    epochs: EpochsOption = Recipe.epochs,
    batch: BatchOption = Recipe.batch,
    rate: RateOption = Recipe.rate,
    tokens: TokensOption = Recipe.tokens,
    seed: SeedOption = Recipe.seed,
    pictures: PicturesOption = None,
    json: JsonOption = False,
) -> None:
    """How well are stage, task and data told from unseen prompts? Cross-validation, with baselines beside it."""
    from dlbench.analysis.classifier.evaluate import FAST, WAYS, configure, cross_validate
    from dlbench.cli.output import log
    from dlbench.generation.techniques.stage_predictor import hash_prompt
    from dlbench.jsonl import Journal, rewrite
    from dlbench.reporting.studies import classifier
    from dlbench.runs import open_run

    recipe = Recipe(encoder, frozen, epochs, batch, rate, tokens, seed)
    name, prompts = _gather(dataset, also)
    _need_tools(tunes=not fast)
    open_run(out, configure(prompts, name, recipe, folds, new_projects=new_projects))
    ways = FAST if fast else WAYS
    with Journal(out / "folds.jsonl") as journal:
        found = cross_validate(prompts, name, recipe, folds, ways, journal, _slowly(log), new_projects=new_projects)
    hashes = {id: hash_prompt(text) for id, text in zip(prompts.ids, prompts.texts, strict=True)}
    answers = found.answers[ways[-1]]
    rewrite(out / "predictions.jsonl", ({"instance": id, "prompt": hashes[id], **answers[id]} for id in answers))
    learnt = f", learnt with {prompts.lent} prompts of another dataset" if prompts.lent else ""
    parted = " that part projects" if new_projects else ""
    tables = {f"{name}, {folds} folds{parted}, seed {seed}{learnt}": classifier.tabulate_ways(found)}
    for one in found.figures:
        if one.way == ways[-1]:
            tables[f"{one.axis} by {one.way}: true labels in rows, told ones in columns"] = classifier.tabulate_labels(
                one
            )
    show(
        tables,
        [f"what was told of each prompt, unseen, by {ways[-1]}: {out / 'predictions.jsonl'}"],
        found if json else None,
    )
    write_pictures(pictures, classifier.draw_ways(found))


@command("train", stage)
def train(
    dataset: DatasetArgument = "ours",
    out: Annotated[Path, typer.Option(help="Folder for the classifier.")] = Path("runs/stage-classifier"),
    also: AlsoOption = None,
    encoder: EncoderOption = Recipe.encoder,
    frozen: FrozenOption = Recipe.frozen,
    epochs: EpochsOption = Recipe.epochs,
    batch: BatchOption = Recipe.batch,
    rate: RateOption = Recipe.rate,
    tokens: TokensOption = Recipe.tokens,
    seed: SeedOption = Recipe.seed,
) -> None:
    """Learn from all labelled prompts of a dataset, for `predict`."""
    from dlbench.analysis.classifier.evaluate import train as train_into
    from dlbench.cli.output import counted
    from dlbench.runs import make_folder

    _need_tools(tunes=True)
    recipe = Recipe(encoder, frozen, epochs, batch, rate, tokens, seed)
    _, prompts = _gather(dataset, also)
    make_folder(out)
    with counted("training", len(prompts.ids) + epochs, every=5.0) as advance:
        train_into(prompts, recipe, out, advance)
    typer.echo(f"learnt from {len(prompts.ids)} prompts: {out}")


@command("predict", stage)
def predict(
    datasets: CorporaArgument = None,
    model: Annotated[Path, typer.Option(help="Folder that `train` wrote.")] = Path("runs/stage-classifier"),
    out: Annotated[Path | None, typer.Option(help="Also write what was told of each prompt (JSONL).")] = None,
    pictures: PicturesOption = None,
    json: JsonOption = False,
) -> None:
    """Tell stage, task and data of every prompt of a dataset, and how they are spread."""
    from dlbench.analysis.classifier.evaluate import predict as predict_from
    from dlbench.cli.output import counted
    from dlbench.jsonl import rewrite
    from dlbench.reporting.studies import classifier

    _need_tools(tunes=True)
    corpora = read(datasets, None, want_code=False)
    told = {}
    for corpus in corpora:
        ids, texts = [item.id for item in corpus.items], [item.prompt for item in corpus.items]
        with counted(f"asking about {corpus.name}", len(ids), every=5.0) as advance:
            told[corpus.name] = predict_from(model, ids, texts, advance)
    if out is not None:
        lines = ((name, id, labels) for name, answers in told.items() for id, labels in answers.items())
        rewrite(out, ({"dataset": name, "instance": id, **labels} for name, id, labels in lines))
    true = {corpus.name: {item.id: item.labels for item in corpus.items} for corpus in corpora}
    show({"labels as told, and as they are": classifier.tabulate_told(told, true)}, [], told if json else None)
    write_pictures(pictures, classifier.draw_told(told))


def _gather(dataset: str, also: str | None) -> "tuple[str, Prompts]":
    from dlbench.analysis.classifier.data import borrow, gather_prompts

    corpus, *others = read([dataset, *([] if also is None else [also])], None, want_code=False)
    prompts = gather_prompts(corpus)
    return corpus.name, borrow(prompts, corpus, *others) if others else prompts


def _slowly(log: Callable[[str], None], every: float = 5.0) -> Callable[[str], None]:
    """A line for each way and fold that is done, and in between one every few seconds."""
    said = 0.0

    def tell(text: str) -> None:
        nonlocal said
        if text.startswith("fold") or time.monotonic() - said >= every:
            said = time.monotonic()
            log(text)

    return tell


def _need_tools(*, tunes: bool) -> None:
    for module in ("sklearn", *(("torch", "transformers", "safetensors") if tunes else ())):
        need(module, "analysis")
