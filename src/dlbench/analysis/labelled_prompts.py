"""Labelled prompts for the stage classifier, and the folds of its cross-validation.

Folds may separate projects, so that nothing of a tested project is trained on: otherwise its name alone reveals much. A
prompt without a label on an axis is neither trained on nor tested on that axis.
"""

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dlbench.analysis.corpora import Corpus, Item
from dlbench.dataset import AXES as _AXES
from dlbench.errors import DLBenchError

AXES = tuple(_AXES)
UNKNOWN = -1
"""Target of a prompt without a label."""

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Prompts:
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    classes: tuple[tuple[str, ...], ...]
    """By axis, the labels."""
    targets: Indices
    """A row per prompt, a column per axis: the index of its label in `classes`, or `UNKNOWN`."""
    added: int = 0
    """The last so many prompts are from another dataset: every fold trains on them, none tests them."""
    groups: tuple[str, ...] = ()
    """The project of each; empty if not known."""

    @property
    def digest(self) -> str:
        """Depends on prompts, labels and their order."""
        digest = hashlib.sha256()
        for id, text, row in zip(self.ids, self.texts, self.targets.tolist(), strict=True):
            digest.update(f"{id}\0{text}\0{row}\0".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def take(self, indices: Indices) -> "Prompts":
        ids, texts = tuple(self.ids[i] for i in indices), tuple(self.texts[i] for i in indices)
        groups = tuple(self.groups[i] for i in indices) if self.groups else ()
        return Prompts(ids, texts, self.classes, self.targets[indices], groups=groups)


def gather_prompts(corpus: Corpus) -> Prompts:
    items = corpus.items
    classes = tuple(tuple(sorted({item.labels[axis] for item in items if axis in item.labels})) for axis in AXES)
    for axis, names in zip(AXES, classes, strict=True):
        if len(names) < 2:
            fix = "train on a dataset with labels: `ours`, or a folder of official DL-Bench files"
            raise DLBenchError(f"there are fewer than two labels of {axis}", where=corpus.name, fix=fix)
    return _make_prompts(items, classes)


def _make_prompts(items: Sequence[Item], classes: tuple[tuple[str, ...], ...]) -> Prompts:
    known = [{name: place for place, name in enumerate(names)} for names in classes]
    rows = [[known[n].get(item.labels.get(axis, ""), UNKNOWN) for n, axis in enumerate(AXES)] for item in items]
    ids, texts, groups = zip(*((item.id, item.prompt, item.group) for item in items), strict=True)
    return Prompts(ids, texts, classes, np.array(rows, dtype=np.int64), groups=groups)


def add_prompts(prompts: Prompts, corpus: Corpus, other: Corpus) -> Prompts:
    """Add prompts of `other` to train on, except on projects that `corpus` has too, since those may be tested."""
    shared = {_normalise(item.group) for item in corpus.items}
    added = [item for item in other.items if _normalise(item.group) not in shared and item.labels]
    if not added:
        what = "all its labelled prompts are about projects of the tested dataset"
        raise DLBenchError(what, where=other.name, fix="give another dataset to --also")
    renamed = [replace(item, id=f"{other.name}:{item.id}") for item in added]
    return replace(_make_prompts([*corpus.items, *renamed], prompts.classes), added=len(added))


def _normalise(group: str) -> str:
    """`scikit-learn` and `Scikit_Learn` are one project."""
    return "".join(letter for letter in group.lower() if letter.isalnum())


def draw_folds(prompts: Prompts, folds: int, seed: int, *, new_projects: bool = False) -> list[tuple[Indices, Indices]]:
    """By fold, indices to train on (with the added prompts) and to test. `new_projects`: no project is in two folds."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    own = len(prompts.ids) - prompts.added
    stages = prompts.targets[:own, 0]
    most = int(np.bincount(stages - UNKNOWN).max())
    if most < folds:
        what = f"no stage has more than {most} prompts, fewer than folds"
        raise DLBenchError(what, fix=f"give --folds {max(2, most)} or less, or a larger dataset")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a rare stage is missing from some folds; that is accepted
        splitter = (StratifiedGroupKFold if new_projects else StratifiedKFold)(folds, shuffle=True, random_state=seed)
        projects = _list_projects(prompts, own, folds) if new_projects else None
        splits = list(splitter.split(stages, stages, projects))
    added = np.arange(own, len(prompts.ids))
    return [(np.concatenate([train, added]).astype(np.int64), np.asarray(test, np.int64)) for train, test in splits]


def _list_projects(prompts: Prompts, own: int, folds: int) -> list[str]:
    projects = [_normalise(group) for group in prompts.groups[:own]]
    if len(projects) < own or not all(projects):
        what = "the dataset does not name the project of every prompt"
        raise DLBenchError(what, fix="omit --new-projects, or give another dataset")
    if len(set(projects)) < folds:
        what = f"there are {len(set(projects))} projects, fewer than folds"
        raise DLBenchError(what, fix="give fewer --folds, or omit --new-projects")
    return projects


def labelled(targets: Indices, axis: int) -> Indices:
    """The indices of prompts with a label on this axis."""
    return np.flatnonzero(targets[:, axis] != UNKNOWN)
