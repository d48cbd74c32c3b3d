"""Classifiers of stage, task and data: majority baselines, TF-IDF, and a frozen sentence encoder.

Each returns, for every axis, a matrix of log-probabilities: a row per prompt, a column per label. Nothing is
fine-tuned. The two TF-IDF models were chosen by cross-validated figures on the official prompts, where theirs may be
high by a hundredth.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlbench.analysis.classifier.data import Indices, Prompts, labelled

Scores = list[NDArray[np.float64]]
"""By axis."""
_FLOOR = 1e-9
"""Added to probabilities: log 0 would outweigh everything."""
_SMALL = 50
"""In datasets up to this size, words that occur once count."""


def predict_majority(train: Prompts, test: Prompts) -> Scores:
    scores = []
    for axis, names in enumerate(train.classes):
        rows = labelled(train.targets, axis)
        shares = np.bincount(train.targets[rows, axis], minlength=len(names)) / max(1, len(rows))
        scores.append(np.tile(np.log(shares + _FLOOR), (len(test.ids), 1)))
    return scores


def predict_by_project(train: Prompts, test: Prompts) -> Scores:
    """The most frequent label of the same project, or of all for a new project. It reads no text: what a classifier
    reaches beyond this comes from the prompt."""
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
    parts = []
    for vectorizer in (TfidfVectorizer(**options), TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), **options)):
        parts.append(fit_and_predict(train, vectorizer.fit_transform(train.texts), vectorizer.transform(test.texts)))
    return add_scores(*parts)


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
