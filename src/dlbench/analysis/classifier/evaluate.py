"""How well are stage, task and data told from a prompt, by a classifier that has not seen it?

Cross-validation: each fold is asked once, of a classifier that learnt from the other folds alone. Nothing is chosen on
the fold that is asked, no epoch and no weight; a figure where the best epoch was picked there is the figure of a
classifier that nobody has. Every way is measured on the same folds, and each fold's answers are kept before the next is
begun.

How is a trained classifier kept, and asked again?

A folder: the recipe and labels, the tuned layers (safetensors: numbers only, so that a folder from somebody else runs
no code), and the prompts it learnt from, from which the linear half is made again in a second. The layers that were not
tuned are the encoder's own and are not copied.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from dlbench.analysis.classifier.data import AXES, Places, Prompts, Recipe, draw_folds, known_on
from dlbench.analysis.classifier.models import (
    Scores,
    add_up,
    guess_majority,
    look_up_project,
    separate_vectors,
    weigh_words,
)
from dlbench.analysis.embeddings import Vectors, encode_all, open_encoder
from dlbench.errors import DLBenchError
from dlbench.jsonl import Journal, read_lines, rewrite, write_whole

if TYPE_CHECKING:
    from torch import Tensor

    from dlbench.analysis.classifier.models import SplitEncoder


MAJORITY, PROJECT, WORDS, FROZEN, TUNED, BOTH = WAYS = (
    "majority",
    "majority of the project",
    "TF-IDF + linear",
    "frozen encoder + SVM",
    "tuned encoder",
    "tuned encoder and TF-IDF",
)
FAST = (MAJORITY, PROJECT, WORDS, FROZEN)
_DIGITS = 6
"""Of a score as it is kept: what is gone on with must be what a whole run would have."""

Told = Callable[[str], None]


@dataclass(frozen=True)
class Figure:
    """One way on one axis."""

    way: str
    axis: str
    prompts: int
    f1: float
    """Weighted, the mean over folds that ask something on this axis."""
    deviation: float
    """Over those folds, divided by n - 1; NaN where there are fewer than two."""
    by_fold: tuple[float, ...]
    """NaN where no prompt of a fold has a label on this axis."""
    accuracy: float
    """Over all prompts."""
    by_label: Mapping[str, float]
    """F1 of each label, over all prompts."""
    confusion: Mapping[str, Mapping[str, int]]
    """By true label, how often each was told."""


@dataclass(frozen=True)
class Evaluation:
    name: str
    recipe: Recipe
    folds: int
    figures: tuple[Figure, ...]
    answers: Mapping[str, Mapping[str, Mapping[str, str]]]
    """By way and id, the label told on each axis, always by a classifier that had not seen the prompt."""


def configure(prompts: Prompts, name: str, recipe: Recipe, folds: int, *, new_projects: bool = False) -> dict[str, Any]:
    """What kept folds depend on; folds of other data or another recipe are not gone on with."""
    lent = {"lent": prompts.lent} if prompts.lent else {}
    data = {"dataset": name, "prompts": len(prompts.ids), **lent, "data": prompts.mark}
    parted = {"new_projects": True} if new_projects else {}
    return {**data, "folds": folds, **parted, **asdict(recipe)}


def cross_validate(
    prompts: Prompts,
    name: str,
    recipe: Recipe,
    folds: int,
    ways: Sequence[str],
    journal: Journal,
    told: Told,
    *,
    new_projects: bool = False,
) -> Evaluation:
    """Folds that the journal holds are not run again. `told` is called for every part of the work that is done."""
    kept: dict[tuple[int, str], Scores] = {
        (record["fold"], record["way"]): [np.array(axis) for axis in record["scores"]] for record in journal.records()
    }
    workshop = _Workshop(prompts, recipe, told)
    drawn = draw_folds(prompts, folds, recipe.seed, new_projects=new_projects)
    for number, (learnt, asked) in enumerate(drawn):
        for way in ways:
            if (number, way) in kept:
                continue
            if way == BOTH:
                scores = add_up(kept[number, WORDS], kept[number, TUNED])
            else:
                scores = [np.round(axis, _DIGITS) for axis in workshop.ask(way, learnt, asked)]
            journal.append({"fold": number, "way": way, "scores": [axis.tolist() for axis in scores]})
            kept[number, way] = scores
            told(f"fold {number + 1} of {folds}: {way}")
    answers = {
        way: {
            id: labels
            for number, (_, asked) in enumerate(drawn)
            for id, labels in name_answers(prompts.take(asked), kept[number, way]).items()
        }
        for way in ways
    }
    figures = [_measure(prompts, way, axis, drawn, answers[way]) for way in ways for axis in range(len(AXES))]
    return Evaluation(name, recipe, folds, tuple(figures), answers)


def name_answers(asked: Prompts, scores: Scores) -> dict[str, dict[str, str]]:
    best = [axis.argmax(axis=1) for axis in scores]
    return {
        id: {name: asked.classes[axis][best[axis][row]] for axis, name in enumerate(AXES)}
        for row, id in enumerate(asked.ids)
    }


class _Workshop:
    """What several folds share is made once, and only where a way needs it."""

    def __init__(self, prompts: Prompts, recipe: Recipe, told: Told) -> None:
        self._prompts = prompts
        self._recipe = recipe
        self._told = told

    @cached_property
    def _vectors(self) -> Vectors:
        return encode_all(open_encoder(self._recipe.encoder), self._prompts.texts, self._told)

    @cached_property
    def _cut(self) -> "tuple[SplitEncoder, list[Tensor]]":
        from dlbench.analysis.classifier.models import SplitEncoder

        halves = SplitEncoder(self._recipe)
        return halves, halves.lower(self._prompts.texts, self._told)

    def _tune(self, learnt: Places, asked: Places) -> Scores:
        from dlbench.analysis.classifier.models import score, tune

        halves, given = self._cut
        sizes = [len(names) for names in self._prompts.classes]
        part = [given[place] for place in learnt]
        tuned = tune(halves, part, self._prompts.targets[learnt], sizes, self._recipe, self._told)
        return score(tuned, [given[place] for place in asked])

    def ask(self, way: str, learnt: Places, asked: Places) -> Scores:
        known, unknown = self._prompts.take(learnt), self._prompts.take(asked)
        if way == MAJORITY:
            return guess_majority(known, unknown)
        if way == PROJECT:
            return look_up_project(known, unknown)
        if way == WORDS:
            return weigh_words(known, unknown)
        if way == FROZEN:
            return separate_vectors(known, self._vectors[learnt], self._vectors[asked])
        return self._tune(learnt, asked)


def _measure(
    prompts: Prompts,
    way: str,
    axis: int,
    drawn: Sequence[tuple[Places, Places]],
    answers: Mapping[str, Mapping[str, str]],
) -> Figure:
    from sklearn.metrics import confusion_matrix, f1_score

    names, labels = prompts.classes[axis], range(len(prompts.classes[axis]))
    truths, tellings, by_fold = [], [], []
    for _, asked in drawn:
        part = prompts.take(asked)
        known = known_on(part.targets, axis)
        truth = part.targets[known, axis]
        telling = np.array([names.index(answers[part.ids[row]][AXES[axis]]) for row in known], dtype=np.int64)
        by_fold.append(
            float(f1_score(truth, telling, labels=labels, average="weighted", zero_division=0))
            if len(known)
            else math.nan
        )
        truths.append(truth)
        tellings.append(telling)
    truth, telling = np.concatenate(truths), np.concatenate(tellings)
    told = [one for one in by_fold if not math.isnan(one)]
    counts = confusion_matrix(truth, telling, labels=labels)
    each = f1_score(truth, telling, labels=labels, average=None, zero_division=0)
    return Figure(
        way=way,
        axis=AXES[axis],
        prompts=len(truth),
        f1=fmean(told),
        deviation=stdev(told) if len(told) > 1 else math.nan,
        by_fold=tuple(by_fold),
        accuracy=float((truth == telling).mean()),
        by_label={name: float(value) for name, value in zip(names, each, strict=True)},
        confusion={
            name: {other: int(counts[row, column]) for column, other in enumerate(names)}
            for row, name in enumerate(names)
        },
    )


_CONFIG, _LEARNT, _WEIGHTS = "classifier.json", "prompts.jsonl", "tuned.safetensors"
_FIX = "give a folder that `dlbench analyze stage train` wrote, or train again"


def train(prompts: Prompts, recipe: Recipe, folder: Path, told: Told) -> None:
    """Learns from all prompts. The configuration is written last: a folder without it is not whole."""
    from safetensors.torch import save_file

    from dlbench.analysis.classifier.models import SplitEncoder, tune

    halves = SplitEncoder(recipe)
    given = halves.lower(prompts.texts, told)
    sizes = [len(names) for names in prompts.classes]
    tuned = tune(halves, given, prompts.targets, sizes, recipe, told)
    parts = {"upper": tuned.upper, "heads": tuned.heads}
    weights = {f"{name}.{key}": value for name, part in parts.items() for key, value in part.state_dict().items()}
    (folder / _CONFIG).unlink(missing_ok=True)
    save_file({key: value.contiguous() for key, value in weights.items()}, folder / _WEIGHTS)
    rows = zip(prompts.ids, prompts.texts, prompts.targets.tolist(), strict=True)
    rewrite(folder / _LEARNT, ({"id": id, "prompt": text, "targets": targets} for id, text, targets in rows))
    config = {
        "recipe": asdict(recipe),
        "classes": dict(zip(AXES, prompts.classes, strict=True)),
        "weights": _hash(folder / _WEIGHTS),
        "prompts": _hash(folder / _LEARNT),
    }
    write_whole(folder / _CONFIG, json.dumps(config, indent=2) + "\n")


def predict(folder: Path, ids: Sequence[str], texts: Sequence[str], told: Told) -> dict[str, dict[str, str]]:
    """By id, the label on each axis."""
    from safetensors.torch import load_file

    from dlbench.analysis.classifier.models import SplitEncoder, make_untuned, score

    recipe, learnt = _read(folder)
    halves = SplitEncoder(recipe)
    tuned = make_untuned(halves, [len(names) for names in learnt.classes])
    try:
        weights = load_file(folder / _WEIGHTS)
        for name, part in (("upper", tuned.upper), ("heads", tuned.heads)):
            head = f"{name}."
            part.load_state_dict({key.removeprefix(head): one for key, one in weights.items() if key.startswith(head)})
    except Exception as error:  # what safetensors and torch raise for damaged or foreign weights
        what = f"the tuned layers cannot be loaded: {str(error).splitlines()[0]}"
        raise DLBenchError(what, where=str(folder / _WEIGHTS), fix=_FIX) from None
    unlabelled = np.full((len(ids), len(AXES)), -1, dtype=np.int64)
    asked = Prompts(tuple(ids), tuple(texts), learnt.classes, unlabelled)
    return name_answers(asked, add_up(weigh_words(learnt, asked), score(tuned, halves.lower(texts, told))))


def _read(folder: Path) -> tuple[Recipe, Prompts]:
    path = folder / _CONFIG
    try:
        config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        recipe = Recipe(**config["recipe"])
        classes = tuple(tuple(map(str, config["classes"][axis])) for axis in AXES)
        hashes = {_WEIGHTS: config["weights"], _LEARNT: config["prompts"]}
    except OSError as error:
        raise DLBenchError(f"there is no classifier here: {error.strerror}", where=str(path), fix=_FIX) from None
    except (ValueError, KeyError, TypeError) as error:
        raise DLBenchError(f"not a classifier's record: {error!r}", where=str(path), fix=_FIX) from None
    for name, known in hashes.items():
        if not (folder / name).is_file() or _hash(folder / name) != known:
            raise DLBenchError("missing, or changed since it was written", where=str(folder / name), fix=_FIX)
    records = [record for _, record in read_lines(folder / _LEARNT)]
    targets = np.array([record["targets"] for record in records], dtype=np.int64)
    ids, texts = tuple(record["id"] for record in records), tuple(record["prompt"] for record in records)
    return recipe, Prompts(ids, texts, classes, targets)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
