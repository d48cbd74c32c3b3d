"""What does a classifier reach that tunes no encoder? Without these beside it a tuned one's figure says little.

Each gives, for every axis, a matrix of log-probabilities: a row a prompt, a column a label. The two voters on words
were settled by looking at cross-validated figures on the official prompts, so that theirs may be high by a hundredth
there; the others are as their libraries' users mostly set them.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlbench.analysis.classifier.labelled import Prompts, known_on
from dlbench.analysis.encoders.naming import Vectors

Scores = list[NDArray[np.float64]]
"""By axis."""
LEAST = 1e-9
"""Instead of 0, whose logarithm would outvote everything."""
_FEW = 50
"""In so few prompts a word that only one of them has may count."""


def guess_majority(learnt: Prompts, asked: Prompts) -> Scores:
    scores = []
    for axis, names in enumerate(learnt.classes):
        known = known_on(learnt.targets, axis)
        shares = np.bincount(learnt.targets[known, axis], minlength=len(names)) / max(1, len(known))
        scores.append(np.tile(np.log(shares + LEAST), (len(asked.ids), 1)))
    return scores


def look_up_project(learnt: Prompts, asked: Prompts) -> Scores:
    """The most frequent label of the prompts about the same project, without a look at a word; of a project that is
    new, of all. What a classifier has beyond this it has from reading."""
    scores = guess_majority(learnt, asked)
    for project in set(asked.groups) & set(learnt.groups):
        own = learnt.take(np.flatnonzero([group == project for group in learnt.groups]))
        rows = [row for row, group in enumerate(asked.groups) if group == project]
        for axis, told in enumerate(guess_majority(own, asked.take(np.array(rows, dtype=np.int64)))):
            if len(known_on(own.targets, axis)):
                scores[axis][rows] = told
    return scores


def weigh_words(learnt: Prompts, asked: Prompts) -> Scores:
    """Two logistic regressions, on TF-IDF of words and on that of pieces of words; both count alike."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    usual = {"sublinear_tf": True, "min_df": 2 if len(learnt.texts) > _FEW else 1}
    voters = []
    for counted in (TfidfVectorizer(**usual), TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), **usual)):
        known, unknown = counted.fit_transform(learnt.texts), counted.transform(asked.texts)
        make = partial(LogisticRegression, C=10, max_iter=1000, class_weight="balanced")
        voters.append(_fit(learnt, make, known, unknown))
    return add_up(*voters)


def separate_vectors(learnt: Prompts, known: Vectors, unknown: Vectors) -> Scores:
    """A support vector machine with an RBF kernel on the vectors of an encoder that was left as it is."""
    from sklearn.svm import SVC

    return _fit(learnt, SVC, known, unknown)


def add_up(*voters: Scores) -> Scores:
    """The sum of log-probabilities. Who is a sum already, as that on words is, has two votes."""
    return [np.sum(scores, axis=0) for scores in zip(*voters, strict=True)]


def _fit(learnt: Prompts, make: Callable[[], Any], known: Any, unknown: Any) -> Scores:  # noqa: ANN401 - sparse or not
    scores = []
    for axis, names in enumerate(learnt.classes):
        rows = known_on(learnt.targets, axis)
        labels = learnt.targets[rows, axis]
        found = np.full((unknown.shape[0], len(names)), math.log(LEAST))
        if len(set(labels.tolist())) < 2:  # nothing to tell apart in this part of a small dataset
            found[:, labels[:1]] = 0.0
        else:
            model = make().fit(known[rows], labels)
            if hasattr(model, "predict_proba"):
                found[:, model.classes_] = np.log(model.predict_proba(unknown) + LEAST)
            else:
                found[np.arange(len(found)), model.predict(unknown)] = 0.0
        scores.append(found)
    return scores
