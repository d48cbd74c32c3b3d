"""Classify stage, task and data: cross-validate the classifier, train it into a folder, and predict labels with it.

The two TF-IDF models were chosen by cross-validated figures on the official prompts, where theirs may be high by a
hundredth. A trained classifier is a folder with the training prompts and their hash: fitting takes seconds, so it is
fitted again for each prediction, and a folder from somebody else runs no code.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlbench.analysis.embeddings import MINILM, Vectors, encode_all, open_encoder
from dlbench.analysis.labelled_prompts import AXES, UNKNOWN, Indices, Prompts, draw_folds, labelled
from dlbench.errors import DLBenchError
from dlbench.jsonl import Journal, read_lines, rewrite, write_whole
from dlbench.workspace.archive import file_hash
from dlbench.workspace.home import Log

MAJORITY, PROJECT, WORDS, FROZEN, COMBINED = METHODS = (
    "majority",
    "majority of the project",
    "TF-IDF + linear",
    "frozen encoder + linear",
    "frozen encoder and TF-IDF",
)
WITHOUT_ENCODER = (MAJORITY, PROJECT, WORDS)
_DIGITS = 6
"""Scores are rounded as stored, so that a resumed run equals a whole one."""
_CONFIG, _PROMPTS = "classifier.json", "prompts.jsonl"
_FIX = "give a folder that `dlbench analyze stage train` wrote, or train again"

Scores = list[NDArray[np.float64]]
"""By axis."""
_FLOOR = 1e-9
"""Added to probabilities: log 0 would outweigh everything."""
_SMALL = 50
"""In datasets up to this size, words that occur once count."""

Labels = dict[str, dict[str, str]]
"""By prompt id and axis."""


def predict_majority(train: Prompts, test: Prompts) -> Scores:
    scores = []
    for axis, names in enumerate(train.classes):
        rows = labelled(train.targets, axis)
        shares = np.bincount(train.targets[rows, axis], minlength=len(names)) / max(1, len(rows))
        scores.append(np.tile(np.log(shares + _FLOOR), (len(test.ids), 1)))
    return scores


def predict_by_project(train: Prompts, test: Prompts) -> Scores:
    """The most frequent label of the project, or of all for a new one: a baseline that reads no text."""
    scores = predict_majority(train, test)
    for project in set(test.groups) & set(train.groups):
        own = train.take(_find_project(train, project))
        rows = _find_project(test, project)
        for axis, found in enumerate(predict_majority(own, test.take(rows))):
            if len(labelled(own.targets, axis)):
                scores[axis][rows] = found
    return scores


def predict_by_words(train: Prompts, test: Prompts) -> Scores:
    """The sum of two logistic regressions, on TF-IDF of words and of character n-grams."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    options = {"sublinear_tf": True, "min_df": 2 if len(train.texts) > _SMALL else 1}
    kinds = TfidfVectorizer(**options), TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), **options)
    vectors = [(one.fit_transform(train.texts), one.transform(test.texts)) for one in kinds]
    return add_scores(*(fit_and_predict(train, *pair) for pair in vectors))


def add_scores(*parts: Scores) -> Scores:
    """The sum of log-probabilities."""
    return [np.sum(scores, axis=0) for scores in zip(*parts, strict=True)]


def _find_project(prompts: Prompts, project: str) -> Indices:
    return np.flatnonzero([group == project for group in prompts.groups])


def fit_and_predict(train: Prompts, known: Any, unknown: Any) -> Scores:  # noqa: ANN401 - sparse or not
    """A logistic regression on vectors of the known prompts, applied to those of the unknown ones."""
    from sklearn.linear_model import LogisticRegression

    scores = []
    for axis, names in enumerate(train.classes):
        rows = labelled(train.targets, axis)
        targets = train.targets[rows, axis]
        found = np.full((unknown.shape[0], len(names)), math.log(_FLOOR))
        if len(set(targets.tolist())) < 2:  # only one label in this part of a small dataset
            found[:, targets[:1]] = 0.0
        else:
            model = LogisticRegression(C=10, max_iter=1000, class_weight="balanced").fit(known[rows], targets)
            found[:, model.classes_] = np.log(model.predict_proba(unknown) + _FLOOR)
        scores.append(found)
    return scores


@dataclass(frozen=True)
class Figure:
    method: str
    axis: str
    prompts: int
    f1: float
    """Weighted; the mean over folds with labels on this axis."""
    deviation: float
    """Sample standard deviation over those folds; NaN for fewer than two."""
    by_fold: tuple[float, ...]
    """NaN if no prompt of a fold has a label on this axis."""
    accuracy: float
    """Over all prompts."""
    by_label: Mapping[str, float]
    """F1 of each label, over all prompts."""
    confusion: Mapping[str, Mapping[str, int]]
    """By true label, the number of predictions of each label."""


@dataclass(frozen=True)
class Evaluation:
    name: str
    folds: int
    figures: tuple[Figure, ...]
    answers: Mapping[str, Labels]
    """By method, predictions for prompts that the classifier has not seen."""


def cross_validate(
    prompts: Prompts,
    name: str,
    folds: int,
    methods: Sequence[str],
    journal: Journal,
    log: Log,
    *,
    encoder: str = MINILM,
    seed: int = 0,
    new_projects: bool = False,
) -> Evaluation:
    """Folds in the journal are not run again. `log` is called for every step."""
    stored: dict[tuple[int, str], Scores] = {
        (record["fold"], record["method"]): [np.array(axis) for axis in record["scores"]]
        for record in journal.records()
    }
    vectors = cache(lambda: encode_all(open_encoder(encoder), prompts.texts, log))  # only if a method needs them
    drawn = draw_folds(prompts, folds, seed, new_projects=new_projects)
    answers: dict[str, Labels] = {method: {} for method in methods}
    for number, (train, test) in enumerate(drawn):
        for method in methods:
            if (number, method) not in stored:
                if method == COMBINED:
                    scores = add_scores(stored[number, WORDS], stored[number, FROZEN])
                else:
                    scores = _score(method, prompts, vectors, train, test)
                scores = [np.round(axis, _DIGITS) for axis in scores]
                journal.append({"fold": number, "method": method, "scores": [axis.tolist() for axis in scores]})
                stored[number, method] = scores
                log(f"fold {number + 1} of {folds}: {method}")
            answers[method] |= _name_labels(prompts.take(test), stored[number, method])
    found = [_measure(prompts, method, axis, drawn, answers[method]) for method in methods for axis in range(len(AXES))]
    return Evaluation(name, folds, tuple(found), answers)


def _score(method: str, prompts: Prompts, vectors: Callable[[], Vectors], train: Indices, test: Indices) -> Scores:
    known = prompts.take(train)
    if method == FROZEN:
        return fit_and_predict(known, vectors()[train], vectors()[test])
    predict = {MAJORITY: predict_majority, PROJECT: predict_by_project, WORDS: predict_by_words}[method]
    return predict(known, prompts.take(test))


def _name_labels(test: Prompts, scores: Scores) -> Labels:
    best = [axis.argmax(axis=1) for axis in scores]
    return {
        id: {name: test.classes[axis][best[axis][row]] for axis, name in enumerate(AXES)}
        for row, id in enumerate(test.ids)
    }


def _measure(
    prompts: Prompts, method: str, axis: int, drawn: Sequence[tuple[Indices, Indices]], answers: Labels
) -> Figure:
    from sklearn.metrics import confusion_matrix, f1_score

    names = prompts.classes[axis]
    labels = range(len(names))
    guesses = np.array([names.index(answers[one][AXES[axis]]) if one in answers else UNKNOWN for one in prompts.ids])
    tested, by_fold = [], []
    for _, test in drawn:
        rows = test[labelled(prompts.targets[test], axis)]
        truth, predicted = prompts.targets[rows, axis], guesses[rows]
        f1 = f1_score(truth, predicted, labels=labels, average="weighted", zero_division=0) if len(rows) else math.nan
        by_fold.append(float(f1))
        tested.append(rows)
    every = np.concatenate(tested)
    truth, predicted = prompts.targets[every, axis], guesses[every]
    known = [one for one in by_fold if not math.isnan(one)]
    counts = confusion_matrix(truth, predicted, labels=labels).tolist()
    by_label = f1_score(truth, predicted, labels=labels, average=None, zero_division=0)
    return Figure(
        method=method,
        axis=AXES[axis],
        prompts=len(truth),
        f1=fmean(known),
        deviation=stdev(known) if len(known) > 1 else math.nan,
        by_fold=tuple(by_fold),
        accuracy=float((truth == predicted).mean()),
        by_label=dict(zip(names, map(float, by_label), strict=True)),
        confusion={name: dict(zip(names, row, strict=True)) for name, row in zip(names, counts, strict=True)},
    )


def train(prompts: Prompts, folder: Path, encoder: str = MINILM) -> None:
    """The configuration is written last: a folder without it is incomplete."""
    (folder / _CONFIG).unlink(missing_ok=True)
    rows = zip(prompts.ids, prompts.texts, prompts.targets.tolist(), strict=True)
    rewrite(folder / _PROMPTS, ({"id": id, "prompt": text, "targets": targets} for id, text, targets in rows))
    config = {"encoder": encoder, "classes": dict(zip(AXES, prompts.classes, strict=True))}
    write_whole(folder / _CONFIG, json.dumps(config | {"prompts": file_hash(folder / _PROMPTS)}, indent=2) + "\n")


def predict(folder: Path, ids: Sequence[str], texts: Sequence[str], log: Log) -> Labels:
    encoder, known = _read(folder)
    targets = np.full((len(ids), len(AXES)), UNKNOWN, dtype=np.int64)
    unknown = Prompts(tuple(ids), tuple(texts), known.classes, targets)
    opened = open_encoder(encoder)
    vectors = encode_all(opened, known.texts), encode_all(opened, texts, log)
    return _name_labels(unknown, add_scores(predict_by_words(known, unknown), fit_and_predict(known, *vectors)))


def _read(folder: Path) -> tuple[str, Prompts]:
    path = folder / _CONFIG
    try:
        config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        encoder, digest = str(config["encoder"]), config["prompts"]
        classes = tuple(tuple(map(str, config["classes"][axis])) for axis in AXES)
    except OSError as error:
        raise DLBenchError(f"there is no classifier here: {error.strerror}", where=str(path), fix=_FIX) from None
    except (ValueError, KeyError, TypeError) as error:
        raise DLBenchError(f"not the record of a classifier: {error!r}", where=str(path), fix=_FIX) from None
    path = folder / _PROMPTS
    if not path.is_file() or file_hash(path) != digest:
        raise DLBenchError("missing, or changed since it was written", where=str(path), fix=_FIX)
    records = [record for _, record in read_lines(path)]
    targets = np.array([record["targets"] for record in records], dtype=np.int64)
    ids, texts = tuple(record["id"] for record in records), tuple(record["prompt"] for record in records)
    return encoder, Prompts(ids, texts, classes, targets)
